//! Random toy programs.
//!
//! There are two kinds of control flow: random graphs, where irreducible cycles are common, and
//! nested conditionals and loops with breaks, continues, returns and an occasional jump. They are
//! filled with phis, sources of divergence, uninterpreted operations and uses across cycles, so
//! that errors in any rule of the analysis can show.
//!
//! Everything is a function of the generator's state: a seed is a complete report.

use phalanx_graph::{Cfg, Dfs, DomTree, Node};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngCore, SeedableRng};

use crate::abstract_program::{
    AbstractProgram, Block, Operand, Operation, Terminator, ValueNumber,
};

/// The kind of control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Random successors.
    Random,
    /// Nested statements.
    Structured,
}

/// Parameters of a random program.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Kind of control flow; either if not given.
    pub shape: Option<Shape>,
    /// About how many blocks at most.
    pub blocks: usize,
    /// Whether some phi entries are undef.
    pub undef: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { shape: None, blocks: 11, undef: false }
    }
}

/// A random program: at least three blocks, all reachable, none of them going back to the entry,
/// and a branch.
#[must_use]
pub fn program(seed: u64, options: Options) -> AbstractProgram {
    program_from(&mut SmallRng::seed_from_u64(seed), options)
}

/// As [`program`], with any source of random bits. The source must not run out of randomness: draws
/// that give no valid program are repeated.
#[must_use]
pub fn program_from(rng: &mut dyn RngCore, options: Options) -> AbstractProgram {
    loop {
        let shape = if rng.random() { Shape::Random } else { Shape::Structured };
        let shape = options.shape.unwrap_or(shape);
        if let Some(program) = try_program(rng, shape, options) {
            return program;
        }
    }
}

fn try_program(rng: &mut dyn RngCore, shape: Shape, options: Options) -> Option<AbstractProgram> {
    let count = rng.random_range(4..=options.blocks.max(5));
    let lists = match shape {
        Shape::Random => random_lists(rng, count),
        Shape::Structured => Statements { rng, lists: vec![vec![]], limit: count }.write(),
    };
    let lists = drop_unreachable(&lists);
    let is_branch = |list: &Vec<usize>| list.len() > 1;
    let enters_entry = lists.iter().flatten().any(|&to| to == 0);
    if lists.len() < 3 || enters_entry || !lists.iter().any(is_branch) {
        return None;
    }
    let dials = Dials {
        divergent: *[0.0, 0.05, 0.1].choose(rng)?,
        divergent_branch: *[0.1, 0.25, 0.4].choose(rng)?,
        always_uniform: *[0.0, 0.0, 0.5].choose(rng)?,
        undef: if options.undef { 0.05 } else { 0.0 },
    };
    Some(Filler::new(rng, &lists, dials).fill())
}

/// Random successor lists: mostly near blocks, some far ones, sometimes none.
fn random_lists(rng: &mut dyn RngCore, count: usize) -> Vec<Vec<usize>> {
    let (jump, branch) =
        *[(0.25, 0.65), (0.45, 0.5), (0.35, 0.5)].choose(rng).unwrap_or(&(0.3, 0.6));
    let steps = [-3i64, -2, -1, 1, 1, 1, 2, 2, 3];
    let mut lists = Vec::with_capacity(count);
    for i in 0..count {
        let roll: f64 = rng.random();
        let ways = if i == 0 {
            if roll < 0.7 { 2 } else { 1 }
        } else if roll < jump {
            1
        } else if roll < jump + branch {
            2
        } else if rng.random_bool(0.3) {
            3
        } else {
            0
        };
        let near = rng.random_bool(0.6);
        let pick = |rng: &mut dyn RngCore| {
            if near {
                let step = steps.choose(rng).copied().unwrap_or(1);
                (i as i64 + step).clamp(1, count as i64 - 1) as usize
            } else {
                rng.random_range(1..count)
            }
        };
        lists.push((0..ways).map(|_| pick(rng)).collect());
    }
    lists
}

