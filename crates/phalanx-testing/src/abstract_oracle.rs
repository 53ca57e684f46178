//! The reference semantics of toy programs: runs them and observes what diverges.
//!
//! **Converged** (LLVM, *Convergence And Uniformity*, maximal converged-with relation, in closed
//! form): give each dynamic instance of a block in a thread the key
//!
//! ```text
//!   key(X) = (block of X, key of the latest earlier instance, in the same thread, of the header of any
//!             cycle that contains the block of X)
//! ```
//!
//! Two instances are converged exactly when their keys are equal. Keys of one thread never repeat,
//! so a key identifies one converged group. A key depends on the past only, so a run that is cut
//! short is valid evidence up to its end.
//!
//! Threads run one after another. The values that a thread computes and the branches that it takes
//! are recorded under the key of the instance. If a second thread records something else under the
//! same key, that is *observed divergence*. The values that a use reads are recorded too, for
//! temporal divergence; for a phi, under the key and the edge.
//!
//! Undef reads as zero. Since the freedom to choose undef is not modelled, programs for the oracle
//! must not contain it.
//!
//! The hierarchy of cycles is an argument: an analysis must be right under every one of them.

use std::hash::{Hash as _, Hasher as _};

use phalanx_graph::{BitSet, Cfg, Cycles, Node};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use crate::abstract_program::{AbstractProgram, Operand, Operation, Terminator};

/// The differences observed within converged groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// By value number.
    pub values: BitSet,
    /// By block number: threads went different ways.
    pub terminators: BitSet,
    /// By value number of the user and operand position: a value differed where it was read.
    pub uses: Vec<(u32, u32)>,
}

/// How much to run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many runs, each with other values.
    pub runs: u64,
    /// Threads per run.
    pub threads: u32,
    /// Blocks that a thread may enter.
    pub fuel: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self { runs: 40, threads: 6, fuel: 48 }
    }
}

/// Runs a program under a cycle hierarchy of its graph and collects what diverges.
#[must_use]
pub fn observe(program: &AbstractProgram, cycles: &Cycles, effort: Effort) -> Observed {
    let mut machine = Machine::new(program, cycles);
    for run in 0..effort.runs {
        machine.run(run, effort);
    }
    let mut uses: Vec<(u32, u32)> = machine.uses;
    uses.sort_unstable();
    uses.dedup();
    Observed { values: machine.values, terminators: machine.terminators, uses }
}

/// As [`observe`], where some blocks end with a barrier of all threads. A run counts only if all
/// threads end and use barriers correctly: all execute the same barriers in the same order. With
/// `ended_do_not_count`, the list of barriers of a thread may also be a prefix of the longest list.
/// Returns how many runs count, too.
#[must_use]
pub fn observe_with_barriers(
    program: &AbstractProgram,
    cycles: &Cycles,
    effort: Effort,
    barriers: &BitSet,
    ended_do_not_count: bool,
) -> (Observed, u64) {
    let mut machine = Machine::new(program, cycles);
    let mut counted = 0;
    for run in 0..effort.runs {
        let before = (machine.values.clone(), machine.terminators.clone(), machine.uses.len());
        machine.reset();
        let mut lists: Vec<Vec<u32>> = Vec::new();
        let mut all_end = true;
        for number in 0..effort.threads {
            let mut list = Vec::new();
            all_end &= machine.thread(number, run, effort.fuel, |block, group| {
                if barriers.contains(block.index()) {
                    list.push(group);
                }
            });
            lists.push(list);
        }
        let longest = lists.iter().max_by_key(|list| list.len()).cloned().unwrap_or_default();
        let is_right = lists.iter().all(|list| match ended_do_not_count {
            true => longest.starts_with(list),
            false => *list == longest,
        });
        if is_right && all_end {
            counted += 1;
        } else {
            (machine.values, machine.terminators) = (before.0, before.1);
            machine.uses.truncate(before.2);
        }
    }
    let mut uses = machine.uses;
    uses.sort_unstable();
    uses.dedup();
    (Observed { values: machine.values, terminators: machine.terminators, uses }, counted)
}

