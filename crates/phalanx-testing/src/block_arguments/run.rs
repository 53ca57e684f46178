//! Runs programs with block arguments and observes what differs between threads.
//!
//! Threads run one after another. Two instances of a block in different threads are *converged* if
//! their keys are equal:
//!
//! ```text
//!   key(X) = (block of X, key of the latest earlier instance, in the same thread, of the header of
//!             any cycle that contains the block of X)
//! ```
//!
//! The values that a thread computes and reads and the edges that it takes are recorded under the
//! key of the instance. If a second thread records something else there, the threads differ. A
//! thread that loads from a slot with undefined content stops: nothing is claimed about what it
//! would compute.
//!
//! The graph is that of the program: no blocks are inserted on its edges.

use std::hash::{Hash as _, Hasher as _};

use phalanx_graph::{BitSet, Cycles, Node};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::{Access, Block, Edge, Program, UPDATE};
use crate::abstract_oracle::Effort;
use crate::abstract_program::{Operand, Operation, ValueNumber};

/// A reader of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reader {
    /// An operation, or a block argument.
    Value(ValueNumber),
    /// The end of a block.
    End(usize),
}

/// The differences observed within converged groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// By value number.
    pub values: BitSet,
    /// By block number: threads took different edges.
    pub ends: BitSet,
    /// A value at a reader; for an argument, among threads that came by the same edge. Sorted.
    pub uses: Vec<(ValueNumber, Reader)>,
}

/// The subject of a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    Value(ValueNumber),
    End,
    /// The value and its reader; for an argument also the predecessor and the edge.
    Use(ValueNumber, Reader, Option<(usize, usize)>),
}

struct Machine<'a> {
    program: &'a Program,
    /// Headers of the cycles that contain each block.
    headers: Vec<Vec<usize>>,
    /// Group by block and parent group.
    groups: FxHashMap<(usize, Option<u32>), u32>,
    notes: FxHashMap<(u32, Subject), u32>,
    values: BitSet,
    ends: BitSet,
    uses: FxHashSet<(ValueNumber, Reader)>,
}

/// Runs a program under a cycle hierarchy of its graph.
#[must_use]
pub fn observe(program: &Program, cycles: &Cycles, effort: Effort) -> Observed {
    let headers_of = |block: usize| -> Vec<usize> {
        let inner = cycles.innermost(Node::new(block));
        let around = inner.into_iter().flat_map(|cycle| cycles.ancestors(cycle));
        around.map(|cycle| cycles.header(cycle).index()).collect()
    };
    let mut machine = Machine {
        program,
        headers: (0..program.blocks.len()).map(headers_of).collect(),
        groups: FxHashMap::default(),
        notes: FxHashMap::default(),
        values: BitSet::new(program.value_count as usize),
        ends: BitSet::new(program.blocks.len()),
        uses: FxHashSet::default(),
    };
    for seed in 0..effort.runs {
        machine.groups.clear();
        machine.notes.clear();
        for thread in 0..effort.threads {
            machine.thread(thread, seed, effort.fuel);
        }
    }
    let mut uses: Vec<_> = machine.uses.into_iter().collect();
    uses.sort_unstable();
    Observed { values: machine.values, ends: machine.ends, uses }
}

impl<'a> Machine<'a> {
    fn thread(&mut self, thread: u32, seed: u64, fuel: u32) {
        let program: &'a Program = self.program;
        let mut registers = vec![0u32; program.value_count as usize];
        let mut slots = Slots { seed, held: FxHashMap::default() };
        // Time and group of the latest instance of each block.
        let mut latest: Vec<Option<(u32, u32)>> = vec![None; program.blocks.len()];
        let (mut at, mut by): (usize, Option<(usize, usize)>) = (0, None);
        for time in 0..fuel {
            let parent = self.headers[at].iter().filter_map(|header| latest[*header]).max();
            let next = self.groups.len() as u32;
            let key = (at, parent.map(|(_, group)| group));
            let group = *self.groups.entry(key).or_insert(next);
            latest[at] = Some((time, group));
            if let Some((from, edge)) = by {
                self.arrive(group, at, (from, edge), &mut registers);
            }
            let body = &program.blocks[at];
            for (position, (value, operation)) in body.operations.iter().enumerate() {
                let Some(loaded) = slots.follow(body, position, &registers) else { return };
                let operation = &with_loaded(operation, loaded);
                for operand in operation.operands() {
                    self.read(group, Reader::Value(*value), operand, None, &registers);
                }
                let fresh = |who: u32| mix(&[seed, 1, u64::from(*value), group.into(), who.into()]);
                let result = compute(operation, seed, thread, &registers, fresh);
                registers[*value as usize] = result;
                self.note(group, Subject::Value(*value), result);
            }
            if slots.follow(body, body.operations.len(), &registers).is_none() {
                return;
            }
            let end = &body.end;
            let taken = match end.read() {
                Some(condition) => {
                    let read = self.read(group, Reader::End(at), condition, None, &registers);
                    read as usize % end.edges.len()
                }
                None => 0,
            };
            let Some(Edge { to, .. }) = end.edges.get(taken) else { return };
            self.note(group, Subject::End, taken as u32);
            (at, by) = (*to, Some((at, taken)));
        }
    }