/// Writes nested statements.
struct Statements<'a> {
    rng: &'a mut dyn RngCore,
    lists: Vec<Vec<usize>>,
    limit: usize,
}

impl Statements<'_> {
    fn write(mut self) -> Vec<Vec<usize>> {
        self.sequence(0, 0, &mut Vec::new());
        self.lists
    }

    fn block(&mut self) -> usize {
        self.lists.push(Vec::new());
        self.lists.len() - 1
    }

    fn either(&mut self, a: usize, b: usize) -> Vec<usize> {
        if self.rng.random() { vec![a, b] } else { vec![b, a] }
    }

    /// Appends statements to the open block `at`. Returns the block that is open afterwards. Nests
    /// at most five levels deep.
    fn sequence(&mut self, mut at: usize, depth: u32, loops: &mut Vec<(usize, usize)>) -> usize {
        for _ in 0..self.rng.random_range(1..=3) {
            if self.lists.len() > self.limit {
                return at;
            }
            let kind = self.rng.random_range(0..9);
            at = match kind {
                0 | 1 if depth <= 3 => self.conditional(at, depth, loops, kind == 1),
                2 if depth <= 3 => self.while_loop(at, depth, loops),
                3 if depth <= 3 => self.do_loop(at, depth, loops),
                4 | 5 => {
                    let Some(&(header, after)) = loops.choose(self.rng) else { continue };
                    let next = self.block();
                    self.lists[at] = self.either(if kind == 4 { after } else { header }, next);
                    next
                }
                6 if self.rng.random_bool(0.4) => {
                    let (next, end) = (self.block(), self.block());
                    self.lists[at] = vec![next, end];
                    next
                }
                7 if self.lists.len() > 3 && self.rng.random_bool(0.15) => {
                    let next = self.block();
                    self.lists[at] = vec![self.rng.random_range(1..self.lists.len()), next];
                    next
                }
                6 | 7 => continue,
                _ => {
                    let next = self.block();
                    self.lists[at] = vec![next];
                    next
                }
            };
        }
        at
    }

    fn conditional(
        &mut self,
        at: usize,
        depth: u32,
        loops: &mut Vec<(usize, usize)>,
        has_else: bool,
    ) -> usize {
        let then = self.block();
        let other = has_else.then(|| self.block());
        let join = self.block();
        self.lists[at] = self.either(then, other.unwrap_or(join));
        for arm in std::iter::once(then).chain(other) {
            let end = self.sequence(arm, depth + 1, loops);
            self.lists[end] = vec![join];
        }
        join
    }

    fn while_loop(&mut self, at: usize, depth: u32, loops: &mut Vec<(usize, usize)>) -> usize {
        let (header, body, after) = (self.block(), self.block(), self.block());
        self.lists[at] = vec![header];
        self.lists[header] = self.either(body, after);
        loops.push((header, after));
        let end = self.sequence(body, depth + 1, loops);
        loops.pop();
        self.lists[end] = vec![header];
        after
    }

    fn do_loop(&mut self, at: usize, depth: u32, loops: &mut Vec<(usize, usize)>) -> usize {
        let (header, after) = (self.block(), self.block());
        self.lists[at] = vec![header];
        loops.push((header, after));
        let end = self.sequence(header, depth + 1, loops);
        loops.pop();
        self.lists[end] = self.either(header, after);
        after
    }
}

/// Keeps the blocks that are reachable from the first one, in order.
fn drop_unreachable(lists: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut number = vec![usize::MAX; lists.len()];
    let mut stack = vec![0];
    let mut seen = vec![false; lists.len()];
    seen[0] = true;
    while let Some(at) = stack.pop() {
        for &to in &lists[at] {
            if !std::mem::replace(&mut seen[to], true) {
                stack.push(to);
            }
        }
    }
    let reached = seen.iter().enumerate().filter(|(_, reached)| **reached);
    for (count, (i, _)) in reached.enumerate() {
        number[i] = count;
    }
    let kept = lists.iter().zip(&seen).filter(|(_, reached)| **reached);
    kept.map(|(list, _)| list.iter().map(|&to| number[to]).collect()).collect()
}

