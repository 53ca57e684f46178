//! Random programs with block arguments, and random edits of them.
//!
//! Every block of a new program is reachable. Edits may make blocks unreachable; these are not
//! checked any more. Values keep their numbers, and no value is removed.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;

use phalanx_graph::{DomTree, Node};

use super::{Access, Block, Edge, End, Program, SlotUse};
use crate::abstract_program::{Operand, Operation};

/// The largest number of edges that leave a block.
const MOST_EDGES: usize = 4;

/// A random program of `blocks` blocks, at least two.
#[must_use]
pub fn program(rng: &mut SmallRng, blocks: usize) -> Program {
    let mut program = shape(rng, blocks.max(2));
    let cfg = program.cfg();
    let dom = DomTree::new(&cfg);
    for number in 0..program.blocks.len() {
        // Values of dominating blocks are available.
        let above = |other: &usize| dom.strictly_dominates(Node::new(*other), Node::new(number));
        let mut known: Vec<Operand> = (0..program.blocks.len())
            .filter(above)
            .flat_map(|other| values(&program.blocks[other]))
            .collect();
        known.extend(program.blocks[number].arguments.iter().copied().map(Operand::Value));
        for at in 0..program.blocks[number].operations.len() {
            let operation = operation(rng, &known);
            let entry = &mut program.blocks[number].operations[at];
            known.push(Operand::Value(entry.0));
            entry.1 = operation;
        }
        let condition = operand(rng, &known);
        let mut end = std::mem::take(&mut program.blocks[number].end);
        end.condition = Some(condition);
        for edge in &mut end.edges {
            let count = program.blocks[edge.to].arguments.len();
            edge.arguments = (0..count).map(|_| operand(rng, &known)).collect();
        }
        program.blocks[number].end = end;
    }
    program
}

/// A random program of `blocks` blocks that uses `slots` slots. Most slots are initialised.
#[must_use]
pub fn with_slots(rng: &mut SmallRng, blocks: usize, slots: u32) -> Program {
    let mut program = program(rng, blocks);
    for slot in (0..slots).filter(|_| rng.random_bool(0.9)) {
        let access = Access::Store(Operand::Constant(7));
        program.blocks[0].slots.push(SlotUse { at: 0, slot, access });
    }
    for number in 0..program.blocks.len() {
        for _ in 0..rng.random_range(0..5) {
            program.edit_slots(rng, number, slots);
        }
    }
    program
}

/// Blocks with edges and values, without reads.
fn shape(rng: &mut SmallRng, blocks: usize) -> Program {
    let mut to: Vec<Vec<usize>> = vec![Vec::new(); blocks];
    for block in 1..blocks {
        let from: Vec<usize> = (0..block).filter(|from| to[*from].len() < 2).collect();
        to[*from.choose(rng).unwrap_or(&(block - 1))].push(block);
    }
    for _ in 0..rng.random_range(0..=blocks) {
        let from = rng.random_range(0..blocks);
        if to[from].len() < MOST_EDGES {
            let other = match rng.random_bool(0.5) {
                true => to[from].choose(rng).copied(),
                false => None,
            };
            to[from].push(other.unwrap_or_else(|| rng.random_range(1..blocks)));
        }
    }
    let mut value_count = 0;
    let mut fresh = |count: usize| -> Vec<u32> {
        value_count += count as u32;
        (value_count - count as u32..value_count).collect()
    };
    let blocks = to.into_iter().enumerate().map(|(number, to)| Block {
        arguments: fresh(if number == 0 { 0 } else { rng.random_range(0..3) }),
        operations: fresh(rng.random_range(0..4))
            .into_iter()
            .map(|value| (value, Operation::ThreadId))
            .collect(),
        slots: Vec::new(),
        end: End {
            condition: None,
            edges: to.into_iter().map(|to| Edge { to, arguments: Vec::new() }).collect(),
        },
    });
    let blocks = blocks.collect();
    Program { blocks, value_count }
}

/// The values of a block.
fn values(block: &Block) -> impl Iterator<Item = Operand> {
    let operations = block.operations.iter().map(|(value, _)| *value);
    block.arguments.iter().copied().chain(operations).map(Operand::Value)
}

fn operand(rng: &mut SmallRng, known: &[Operand]) -> Operand {
    match known.choose(rng).filter(|_| rng.random_bool(0.75)) {
        Some(known) => *known,
        None => Operand::Constant(rng.random_range(0..3)),
    }
}

fn operation(rng: &mut SmallRng, known: &[Operand]) -> Operation {
    match rng.random_range(0..12) {
        0 => Operation::ThreadId,
        1 | 2 => Operation::Argument(rng.random_range(0..2)),
        3 | 4 => Operation::Uniform,
        5 => Operation::Divergent,
        6 => Operation::AlwaysUniform(operand(rng, known)),
        7 | 8 => Operation::Test(operand(rng, known)),
        _ => Operation::Pure(rng.random_range(0..4), [operand(rng, known), operand(rng, known)]),
    }
}

