//! Checks the legality of motions against execution: which threads execute each block together.
//!
//! A random program runs. For every block it is recorded which threads executed it together, and by
//! which edge each came. Then all claims are checked at each scope: pairs of blocks that the same
//! sets of threads execute, and blocks that are entered by one edge. For refused motions, it is
//! counted how often a group really differed: this measures how precise the rules are.

use std::fmt;

use phalanx::{
    Session,
    db::queries,
    ir::{BlockId, flow::node_of},
    target::Scope,
};
use phalanx_core::legality::Legality;
use phalanx_graph::{DomTree, Node};
use phalanx_simt::{Observer, Program, convergence::Key, observe::Moment};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::oracle::{self, random_program, runnable_alone};

/// The scopes that are looked at, in the order of their numbers.
const SCOPES: [Scope; 2] = [Scope::Wave, Scope::Workgroup];

/// What was compared, and the results.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Launches that ended well.
    pub launches: u64,
    /// Executed pairs of blocks that are claimed to be executed by the same sets.
    pub same: u64,
    /// Groups that were compared for these pairs.
    pub groups: u64,
    /// Refused pairs in which one block dominates the other.
    pub other: u64,
    /// Refused pairs for which a group differed in some launch.
    pub other_seen: u64,
    /// Blocks with several predecessors that are claimed to be entered by one edge.
    pub one_edge: u64,
    /// Refused blocks.
    pub edges: u64,
    /// Refused blocks to which threads of one group came by different edges.
    pub edges_seen: u64,
    /// What was wrong.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.launches += other.launches;
        self.same += other.same;
        self.groups += other.groups;
        self.other += other.other;
        self.other_seen += other.other_seen;
        self.one_edge += other.one_edge;
        self.edges += other.edges;
        self.edges_seen += other.edges_seen;
        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        writeln!(f, "launches                {:>12}", self.launches)?;
        writeln!(f, "same set                {:>12}", self.same)?;
        writeln!(f, "  groups compared       {:>12}", self.groups)?;
        writeln!(f, "refused                 {:>12}", self.other)?;
        writeln!(f, "  seen to differ        {:>11.1}%", share(self.other_seen, self.other))?;
        writeln!(f, "entered by one edge     {:>12}", self.one_edge)?;
        writeln!(f, "refused                 {:>12}", self.edges)?;
        writeln!(f, "  seen to differ        {:>11.1}%", share(self.edges_seen, self.edges))?;
        write!(f, "wrong                   {:>12}", self.wrong.len())
    }
}

/// Threads with the blocks that they executed, in order.
#[derive(Debug, Default)]
struct Walks {
    function: usize,
    /// By number of the thread: its groups at each scope, and its steps.
    threads: Vec<Walk>,
}

#[derive(Clone, Debug, Default)]
struct Walk {
    group: [u32; SCOPES.len()],
    steps: Vec<(BlockId, Key, Option<BlockId>)>,
}

impl Observer for Walks {
    fn block(&mut self, at: Moment<'_>, block: BlockId, from: Option<BlockId>) {
        if at.function != self.function {
            return;
        }
        let number = at.thread.number as usize;
        if self.threads.len() <= number {
            self.threads.resize(number + 1, Walk::default());
        }
        let walk = &mut self.threads[number];
        walk.group = SCOPES.map(|scope| oracle::group(&at, scope));
        walk.steps.push((block, at.key, from));
    }
}

/// A converged execution: the block, its key, and the group at a scope.
type Instance = (BlockId, Key, u32);

/// The group that executed each block: equal numbers are equal sets of threads.
fn groups(walks: &Walks, scope: usize) -> FxHashMap<Instance, u32> {
    let mut groups: FxHashMap<Instance, Vec<u32>> = FxHashMap::default();
    for (thread, walk) in walks.threads.iter().enumerate() {
        for &(block, key, _) in &walk.steps {
            groups.entry((block, key, walk.group[scope])).or_default().push(thread as u32);
        }
    }
    let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
    let number = |(instance, members)| {
        let next = numbers.len() as u32;
        (instance, *numbers.entry(members).or_insert(next))
    };
    groups.into_iter().map(number).collect()
}

/// Pairs of blocks, the first dominating the second.
type Pairs<T> = FxHashMap<(Node, Node), T>;