/// The probabilities of random choices.
#[derive(Clone, Copy)]
struct Dials {
    divergent: f64,
    divergent_branch: f64,
    /// The share of fresh uniform values that are always uniform.
    always_uniform: f64,
    undef: f64,
}

/// Fills a graph with operations.
struct Filler<'a> {
    rng: &'a mut dyn RngCore,
    dials: Dials,
    lists: Vec<Vec<usize>>,
    cfg: Cfg,
    dom: DomTree,
    rpo: Vec<Node>,
    operations: Vec<Vec<(ValueNumber, Operation)>>,
    next: ValueNumber,
    thread_id: ValueNumber,
}

impl<'a> Filler<'a> {
    fn new(rng: &'a mut dyn RngCore, lists: &[Vec<usize>], dials: Dials) -> Self {
        let cfg = Cfg::new(
            Node::new(0),
            lists.iter().map(|list| list.iter().map(|&to| Node::new(to)).collect::<Vec<_>>()),
        );
        let dom = DomTree::new(&cfg);
        let rpo = Dfs::new(&cfg).rpo().collect();
        Self {
            rng,
            dials,
            lists: lists.to_vec(),
            dom,
            rpo,
            operations: vec![Vec::new(); lists.len()],
            cfg,
            next: 0,
            thread_id: 2,
        }
    }

    fn add(&mut self, block: Node, operation: Operation) -> ValueNumber {
        self.operations[block.index()].push((self.next, operation));
        self.next += 1;
        self.next - 1
    }

    /// Values, except booleans, that are defined at the end of the block.
    fn available(&self, block: Node) -> Vec<ValueNumber> {
        let mut found = Vec::new();
        let mut at = Some(block);
        let is_number = |op: &&(ValueNumber, Operation)| !matches!(op.1, Operation::Test(_));
        while let Some(block) = at {
            let here = self.operations[block.index()].iter();
            found.extend(here.filter(is_number).map(|(value, _)| *value));
            at = self.dom.idom(block);
        }
        found
    }

    fn some_value(&mut self, block: Node) -> Operand {
        let all = self.available(block);
        all.choose(self.rng).map_or(Operand::Constant(1), |&value| Operand::Value(value))
    }

    /// As `some_value`, but never the thread's id itself.
    fn mild_value(&mut self, block: Node) -> Operand {
        let mut all = self.available(block);
        all.retain(|&value| value != self.thread_id);
        all.choose(self.rng).map_or(Operand::Constant(1), |&value| Operand::Value(value))
    }

    fn uniform(&mut self, block: Node) -> Operation {
        if self.rng.random_bool(self.dials.always_uniform) {
            Operation::AlwaysUniform(self.some_value(block))
        } else {
            Operation::Uniform
        }
    }

    fn fill(mut self) -> AbstractProgram {
        let entry = Node::new(0);
        self.add(entry, Operation::Argument(0));
        self.add(entry, Operation::Argument(1));
        self.add(entry, Operation::ThreadId);
        for block in self.rpo.clone() {
            self.add_phis(block);
        }
        for block in self.rpo.clone() {
            self.add_operations(block);
        }
        let mut conditions = vec![Operand::Constant(0); self.lists.len()];
        for block in self.rpo.clone() {
            if self.lists[block.index()].len() > 1 {
                conditions[block.index()] = self.condition(block);
            }
        }
        // One use of a value from far away.
        for block in self.rpo.clone() {
            if self.rng.random_bool(0.6) {
                let operands =
                    [self.some_value(block), Operand::Value(self.rng.random_range(0..2))];
                let name = self.next;
                self.add(block, Operation::Pure(name, operands));
            }
        }
        self.connect_phis();
        let lists = std::mem::take(&mut self.lists);
        let blocks = lists.iter().zip(conditions).zip(self.operations).map(
            |((list, condition), operations)| {
                let to: Vec<Node> = list.iter().map(|&to| Node::new(to)).collect();
                let terminator = match *to.as_slice() {
                    [] => Terminator::Return,
                    [to] => Terminator::Jump(to),
                    [yes, no] => Terminator::Branch(condition, [yes, no]),
                    _ => Terminator::Switch(condition, to),
                };
                Block { operations, terminator }
            },
        );
        AbstractProgram { blocks: blocks.collect(), value_count: self.next }
    }