impl Program {
    /// Makes a random change. If that would make the program invalid, returns false and changes
    /// nothing.
    pub fn edit(&mut self, rng: &mut SmallRng) -> bool {
        let mut other = self.clone();
        let block = rng.random_range(0..other.blocks.len());
        match rng.random_range(0..10) {
            0 | 1 => other.edit_operation(rng, block),
            2 => {
                let known = other.known(block);
                other.blocks[block].end.condition = Some(operand(rng, &known));
            }
            3 | 4 => other.edit_arguments(rng, block),
            5 => other.add_edge(rng, block),
            6 => {
                let edges = &mut other.blocks[block].end.edges;
                if !edges.is_empty() {
                    edges.remove(rng.random_range(0..edges.len()));
                }
            }
            7 => other.add_block(rng, block),
            8 => other.add_argument(rng, block),
            _ => {
                let value = other.value_count;
                other.value_count += 1;
                let operation = operation(rng, &other.known(block));
                other.blocks[block].operations.push((value, operation));
            }
        }
        let is_done = other != *self && other.is_valid();
        if is_done {
            *self = other;
        }
        is_done
    }

    /// Makes a random change of a block's uses of slots. If that would make the program invalid,
    /// returns false and changes nothing.
    pub fn edit_slots(&mut self, rng: &mut SmallRng, block: usize, slots: u32) -> bool {
        let known = self.known(block);
        let mut other = self.clone();
        let own = &mut other.blocks[block];
        if !own.slots.is_empty() && rng.random_bool(0.3) {
            own.slots.remove(rng.random_range(0..own.slots.len()));
        } else {
            let at = rng.random_range(0..=own.operations.len());
            let access = match rng.random_range(0..12) {
                0 => Access::Kill,
                1 | 2 => Access::Update(operand(rng, &known)),
                3..=6 => Access::Store(operand(rng, &known)),
                _ => Access::Load,
            };
            if let (Access::Load, Some(entry)) = (access, own.operations.get_mut(at)) {
                entry.1 = Operation::Pure(rng.random_range(0..4), [operand(rng, &known); 2]);
            }
            let place = own.slots.partition_point(|entry| entry.at <= at);
            own.slots.insert(place, SlotUse { at, slot: rng.random_range(0..slots), access });
        }
        let is_done = other.is_valid();
        if is_done {
            *self = other;
        }
        is_done
    }

    /// Values that are available at the end of the block, and some that are not.
    fn known(&self, block: usize) -> Vec<Operand> {
        let dom = DomTree::new(&self.cfg());
        let above = |other: &usize| dom.dominates(Node::new(*other), Node::new(block));
        let blocks = (0..self.blocks.len()).filter(above);
        blocks.flat_map(|other| values(&self.blocks[other])).collect()
    }

    fn edit_operation(&mut self, rng: &mut SmallRng, block: usize) {
        let known = self.known(block);
        let operations = &mut self.blocks[block].operations;
        if !operations.is_empty() {
            let at = rng.random_range(0..operations.len());
            operations[at].1 = operation(rng, &known);
        }
    }

    fn edit_arguments(&mut self, rng: &mut SmallRng, block: usize) {
        let known = self.known(block);
        let edges = &mut self.blocks[block].end.edges;
        if edges.is_empty() {
            return;
        }
        // Often the values of another edge: parallel edges become equal, and differ again later.
        let like = edges.choose(rng).cloned();
        let at = rng.random_range(0..edges.len());
        let edge = &mut edges[at];
        match like {
            Some(like) if like.to == edge.to && rng.random_bool(0.5) => *edge = like,
            _ => edge.arguments.iter_mut().for_each(|brought| *brought = operand(rng, &known)),
        }
    }

    fn add_edge(&mut self, rng: &mut SmallRng, block: usize) {
        if self.blocks[block].end.edges.len() >= MOST_EDGES {
            return;
        }
        let known = self.known(block);
        let parallel = self.blocks[block].end.edges.choose(rng).map(|edge| edge.to);
        let parallel = parallel.filter(|_| rng.random_bool(0.6));
        let to = parallel.unwrap_or_else(|| rng.random_range(1..self.blocks.len()));
        let arguments = self.blocks[to].arguments.iter().map(|_| operand(rng, &known)).collect();
        let edges = &mut self.blocks[block].end.edges;
        edges.insert(rng.random_range(0..=edges.len()), Edge { to, arguments });
    }

    /// Puts a block on an edge.
    fn add_block(&mut self, rng: &mut SmallRng, block: usize) {
        let new = self.blocks.len();
        let edges = &mut self.blocks[block].end.edges;
        if edges.is_empty() {
            return;
        }
        let at = rng.random_range(0..edges.len());
        let edge = std::mem::replace(&mut edges[at], Edge { to: new, arguments: Vec::new() });
        let end = End { condition: None, edges: vec![edge] };
        self.blocks.push(Block { arguments: vec![], operations: vec![], slots: vec![], end });
    }

    fn add_argument(&mut self, rng: &mut SmallRng, to: usize) {
        if to == 0 {
            return;
        }
        self.blocks[to].arguments.push(self.value_count);
        self.value_count += 1;
        for block in 0..self.blocks.len() {
            let known = self.known(block);
            for edge in self.blocks[block].end.edges.iter_mut().filter(|edge| edge.to == to) {
                edge.arguments.push(operand(rng, &known));
            }
        }
    }
}