/// Cycle hierarchies of a graph: its own first, then others that random search orders give. Only
/// one if the graph is reducible, since all orders then agree.
#[must_use]
pub fn hierarchies(cfg: &Cfg, seed: u64, tries: usize) -> Vec<Cycles> {
    let mut found = vec![Cycles::new(cfg)];
    if found[0].all_reducible() {
        return found;
    }
    let shape = |cycles: &Cycles| {
        let mut shape: Vec<(Node, Vec<Node>)> = cycles
            .iter()
            .map(|c| {
                let mut blocks = cycles.blocks(c).to_vec();
                blocks.sort_unstable();
                (cycles.header(c), blocks)
            })
            .collect();
        shape.sort_unstable();
        shape
    };
    let mut shapes = vec![shape(&found[0])];
    let mut rng = SmallRng::seed_from_u64(seed);
    for _ in 0..tries {
        let shuffled = Cfg::new(
            cfg.entry(),
            cfg.nodes().map(|node| {
                let mut list = cfg.successors(node).to_vec();
                list.shuffle(&mut rng);
                list
            }),
        );
        let other = Cycles::new(&shuffled);
        let other_shape = shape(&other);
        if !shapes.contains(&other_shape) {
            shapes.push(other_shape);
            found.push(other);
        }
    }
    found
}

fn mix(parts: &[u64]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    parts.hash(&mut hasher);
    // The finalizer of SplitMix64: the low bits decide branches.
    let mut h = hasher.finish();
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

const NO_KEY: u32 = u32::MAX;

/// The value of an undefined operand: it agrees with whatever the rest of the group has. A function
/// of it is undefined too, and a thread that branches on it has undefined behaviour. No operation
/// computes this number.
const ANY: u32 = u32::MAX;

/// A converged group.
struct Group {
    hash: u64,
    /// The position of its first note.
    notes: usize,
}

struct Machine<'a> {
    program: &'a AbstractProgram,
    /// Headers of the cycles that contain each block.
    headers: Vec<Vec<Node>>,
    is_header: Vec<bool>,
    /// Notes per block: one per operation and operand, and the terminator.
    note_count: Vec<usize>,
    groups: Vec<Group>,
    /// Group by block and parent group.
    keys: rustc_hash::FxHashMap<(u32, u32), u32>,
    /// The recorded values; `u64::MAX` where nothing has been recorded.
    notes: Vec<u64>,
    values: BitSet,
    terminators: BitSet,
    uses: Vec<(u32, u32)>,
}

/// A running thread.
struct Thread {
    number: u32,
    registers: Vec<u32>,
    /// Time and group of the latest instance of each header.
    latest: Vec<(u32, u32)>,
}

impl<'a> Machine<'a> {
    fn new(program: &'a AbstractProgram, cycles: &Cycles) -> Self {
        let nodes = || (0..program.blocks.len()).map(Node::new);
        let headers_of = |node: Node| -> Vec<Node> {
            let inner = cycles.innermost(node);
            inner.map_or(vec![], |c| cycles.ancestors(c).map(|c| cycles.header(c)).collect())
        };
        let notes_of = |block: &crate::abstract_program::Block| -> usize {
            let ops = block.operations.iter();
            1 + ops.map(|(_, op)| 1 + op.operands().count()).sum::<usize>()
        };
        Self {
            program,
            headers: nodes().map(headers_of).collect(),
            is_header: nodes().map(|node| cycles.is_header(node)).collect(),
            note_count: program.blocks.iter().map(notes_of).collect(),
            groups: Vec::new(),
            keys: rustc_hash::FxHashMap::default(),
            notes: Vec::new(),
            values: BitSet::new(program.value_count as usize),
            terminators: BitSet::new(program.blocks.len()),
            uses: Vec::new(),
        }
    }

    fn run(&mut self, seed: u64, effort: Effort) {
        self.reset();
        for number in 0..effort.threads {
            self.thread(number, seed, effort.fuel, |_, _| ());
        }
    }

    /// Clears the groups of a run; the observed differences remain.
    fn reset(&mut self) {
        self.groups.clear();
        self.keys.clear();
        self.notes.clear();
    }