    fn add_phis(&mut self, block: Node) {
        let mut preds = self.cfg.predecessors(block).to_vec();
        preds.dedup();
        let count = match preds.len() {
            0 => 0,
            1 if self.rng.random_bool(0.7) => 0,
            _ => *[0, 1, 1, 2].choose(self.rng).unwrap_or(&1),
        };
        for _ in 0..count {
            self.add(block, Operation::Phi(Vec::new()));
        }
    }

    fn add_operations(&mut self, block: Node) {
        for _ in 0..*[0, 1, 1, 2].choose(self.rng).unwrap_or(&1) {
            let roll: f64 = self.rng.random();
            let operation = if roll < 0.2 {
                self.uniform(block)
            } else if roll < 0.2 + self.dials.divergent {
                Operation::Divergent
            } else {
                Operation::Pure(self.next, [self.some_value(block), self.some_value(block)])
            };
            self.add(block, operation);
        }
    }

    /// The operand that a branch or switch depends on.
    fn condition(&mut self, block: Node) -> Operand {
        let roll: f64 = self.rng.random();
        let source = if roll < self.dials.divergent_branch {
            Operand::Value(self.add(block, Operation::Divergent))
        } else if roll < self.dials.divergent_branch + 0.25 {
            let operation = self.uniform(block);
            Operand::Value(self.add(block, operation))
        } else if self.rng.random_bool(0.75) {
            self.mild_value(block)
        } else {
            self.some_value(block)
        };
        if self.lists[block.index()].len() == 2 {
            Operand::Value(self.add(block, Operation::Test(source)))
        } else {
            source
        }
    }

    fn connect_phis(&mut self) {
        for i in 0..self.operations.len() {
            let mut preds = self.cfg.predecessors(Node::new(i)).to_vec();
            preds.dedup();
            for at in 0..self.operations[i].len() {
                if matches!(self.operations[i][at].1, Operation::Phi(_)) {
                    let entries = self.phi_entries(&preds);
                    self.operations[i][at].1 = Operation::Phi(entries);
                }
            }
        }
    }

    fn phi_entries(&mut self, preds: &[Node]) -> Vec<(Node, Operand)> {
        let mode: f64 = self.rng.random();
        let mut entries: Vec<(Node, Operand)> = Vec::new();
        for &pred in preds {
            let operand = if mode < 0.35 || self.rng.random_bool(0.25) {
                Operand::Constant(self.rng.random_range(0..1000))
            } else if mode < 0.6 {
                self.mild_value(pred)
            } else {
                self.some_value(pred)
            };
            entries.push((pred, operand));
        }
        // Often some entries agree, as when several branches do not change a value.
        if mode > 0.85 && preds.len() > 2 {
            self.agree(&mut entries);
        }
        if self.rng.random_bool(self.dials.undef)
            && let Some(entry) = entries.first_mut()
        {
            entry.1 = Operand::Undef;
        }
        entries
    }

    /// Makes two entries equal, where the value is available in both predecessors.
    fn agree(&mut self, entries: &mut [(Node, Operand)]) {
        let [first, second, ..] = entries else { return };
        match (first.1, second.1) {
            (_, constant @ Operand::Constant(_)) => first.1 = constant,
            (value @ Operand::Value(number), _) if self.available(second.0).contains(&number) => {
                second.1 = value;
            }
            _ => {}
        }
    }
}
