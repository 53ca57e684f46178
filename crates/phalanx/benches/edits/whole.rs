//! Benches of other edits, of memory usage, and of no edit at all.

use super::common::{
    Ask, UNIFORMITY, against, divergence, every_fact, everything, giant, giant_of_kernels, is_sum,
    opt, percentiles, places, read_named, scratch, text, us,
};
use crate::every_fact::FACTS;
use phalanx::analysis::assumed_facts::AssumedFacts;
use phalanx::analysis::divergence::{FlowFacts, Rules, solve};
use phalanx::analysis::launch::launch_facts;
use phalanx::analysis::lower;
use phalanx::analysis::lower::{Code, Environment, Library};
use phalanx::analysis::summary::NoCallFacts;
use phalanx::analysis::update::{DivergenceUpdater, Sources, Stamp, Subject};
use phalanx::analysis::{code::TypeLayout, memory::PrivateMemory};
use phalanx::db::{Database, TargetOverrides, queries};
use phalanx::graph::sync::SyncDependence;
use phalanx::graph::{Cycles, DomTree, PostDomTree};
use phalanx::ir::{BlockId, BuildError, Function, GlobalName, Module};
use phalanx::target::Target;
use phalanx::{FunctionId, Session};
use phalanx_test_suite::giants;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) fn split(size: usize) {
    let all = [
        ("domtree", "DominatorTreeAnalysis"),
        ("postdomtree", "PostDominatorTreeAnalysis"),
        ("cycles", "CycleAnalysis"),
        UNIFORMITY,
    ];
    let of_llvm = |median| against(opt(text(size).as_bytes(), &[], &all), median);
    split_asking("split", giant(size), everything, of_llvm);
}

pub(crate) fn all(size: usize) {
    split_asking("all", giant(size), every_fact, |_| String::new());
}

/// Blocks are split, one after the other.
pub(crate) fn split_asking(
    table: &str,
    (mut session, function): (Session, FunctionId),
    ask: Ask,
    opt: impl Fn(f64) -> String,
) {
    let scratch = scratch(&session, function, ask, &[]);
    let mut times = Vec::new();
    each_split(&mut session, function, |db, round, edit| {
        let start = Instant::now();
        ask(db, function.input());
        if round >= 5 {
            times.push(edit + start.elapsed());
        }
    });
    let [median, p90, p99] = percentiles(&mut times);
    println!(
        "{table:<8}{:>10} {:>12.0} {:>8} {median:>8.0} {p90:>8.0} {p99:>8.0} {:>9.0}% {:>8}",
        session.code(function).body.id_count(),
        us(scratch),
        "",
        100.0 * median / us(scratch),
        opt(median),
    );
}

/// Splits forty blocks; `after` gets the number of each edit and its duration.
fn each_split(
    session: &mut Session,
    function: FunctionId,
    mut after: impl FnMut(&Database, usize, Duration),
) {
    let mut rng = SmallRng::seed_from_u64(1);
    for round in 0..40 {
        let order: Vec<BlockId> = session.code(function).flow.order().to_vec();
        let block = order[rng.random_range(0..order.len())];
        let at = session.code(function).body.last(block).expect("blocks are not empty");
        let start = Instant::now();
        let done: Result<BlockId, BuildError> =
            session.edit(function, |edit| edit.verifying(false).split_before(at, ""));
        done.expect("a block can be split before its terminator");
        after(session.database(), round, start.elapsed());
    }
}

/// The cost of each query from scratch, and after a block was split, if all are asked in turn; in
/// our kernels, inlined this many times.
pub(crate) fn by_fact(rounds: usize) {
    let Some(text) = giant_of_kernels(rounds) else { return };
    let (mut session, function) = read_named(&text, giants::NAME);
    let ask_each = |db: &Database| {
        FACTS.map(|(_, ask)| {
            let start = Instant::now();
            ask(db, function.input());
            start.elapsed()
        })
    };
    let scratch = ask_each(session.database());
    let mut times = vec![Vec::new(); FACTS.len()];
    each_split(&mut session, function, |db, round, _| {
        let took = ask_each(db);
        if round >= 5 {
            times.iter_mut().zip(took).for_each(|(times, took)| times.push(took));
        }
    });
    let all: f64 = scratch.iter().map(|&time| us(time)).sum();
    let insts = session.code(function).body.id_count();
    println!("{:<26}{:>12}{:>12}{:>10}", format!("us, {insts}"), "scratch", "split", "of all");
    let mut sum = 0.0;
    for ((name, _), (scratch, times)) in FACTS.iter().zip(scratch.iter().zip(&mut times)) {
        let [median, ..] = percentiles(times);
        sum += median;
        println!("{name:<26}{:>12.0}{median:>12.1}{:>9.2}%", us(*scratch), 100.0 * median / all);
    }
    println!("{:<26}{all:>12.0}{sum:>12.1}{:>9.2}%", "all", 100.0 * sum / all);
}

/// How many equal functions a module of the overhead table has: they share the costs that a
/// database pays once, at the first query of a kind.
pub(crate) const COPIES: usize = 16;

