//! Checks data flow against execution: change an argument, and see what changes.
//!
//! A random program runs twice, with one argument different. If every thread took the same path
//! both times, all other differences come from data flow, including memory and other threads. So
//! each instruction with a different value must be reached from the argument.
//!
//! [`pointers`] generates programs that write and read memory through generic pointers.

pub mod pointers;

use phalanx::ir::{BlockId, InstId};
use phalanx::{FunctionId, Session};
use phalanx_analysis::{
    data_flow::{DataFlow, Edges, Entity, Reached},
    lower::Numbering,
};
use phalanx_core::Value;
use phalanx_simt::{
    Arg, Launch, Observer, Program, Value as Computed, memory::Memory, observe::Moment,
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::Hasher as _;

use crate::oracle::{self, random_program, runnable_alone};

/// What was compared, and the results.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Pairs of launches in which all threads took the same paths.
    pub pairs: u64,
    /// Instructions that gave another value, by pair.
    pub changed: u64,
    /// Instructions that are reached from the argument and were executed, by function and argument.
    pub reached: u64,
    /// Reached instructions that gave another value in some pair.
    pub reached_and_changed: u64,
    /// What was wrong.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.pairs += other.pairs;
        self.changed += other.changed;
        self.reached += other.reached;
        self.reached_and_changed += other.reached_and_changed;
        self.wrong.extend(other.wrong);
    }
}

/// The record of a launch: paths of all threads in all functions, and values of one function.
#[derive(Debug, Default)]
struct Seen {
    function: usize,
    ways: FxHashMap<u32, Vec<(usize, BlockId)>>,
    /// By thread and instruction, all values it gave.
    values: FxHashMap<(u32, InstId), u64>,
}

impl Observer for Seen {
    fn block(&mut self, at: Moment<'_>, block: BlockId, _: Option<BlockId>) {
        self.ways.entry(at.thread.number).or_default().push((at.function, block));
    }

    fn value(&mut self, at: Moment<'_>, value: &Computed) {
        if at.function == self.function {
            let all = self.values.entry((at.thread.number, at.inst)).or_default();
            let mut hasher = FxHasher::default();
            hasher.write_u64(*all);
            hasher.write(format!("{value:?}").as_bytes());
            *all = hasher.finish();
        }
    }
}

/// Runs a random program in pairs of launches, and compares with the entities that are reached over
/// some edges.
#[must_use]
pub fn check_random(seed: u64, pairs: u32, edges: Edges) -> Tally {
    let (program, kind) = random_program(seed);
    let text = runnable_alone(&program, kind, seed);
    let reached = |session: &Session, of: FunctionId, argument| {
        Some(reached_from(session.data_flow(of)?, argument, edges))
    };
    let launch = |rng: &mut SmallRng, memory: &mut Memory| oracle::launch(rng, memory, 8_000);
    check(&text, (seed, pairs), &reached, &launch).unwrap_or_default()
}

/// The entities that the argument at a position influences.
type ReachedOf<'a> = &'a dyn Fn(&Session, FunctionId, usize) -> Option<Reached>;
type LaunchOf<'a> = &'a dyn Fn(&mut SmallRng, &mut Memory) -> Option<Launch>;

fn reached_from(flow: DataFlow<'_>, argument: usize, edges: Edges) -> Reached {
    flow.reached([Entity::Value(Value::new(argument))], edges)
}

/// Checks the data flow of `@f` against pairs of launches in which its second or third argument
/// differs.
fn check(
    text: &str,
    (seed, pairs): (u64, u32),
    reached_of: ReachedOf<'_>,
    launch_of: LaunchOf<'_>,
) -> Option<Tally> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f")?;
    let (db, input) = (session.database(), function.input());
    let mut copy = module.input().shell(db).clone();
    let functions = module.input().functions(db).iter();
    copy.functions = functions.map(|entry| entry.input.view(db).to_function()).collect();
    let program = Program::new(&copy, session.target(module)).ok()?;
    let number = program.function("f")?;
    let numbering = Numbering::new(input.header(db));
    let rng = &mut SmallRng::seed_from_u64(seed);
    let mut tally = Tally::default();
    for argument in [1, 2] {
        let reached = reached_of(&session, function, argument)?;
        let (mut executed, mut changed) = (FxHashSet::default(), FxHashSet::default());
        for _ in 0..pairs {
            let contents: u64 = rng.random();
            let choices: u64 = rng.random();
            let run = |other: Option<u128>| {
                let mut memory = program.memory(contents).ok()?;
                let choices = &mut SmallRng::seed_from_u64(choices);
                let mut launch: Launch = launch_of(choices, &mut memory)?;
                if let Some(other) = other {
                    launch.args[argument] = Arg::bits(other);
                }
                let mut seen = Seen { function: number, ..Seen::default() };
                phalanx_simt::run(&program, "f", &launch, &mut memory, &mut seen).ok()?;
                Some(seen)
            };
            let Some(first) = run(None) else { continue };
            let other = match rng.random_range(0..3) {
                0 => rng.random_range(0..16),
                1 => 1 << rng.random_range(4..32),
                _ => rng.random::<u32>(),
            };
            let Some(second) = run(Some(u128::from(other))) else { continue };
            executed.extend(first.values.keys().map(|(_, inst)| *inst));
            if first.ways != second.ways {
                continue;
            }
            tally.pairs += 1;
            for (at, value) in &first.values {
                let (_, inst) = *at;
                if second.values.get(at) == Some(value) || !changed.insert(inst) {
                    continue;
                }
                tally.changed += 1;
                if !reached.contains(Entity::Value(numbering.inst(inst))) {
                    tally.wrong.push(format!("{} by argument {argument}", inst.into_raw()));
                }
            }
        }
        let is_reached = |inst: &&InstId| reached.contains(Entity::Value(numbering.inst(**inst)));
        tally.reached += executed.iter().filter(is_reached).count() as u64;
        tally.reached_and_changed += changed.iter().filter(is_reached).count() as u64;
    }
    Some(tally)
}