    /// Assigns the values that an edge passes to the arguments of a block, all at once.
    fn arrive(&mut self, group: u32, at: usize, by: (usize, usize), registers: &mut [u32]) {
        let program: &'a Program = self.program;
        let brought = &program.blocks[by.0].end.edges[by.1].arguments;
        let arguments = &program.blocks[at].arguments;
        let mut results = Vec::new();
        for (argument, operand) in arguments.iter().zip(brought) {
            let reader = Reader::Value(*argument);
            results.push(self.read(group, reader, *operand, Some(by), registers));
        }
        for (argument, result) in arguments.iter().zip(results) {
            registers[*argument as usize] = result;
            self.note(group, Subject::Value(*argument), result);
        }
    }

    fn read(
        &mut self,
        group: u32,
        reader: Reader,
        operand: Operand,
        by: Option<(usize, usize)>,
        registers: &[u32],
    ) -> u32 {
        let read = held(operand, registers);
        if let Operand::Value(value) = operand {
            self.note(group, Subject::Use(value, reader, by), read);
        }
        read
    }

    /// Records something about a group, and the difference if another thread recorded something
    /// else.
    fn note(&mut self, group: u32, subject: Subject, what: u32) {
        let known = *self.notes.entry((group, subject)).or_insert(what);
        if known == what {
            return;
        }
        match subject {
            Subject::Value(value) => _ = self.values.insert(value as usize),
            Subject::Use(value, reader, _) => _ = self.uses.insert((value, reader)),
            Subject::End => {
                let block = self.groups.iter().find(|(_, number)| **number == group);
                self.ends.insert(block.map_or(0, |((block, _), _)| *block));
            }
        }
    }
}

/// The contents of the slots of a thread; slots without an entry have undefined content.
struct Slots {
    seed: u64,
    held: FxHashMap<u32, u32>,
}

impl Slots {
    /// Executes the uses of slots of a block before an operation. Returns the loaded value, if
    /// there is a load, or `None` if a load reads an undefined content.
    fn follow(&mut self, block: &Block, at: usize, registers: &[u32]) -> Option<Option<u32>> {
        let mut loaded = None;
        for entry in block.slots_at(at) {
            match entry.access {
                Access::Load => loaded = Some(*self.held.get(&entry.slot)?),
                Access::Kill => _ = self.held.remove(&entry.slot),
                Access::Store(operand) => {
                    self.held.insert(entry.slot, held(operand, registers));
                }
                Access::Update(operand) => {
                    if let Some(content) = self.held.get_mut(&entry.slot) {
                        let read = [*content, held(operand, registers)].map(u64::from);
                        *content = pure(self.seed, UPDATE, read);
                    }
                }
            }
        }
        Some(loaded)
    }
}

/// The operation with the loaded value as its second operand.
fn with_loaded(operation: &Operation, loaded: Option<u32>) -> Operation {
    match (operation, loaded) {
        (Operation::Pure(name, [a, _]), Some(content)) => {
            Operation::Pure(*name, [*a, Operand::Constant(content)])
        }
        _ => operation.clone(),
    }
}

fn pure(seed: u64, name: u32, [a, b]: [u64; 2]) -> u32 {
    mix(&[seed, 3, u64::from(name), a, b])
}

/// The value of an operand. Undef reads as zero.
fn held(operand: Operand, registers: &[u32]) -> u32 {
    match operand {
        Operand::Value(value) => registers[value as usize],
        Operand::Constant(constant) => constant,
        Operand::Undef => 0,
    }
}

fn compute(
    operation: &Operation,
    seed: u64,
    thread: u32,
    registers: &[u32],
    fresh: impl Fn(u32) -> u32,
) -> u32 {
    let read = |operand: &Operand| u64::from(held(*operand, registers));
    match operation {
        Operation::Argument(number) => mix(&[seed, 2, u64::from(*number)]),
        Operation::ThreadId => thread,
        Operation::Uniform | Operation::AlwaysUniform(_) => fresh(0),
        Operation::Divergent => fresh(1 + thread),
        Operation::Pure(name, [a, b]) => pure(seed, *name, [read(a), read(b)]),
        Operation::Test(a) => mix(&[seed, 4, read(a)]) & 1,
        Operation::Phi(_) => panic!("a program with block arguments has no phis"),
    }
}

fn mix(parts: &[u64]) -> u32 {
    let mut hasher = FxHasher::default();
    parts.hash(&mut hasher);
    // The finalizer of SplitMix64: low bits decide branches.
    let mut h = hasher.finish();
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (h ^ (h >> 31)) as u32 & 0xffff
}
