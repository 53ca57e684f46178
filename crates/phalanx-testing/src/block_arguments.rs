//! Toy programs with block arguments, whose parallel edges may pass different values.
//!
//! ```text
//!   b0:       v0 = thread id
//!             branch v0 -> b1(0), b1(1)
//!   b1(v1):   return
//! ```
//!
//! A block may use *slots*, private variables in memory. [`promote`] replaces them by values.
//!
//! LLVM IR cannot express this program, so [`AbstractProgram`](crate::abstract_program) cannot
//! either. Operations and operands are the same. [`generate`] makes random programs,
//! [`Program::edit`] changes them, and [`run`] executes them.

pub mod generate;
pub mod promote;
pub mod run;

use phalanx_graph::{Cfg, DomTree, Node};

use crate::abstract_program::{Operand, Operation, ValueNumber};

/// A program: one function whose first block is the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The blocks by number.
    pub blocks: Vec<Block>,
    /// How many values there are.
    pub value_count: u32,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its arguments; the entry has none.
    pub arguments: Vec<ValueNumber>,
    /// Its operations; none is a phi.
    pub operations: Vec<(ValueNumber, Operation)>,
    /// Its uses of slots, in order.
    pub slots: Vec<SlotUse>,
    /// Its end.
    pub end: End,
}

/// A use of a slot by a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotUse {
    /// The use comes before the operation at this position; if that is the number of operations,
    /// after all of them.
    pub at: usize,
    /// The slot.
    pub slot: u32,
    /// The kind of use.
    pub access: Access,
}

/// The kind of use of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The following operation, an [`Operation::Pure`], reads the content of the slot as its second
    /// operand.
    Load,
    /// The content of the slot becomes undefined.
    Kill,
    /// The content of the slot becomes this operand.
    Store(Operand),
    /// The content of the slot becomes the function [`UPDATE`] of its old content and this operand.
    Update(Operand),
}

/// The function that an update computes.
pub const UPDATE: u32 = 99;

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct End {
    /// Its value modulo the number of edges selects the edge. Read only if there are several.
    pub condition: Option<Operand>,
    /// The edges. Without any, threads end here.
    pub edges: Vec<Edge>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The block that it leads to.
    pub to: usize,
    /// The values that it passes to the arguments of that block.
    pub arguments: Vec<Operand>,
}

impl End {
    /// The condition, if there are several edges.
    #[must_use]
    pub fn read(&self) -> Option<Operand> {
        self.condition.filter(|_| self.edges.len() > 1)
    }
}

impl SlotUse {
    /// The operand that it reads besides the slot.
    #[must_use]
    pub fn operand(&self) -> Option<Operand> {
        match self.access {
            Access::Store(operand) | Access::Update(operand) => Some(operand),
            Access::Load | Access::Kill => None,
        }
    }
}

impl Block {
    /// The uses of slots before the operation at a position.
    pub fn slots_at(&self, at: usize) -> impl Iterator<Item = &SlotUse> {
        self.slots.iter().filter(move |entry| entry.at == at)
    }
}

impl Program {
    /// Its control-flow graph, parallel edges repeated.
    #[must_use]
    pub fn cfg(&self) -> Cfg {
        let to = |block: &Block| -> Vec<Node> {
            block.end.edges.iter().map(|edge| Node::new(edge.to)).collect()
        };
        Cfg::new(Node::new(0), self.blocks.iter().map(to))
    }

    /// How often a block leads to another one by several edges that pass different values.
    #[must_use]
    pub fn parallel(&self) -> usize {
        let is_parallel = |edges: &[Edge], at: usize| {
            let same = |other: &&Edge| other.to == edges[at].to;
            let mut before = edges[..at].iter().filter(same);
            before.next().is_some_and(|first| first.arguments != edges[at].arguments)
        };
        let of = |block: &Block| {
            let edges = &block.end.edges;
            (1..edges.len()).filter(|&at| is_parallel(edges, at)).count()
        };
        self.blocks.iter().map(of).sum()
    }

    /// By value: its block, and its position there; arguments stand before operations.
    fn places(&self) -> Vec<(usize, usize)> {
        let mut places = vec![(0, 0); self.value_count as usize];
        for (number, block) in self.blocks.iter().enumerate() {
            let operations = block.operations.iter().map(|(value, _)| value);
            for (position, value) in block.arguments.iter().chain(operations).enumerate() {
                places[*value as usize] = (number, position);
            }
        }
        places
    }

    /// Whether every value is computed before it is read, in all reachable blocks, and edges pass
    /// as many values as blocks have arguments.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let (cfg, places) = (self.cfg(), self.places());
        let dom = DomTree::new(&cfg);
        let is_known = |operand: &Operand, block: usize, position: usize| match operand {
            Operand::Value(value) => {
                let (of, at) = places[*value as usize];
                match of == block {
                    true => at < position,
                    false => dom.dominates(Node::new(of), Node::new(block)),
                }
            }
            Operand::Constant(_) | Operand::Undef => true,
        };
        let is_right = |number: usize| {
            let block = &self.blocks[number];
            let first = block.arguments.len();
            let mut operations = (first..).zip(&block.operations);
            let loads =
                |at: usize| block.slots_at(at).filter(|entry| entry.access == Access::Load).count();
            let is_right = |entry: &SlotUse| {
                let is_load = entry.access == Access::Load;
                let next = block.operations.get(entry.at).map(|(_, operation)| operation);
                entry.at <= block.operations.len()
                    && (!is_load || loads(entry.at) == 1)
                    && (!is_load || matches!(next, Some(Operation::Pure(..))))
                    && entry.operand().is_none_or(|it| is_known(&it, number, first + entry.at))
            };
            let edges = &block.end.edges;
            operations.all(|(at, (_, operation))| {
                operation.operands().all(|operand| is_known(&operand, number, at))
            }) && block.slots.is_sorted_by_key(|entry| entry.at)
                && block.slots.iter().all(is_right)
                && block.end.condition.iter().all(|operand| is_known(operand, number, usize::MAX))
                && edges
                    .iter()
                    .flat_map(|edge| &edge.arguments)
                    .all(|operand| is_known(operand, number, usize::MAX))
        };
        let wants = |edge: &Edge| edge.arguments.len() == self.blocks[edge.to].arguments.len();
        let mut edges = self.blocks.iter().flat_map(|block| &block.end.edges);
        edges.all(|edge| edge.to != 0 && wants(edge))
            && self.blocks[0].arguments.is_empty()
            && cfg.nodes().filter(|node| dom.is_reachable(*node)).all(|node| is_right(node.index()))
    }
}
