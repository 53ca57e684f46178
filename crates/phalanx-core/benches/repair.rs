//! One operand changes: the price of an answer by repair and from scratch.
//!
//! `inlined` are random structured kernels, one after the other, with values that cross from one to
//! the next: loops, loop-carried values, temporal divergence. The others are families of programs
//! in which every branch is divergent. Each edit lets one operand of a random operation read
//! another value that is available there. Timed is stating the change, repairing, copying the
//! answer and comparing it with the last, against solving with the same tables and warm flow facts.
//! Arguments: names, or nothing for all; `--quick` for sizes up to 10,000.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[path = "../tests/suite/support.rs"]
mod support;

use std::time::{Duration, Instant};

use phalanx_core::SourceSet;
use phalanx_core::divergence::repair::{Outcome, Retained};
use phalanx_core::divergence::{Definition, FlowFacts, Rules, Value, solve};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cycles, DomTree, Node};
use phalanx_testing::abstract_families;
use phalanx_testing::abstract_program::{AbstractProgram, Operand, Operation};
use phalanx_testing::inlined::inlined;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use support::table;

/// An operation, where it is, and what it may read instead.
struct Site {
    value: Value,
    block: Node,
    definition: Definition,
    operands: Vec<Value>,
    others: Vec<Value>,
}

/// Operations with operands. Others are values of the same block further up, or of the entry.
fn places(program: &AbstractProgram) -> Vec<Site> {
    let mut found = Vec::new();
    let number = |operand: Operand| match operand {
        Operand::Value(v) => Some(Value::from_raw(v)),
        _ => None,
    };
    let of_entry: Vec<Value> =
        program.blocks[0].operations.iter().map(|op| Value::from_raw(op.0)).take(3).collect();
    for (i, block) in program.blocks.iter().enumerate() {
        let mut above = of_entry.clone();
        for (value, operation) in &block.operations {
            let value = Value::from_raw(*value);
            let definition = match operation {
                Operation::Pure(..) | Operation::Test(_) => Definition::PURE,
                _ => {
                    above.push(value);
                    continue;
                }
            };
            let operands = operation.operands().filter_map(number).collect();
            let others = above[above.len().saturating_sub(8)..].to_vec();
            found.push(Site { value, block: Node::new(i), definition, operands, others });
            above.push(value);
        }
    }
    found
}

fn measure(name: &str, program: &AbstractProgram) {
    let cfg = program.cfg();
    let table = table(program, |number| match number % 3 {
        0 => SourceSet::X,
        1 => SourceSet::LANE,
        _ => SourceSet::OPAQUE_THREAD,
    });
    let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
    let sync = SyncDependence::new(&cfg, &dom, &cycles);
    let flow = FlowFacts { cfg: &cfg, dom: &dom, cycles: &cycles, sync: &sync };
    let mut scratch = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let result = solve(flow, &table, Rules::Precise);
        scratch = scratch.min(start.elapsed());
        std::hint::black_box(result);
    }
    let values = table.len();
    let start = Instant::now();
    let retained = Retained::new(flow, table);
    let build = start.elapsed();
    let Ok(mut retained) = retained else {
        println!("{name:12} {values:>9} {:>12.0} cannot be followed", scratch.as_secs_f64() * 1e6);
        return;
    };
    let mut places = places(program);
    if places.is_empty() {
        return;
    }
    let mut rng = SmallRng::seed_from_u64(1);
    let (mut times, mut visits, mut given_up) = (Vec::new(), Vec::new(), 0);
    let mut last = retained.answer().clone();
    let begin = Instant::now();
    for _ in 0..4000 {
        let at = rng.random_range(0..places.len());
        let place = &mut places[at];
        if place.operands.is_empty() || place.others.is_empty() {
            continue;
        }
        let i = rng.random_range(0..place.operands.len());
        place.operands[i] = place.others[rng.random_range(0..place.others.len())];
        let start = Instant::now();
        retained.table().set_value(
            place.value,
            place.block,
            place.definition,
            None,
            &place.operands,
        );
        let outcome = retained.repair(flow);
        // What a driver does that keeps answers: copy, compare with the one before, drop that.
        let next = retained.answer().clone();
        std::hint::black_box(next == last);
        last = next;
        times.push(start.elapsed());
        match outcome {
            Ok(Outcome::Repaired { visited }) => visits.push(visited),
            Ok(Outcome::Rebuilt) => given_up += 1,
            Err(_) => break,
        }
        if begin.elapsed() > Duration::from_secs(5) {
            break;
        }
    }
    times.sort_unstable();
    visits.sort_unstable();
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let of = |n: usize| us(times[(times.len() - 1) * n / 1000]);
    let visited =
        |n: usize| visits.get(visits.len().saturating_sub(1) * n / 1000).copied().unwrap_or(0);
    println!(
        "{name:12} {values:>9} {:>12.0} {:>12.0} {:>9.2} {:>9.2} {:>9.1} {:>10.0} {:>8} {:>8} {:>8} {given_up:>8}",
        us(scratch),
        us(build),
        of(500),
        of(900),
        of(990),
        us(scratch) / of(500),
        visited(500),
        visited(900),
        visited(990),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_quick = arguments.iter().any(|a| a == "--quick");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|n| *n == name);
    println!(
        "{:12} {:>9} {:>12} {:>12} {:>9} {:>9} {:>9} {:>10} {:>8} {:>8} {:>8} {:>8}",
        "program",
        "values",
        "scratch us",
        "build us",
        "median",
        "p90",
        "p99",
        "times",
        "visited",
        "p90",
        "p99",
        "given up"
    );
    if is_wanted("inlined") {
        let sizes: &[usize] =
            if is_quick { &[1_000, 10_000] } else { &[1_000, 10_000, 100_000, 1_000_000] };
        for &size in sizes {
            measure("inlined", &inlined(size));
        }
    }
    for family in abstract_families::ALL {
        if is_wanted(family.name) {
            let make = family.make;
            let per_repetition = make(100).size().max(100) / 100;
            let size = if is_quick { 10_000 } else { 100_000 };
            measure(family.name, &make(size / per_repetition));
        }
    }
}