    /// Runs a thread and reports which blocks it enters in which groups. Returns whether the thread
    /// ends.
    fn thread(
        &mut self,
        number: u32,
        seed: u64,
        fuel: u32,
        mut entered: impl FnMut(Node, u32),
    ) -> bool {
        let mut thread = Thread {
            number,
            registers: vec![0; self.program.value_count as usize],
            latest: vec![(0, NO_KEY); self.program.blocks.len()],
        };
        let (mut at, mut from) = (Node::new(0), None);
        for time in 1..=fuel {
            let group = self.enter(&mut thread, at, time);
            entered(at, group);
            match self.execute(&mut thread, seed, group, at, from) {
                Some(next) => (at, from) = (next, Some(at)),
                None => return true,
            }
        }
        false
    }

    /// The group that the thread joins in a block.
    fn enter(&mut self, thread: &mut Thread, block: Node, time: u32) -> u32 {
        let latest = self.headers[block.index()].iter().map(|h| thread.latest[h.index()]);
        let parent = latest.max_by_key(|&(time, _)| time).map_or(NO_KEY, |(_, group)| group);
        let next = self.groups.len() as u32;
        let group = *self.keys.entry((block.raw(), parent)).or_insert(next);
        if group == next {
            let above = self.groups.get(parent as usize).map_or(1, |g| g.hash);
            let hash = mix(&[u64::from(block.raw()), above]);
            self.groups.push(Group { hash, notes: self.notes.len() });
            self.notes.resize(self.notes.len() + self.note_count[block.index()], u64::MAX);
        }
        if self.is_header[block.index()] {
            thread.latest[block.index()] = (time, group);
        }
        group
    }

    /// Records something about a group. Returns whether another thread recorded something else.
    fn note(&mut self, at: usize, what: u64) -> bool {
        if what == u64::from(ANY) {
            return false;
        }
        let old = std::mem::replace(&mut self.notes[at], what);
        old != u64::MAX && old != what
    }