/// For each pair that was executed: how many groups were compared, and whether some group executed
/// the second block with other threads than the first.
fn compare(walks: &Walks, scope: usize, dom: &DomTree, pairs: &mut Pairs<(u64, bool)>) {
    let groups = groups(walks, scope);
    // The latest executions of the first member of a group.
    let mut first: FxHashMap<(Instance, Node), Key> = FxHashMap::default();
    for walk in &walks.threads {
        let mut last: FxHashMap<Node, (BlockId, Key)> = FxHashMap::default();
        for &(block, key, _) in &walk.steps {
            let instance = (block, key, walk.group[scope]);
            let below = node_of(block);
            let mut up = dom.idom(below);
            while let Some(above) = up {
                up = dom.idom(above);
                let Some(&(block, above_key)) = last.get(&above) else { continue };
                let pair = pairs.entry((above, below)).or_default();
                pair.0 += 1;
                let before = *first.entry((instance, above)).or_insert(above_key);
                pair.1 |= before != above_key
                    || groups[&(block, above_key, walk.group[scope])] != groups[&instance];
            }
            last.insert(below, (block, key));
        }
    }
}

/// Blocks that threads of one group reached by different edges.
fn mixed(walks: &Walks, scope: usize) -> FxHashSet<Node> {
    let mut from: FxHashMap<Instance, Option<BlockId>> = FxHashMap::default();
    let mut mixed = FxHashSet::default();
    for walk in &walks.threads {
        for &(block, key, pred) in &walk.steps {
            if *from.entry((block, key, walk.group[scope])).or_insert(pred) != pred {
                mixed.insert(node_of(block));
            }
        }
    }
    mixed
}

/// Runs a program and compares. `distort` may change an answer: for tests that the comparison can
/// fail.
///
/// None when the program cannot be run at all.
#[must_use]
pub fn check(
    text: &str,
    seed: u64,
    launches: u32,
    distort: &dyn Fn(&Legality<'_>, Node, Node) -> bool,
) -> Option<Tally> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f")?;
    let (db, input) = (session.database(), function.input());
    let own = module.input().shell(db);
    let mut copy = own.clone();
    copy.functions = module
        .input()
        .functions(db)
        .iter()
        .map(|entry| entry.input.view(db).to_function())
        .collect();
    let program = Program::new(&copy, session.target(module)).ok()?;
    let number = program.function("f")?;
    let (cfg, dom) = (session.cfg(function)?, session.dom_tree(function)?);
    let rng = &mut SmallRng::seed_from_u64(seed);
    let mut tally = Tally::default();
    let mut pairs: [Pairs<(u64, bool)>; SCOPES.len()] = Default::default();
    let mut mixes: [FxHashSet<Node>; SCOPES.len()] = Default::default();
    for _ in 0..launches {
        let mut memory = program.memory(rng.random()).ok()?;
        let mut launch = oracle::launch(rng, &mut memory, 8_000)?;
        oracle::as_stated(&mut launch, queries::launch_facts(db, input));
        let mut walks = Walks { function: number, ..Walks::default() };
        // A thread that is stopped in the middle is missing in later groups.
        if phalanx_simt::run(&program, "f", &launch, &mut memory, &mut walks).is_err() {
            continue;
        }
        tally.launches += 1;
        for scope in 0..SCOPES.len() {
            compare(&walks, scope, dom, &mut pairs[scope]);
            mixes[scope].extend(mixed(&walks, scope));
        }
    }
    for (number, scope) in SCOPES.into_iter().enumerate() {
        let legality = queries::legality(db, input, scope)?;
        for (&(above, below), &(groups, is_other)) in &pairs[number] {
            if legality.same_set(above, below).is_ok() || distort(&legality, above, below) {
                tally.same += 1;
                tally.groups += groups;
                if is_other {
                    tally.wrong.push(format!("same set of {above} and {below}, {scope:?}"));
                }
            } else {
                tally.other += 1;
                tally.other_seen += u64::from(is_other);
            }
        }
        for block in cfg.nodes().filter(|&block| cfg.predecessors(block).len() > 1) {
            let is_mixed = mixes[number].contains(&block);
            if legality.duplicate(block).is_ok() {
                tally.one_edge += 1;
                if is_mixed {
                    tally.wrong.push(format!("one edge into {block}, {scope:?}"));
                }
            } else {
                tally.edges += 1;
                tally.edges_seen += u64::from(is_mixed);
            }
        }
    }
    Some(tally)
}

/// Runs a random program and compares.
#[must_use]
pub fn check_random(seed: u64, launches: u32) -> Tally {
    let (program, kind) = random_program(seed);
    let text = runnable_alone(&program, kind, seed);
    check(&text, seed, launches, &|_, _, _| false).unwrap_or_default()
}