/// All facts of the functions of a module from cold, through a new database and by calling the
/// analyses. Both start from copies of the code made just before, compute target, launch facts and
/// layout themselves, and keep their results. The times are those of one function.
pub(crate) fn overhead(size: usize) {
    let (session, function) = giant(size);
    let code = session.code(function);
    let context = session.context();
    let shell = function.input().module(session.database()).shell(session.database());
    let copy = |number: usize| {
        let mut header = code.header.clone();
        header.name = GlobalName::Named(context.symbol(format!("f{number}").as_bytes()));
        Function {
            header,
            flow: code.flow.clone(),
            body: code.body.clone(),
            extras: code.extras.clone(),
            use_list_orders: Vec::new(),
        }
    };
    let module = || {
        let mut module = shell.clone();
        module.functions.extend((0..COPIES).map(copy));
        module
    };
    let called = |module: &Module| {
        let triple = module.triple.map(|triple| context.text(triple).into_owned());
        let target = Target::new(&triple.unwrap_or_default(), "");
        let layout = TypeLayout::of(module);
        let functions = module.functions.iter().map(|function| {
            let header = &function.header;
            let launch = launch_facts(context, header, &module.metadata, &target);
            let cpu = context.function_attr_text(header.attributes, "target-cpu");
            let cpu = std::str::from_utf8(cpu.unwrap_or_default()).unwrap_or_default();
            let cfg = function.flow.cfg().expect("it has a body");
            let (dom, postdom) = (DomTree::new(&cfg), PostDomTree::new(&cfg));
            let cycles = Cycles::new(&cfg);
            let sync = SyncDependence::new(&cfg, &dom, &cycles);
            let env = Environment {
                target: &target,
                layout: &layout,
                launch: &launch,
                lockstep: target.is_lockstep(cpu),
                scratch_is_global: target.scratch_is_global(cpu),
                permutes_halves: target.permuted_lanes(cpu) != Some(64),
                callee: &|_| None,
                calls: &NoCallFacts,
                node_string: &|_| None,
            };
            let (flow, body, library) = (&function.flow, &function.body, Library::NONE);
            let code = Code { context, header, flow, body, library };
            let flow = FlowFacts { cfg: &cfg, dom: &dom, cycles: &cycles, sync: &sync };
            let (divergence, kept) = match function.body.id_count() < 1024 {
                true => {
                    let memory = PrivateMemory::through_calls(code, env, &cfg, &dom);
                    let table = lower::full_with(code, env, &memory, 0);
                    (Arc::new(solve(flow, &table, Rules::Precise)), None)
                }
                // These tables are kept, as in the database.
                false => {
                    let assumed_facts = AssumedFacts::nothing();
                    let stamp = Stamp { position: 0, flow: 0, env: 0 };
                    let subject = Subject { code, env, flow, stamp, assumed_facts, private: None };
                    let mut updater = DivergenceUpdater::new(Sources::Full);
                    let never = || unreachable!("a new follower keeps tables");
                    (updater.answer(subject, |_| None, never).0, Some(updater))
                }
            };
            (cfg, dom, postdom, cycles, sync, divergence, kept)
        });
        functions.collect::<Vec<_>>()
    };
    let (mut by_query, mut by_call) = (Vec::new(), Vec::new());
    for round in 0..400 {
        // The second measurement would find warmer caches, so the order alternates.
        let mut db = Database::new();
        let (loaded, module) = match round / 2 % 2 {
            0 => {
                let loaded = db.load(module(), None, TargetOverrides::default());
                (loaded, module())
            }
            _ => {
                let module_first = module();
                (db.load(module(), None, TargetOverrides::default()), module_first)
            }
        };
        let inputs: Vec<_> = loaded.functions(&db).iter().map(|entry| entry.input).collect();
        let mut query = || {
            let start = Instant::now();
            inputs.iter().for_each(|&input| everything(&db, input));
            by_query.push(start.elapsed() / COPIES as u32);
        };
        let mut call = || {
            let start = Instant::now();
            let found = black_box(called(&module));
            by_call.push(start.elapsed() / COPIES as u32);
            found
        };
        let kept = match round % 2 {
            0 => {
                query();
                call()
            }
            _ => {
                let kept = call();
                query();
                kept
            }
        };
        // Both must find the same.
        for (&input, (.., divergence, _)) in inputs.iter().zip(&kept) {
            assert_eq!(queries::divergence(&db, input).as_ref(), Some(divergence));
        }
    }
    let ([by_query, ..], [by_call, ..]) = (percentiles(&mut by_query), percentiles(&mut by_call));
    println!(
        "overhead{:>10} {by_call:>12.1} {:>8} {by_query:>8.1} {:>37.1}%",
        code.body.id_count(),
        "",
        100.0 * (by_query / by_call - 1.0)
    );
}

/// Resident memory in kilobytes, where the system tells.
pub(crate) fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

pub(crate) fn memory(rounds: usize) {
    let (mut session, function) = giant(1000);
    let places = places(&session, function, is_sum);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut at_start = None;
    for round in 0..rounds {
        let place = &places[rng.random_range(0..places.len())];
        let other = place.others[rng.random_range(0..place.others.len())];
        let done: Result<(), BuildError> = session.edit(function, |edit| {
            edit.verifying(false).set_operand(place.inst, place.index, other)
        });
        done.expect("the value is there");
        divergence(session.database(), function.input());
        if round == rounds / 10 {
            at_start = resident();
        }
    }
    match (at_start, resident()) {
        (Some(start), Some(end)) => println!(
            "memory  {rounds:>10} rounds: {start} KiB after a tenth of them, {end} KiB at the end"
        ),
        _ => println!("memory  skipped: the system does not tell"),
    }
}