    /// Runs a block. Returns where the thread goes next.
    fn execute(
        &mut self,
        thread: &mut Thread,
        seed: u64,
        group: u32,
        block: Node,
        from: Option<Node>,
    ) -> Option<Node> {
        let program = self.program;
        let Group { hash, notes: mut at } = self.groups[group as usize];
        // Phis read all their inputs before any of them changes.
        let mut phis: Vec<(u32, u32)> = Vec::new();
        for (number, operation) in &program.blocks[block.index()].operations {
            let is_phi = matches!(operation, Operation::Phi(_));
            if !is_phi {
                for (phi, value) in phis.drain(..) {
                    thread.registers[phi as usize] = value;
                }
            }
            let read = |operand: Operand| match operand {
                Operand::Value(value) => thread.registers[value as usize],
                Operand::Constant(constant) => constant,
                Operand::Undef => ANY,
            };
            let fresh = |who: u64| mix(&[seed, u64::from(*number), hash, who]) as u32 & 0xffff;
            let result = match operation {
                Operation::Phi(entries) => {
                    let taken = entries.iter().find(|entry| Some(entry.0) == from);
                    taken.map_or(0, |entry| read(entry.1))
                }
                Operation::Argument(i) => mix(&[seed, 7, u64::from(*i)]) as u32 & 0xffff,
                Operation::ThreadId => thread.number,
                Operation::Uniform | Operation::AlwaysUniform(_) => fresh(0),
                Operation::Divergent => fresh(1 + u64::from(thread.number)),
                Operation::Pure(_, [a, b]) if read(*a) == ANY || read(*b) == ANY => ANY,
                Operation::Pure(name, [a, b]) => {
                    let parts = [seed, u64::from(*name), u64::from(read(*a)), u64::from(read(*b))];
                    mix(&parts) as u32 & 0xffff
                }
                Operation::Test(a) if read(*a) == ANY => ANY,
                Operation::Test(a) => mix(&[seed, 11, u64::from(read(*a))]) as u32 & 1,
            };
            let reads: Vec<Option<u32>> = match operation {
                Operation::Phi(entries) => {
                    entries.iter().map(|e| (Some(e.0) == from).then(|| read(e.1))).collect()
                }
                _ => operation.operands().map(|o| Some(read(o))).collect(),
            };
            if self.note(at, u64::from(result)) {
                self.values.insert(*number as usize);
            }
            for (i, what) in reads.into_iter().enumerate() {
                if let Some(what) = what
                    && self.note(at + 1 + i, u64::from(what))
                {
                    self.uses.push((*number, i as u32));
                }
            }
            at += 1 + operation.operands().count();
            if is_phi {
                phis.push((*number, result));
            } else {
                thread.registers[*number as usize] = result;
            }
        }
        for (phi, value) in phis {
            thread.registers[phi as usize] = value;
        }
        let read = |operand: Operand| match operand {
            Operand::Value(value) => thread.registers[value as usize],
            Operand::Constant(constant) => constant,
            Operand::Undef => ANY,
        };
        let terminator = &program.blocks[block.index()].terminator;
        if terminator.condition().is_some_and(|condition| read(condition) == ANY) {
            return None;
        }
        let next = match terminator {
            Terminator::Return => return None,
            Terminator::Jump(to) => *to,
            Terminator::Branch(condition, [yes, no]) => {
                if read(*condition) & 1 == 1 {
                    *yes
                } else {
                    *no
                }
            }
            Terminator::Switch(condition, to) => to[read(*condition) as usize % to.len()],
        };
        if self.note(at, u64::from(next.raw())) {
            self.terminators.insert(block.index());
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abstract_program::Block;

    fn block(operations: Vec<(u32, Operation)>, terminator: Terminator) -> Block {
        Block { operations, terminator }
    }

    fn run(blocks: Vec<Block>, value_count: u32) -> Observed {
        let program = AbstractProgram { blocks, value_count };
        let cycles = Cycles::new(&program.cfg());
        observe(&program, &cycles, Effort::default())
    }

    fn divergent(observed: &Observed) -> Vec<usize> {
        observed.values.iter().collect()
    }

    #[test]
    fn threads_that_took_different_ways_meet_in_a_phi() {
        let v = Operand::Value;
        let c = Operand::Constant;
        let n = Node::new;
        let observed = run(
            vec![
                block(
                    vec![(0, Operation::ThreadId), (1, Operation::Test(v(0)))],
                    Terminator::Branch(v(1), [n(1), n(2)]),
                ),
                block(vec![(2, Operation::Uniform)], Terminator::Jump(n(2))),
                block(
                    vec![
                        (3, Operation::Phi(vec![(n(0), c(1)), (n(1), c(2))])),
                        (4, Operation::Phi(vec![(n(0), c(5)), (n(1), c(5))])),
                        (5, Operation::Pure(9, [v(3), c(0)])),
                    ],
                    Terminator::Return,
                ),
            ],
            6,
        );
        // Only some threads execute the uniform operation, but all of them get the same value.
        assert_eq!(divergent(&observed), [0, 1, 3, 5]);
        assert_eq!(observed.terminators.iter().collect::<Vec<_>>(), [0]);
        assert_eq!(observed.uses, [(1, 0), (5, 0)]);
    }

    #[test]
    fn threads_that_left_a_loop_in_different_rounds_hold_different_values() {
        let v = Operand::Value;
        let n = Node::new;
        let observed = run(
            vec![
                block(vec![], Terminator::Jump(n(1))),
                block(
                    vec![
                        (0, Operation::Uniform),
                        (1, Operation::Divergent),
                        (2, Operation::Test(v(1))),
                    ],
                    Terminator::Branch(v(2), [n(1), n(2)]),
                ),
                block(vec![(3, Operation::Pure(7, [v(0), v(0)]))], Terminator::Return),
            ],
            4,
        );
        // Equal in each round in which it is computed, but not where it is read after the loop.
        assert_eq!(divergent(&observed), [1, 2, 3]);
        assert_eq!(observed.uses, [(2, 0), (3, 0), (3, 1)]);
    }

    #[test]
    fn hierarchies_differ_only_inside_irreducible_cycles() {
        let graph = |lists: &[&[usize]]| {
            let lists = lists.iter().map(|l| l.iter().map(|&i| Node::new(i)).collect::<Vec<_>>());
            Cfg::new(Node::new(0), lists)
        };
        let reducible = graph(&[&[1], &[2, 3], &[1], &[]]);
        assert_eq!(hierarchies(&reducible, 1, 20).len(), 1);
        let two_entries = graph(&[&[1, 2], &[2, 3], &[1, 3], &[]]);
        assert_eq!(hierarchies(&two_entries, 1, 20).len(), 2);
    }
}
