//! Divergence on families of programs: nanoseconds per instruction, and growth from 10,000 to
//! 100,000.
//!
//! Timed is everything that depends on the instructions, and separately the flow facts that it
//! stands on. A member is analysed by the precise rules with an empty sync dependence, as if seen
//! for the first time. Graph families of `phalanx-graph` take part under their names with `g-` in
//! front, every branch divergent. Arguments: names of families, or nothing for all; `--quick` for
//! small sizes.
#![allow(clippy::print_stdout, reason = "a bench prints")]

#[path = "../tests/suite/support.rs"]
mod support;

use std::time::{Duration, Instant};

use phalanx_core::SourceSet;
use phalanx_core::divergence::{FlowFacts, Rules, solve};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cycles, DomTree};
use phalanx_testing::abstract_families::{ALL, on_graph};
use phalanx_testing::abstract_program::AbstractProgram;
use support::table;

/// Best time of a few runs.
fn best<T>(mut run: impl FnMut() -> T) -> (Duration, T) {
    let mut found: Option<(Duration, T)> = None;
    let start = Instant::now();
    for _ in 0..5 {
        let before = Instant::now();
        let result = run();
        let time = before.elapsed();
        if found.as_ref().is_none_or(|(known, _)| time < *known) {
            found = Some((time, result));
        }
        if start.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    found.expect("at least one run")
}

struct Measured {
    instructions: usize,
    flow: Duration,
    divergence: Duration,
    divergent: usize,
}

fn measure(program: &AbstractProgram) -> Measured {
    let cfg = program.cfg();
    let table = table(program, |_| SourceSet::X);
    let (flow, (dom, cycles)) = best(|| (DomTree::new(&cfg), Cycles::new(&cfg)));
    let (divergence, divergent) = best(|| {
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let flow = FlowFacts { cfg: &cfg, dom: &dom, cycles: &cycles, sync: &sync };
        let result = solve(flow, &table, Rules::Precise);
        result.values().iter().filter(|s| !s.is_empty()).count()
    });
    Measured { instructions: program.size(), flow, divergence, divergent }
}

/// Makes a program of a size.
type Make = Box<dyn Fn(usize) -> AbstractProgram>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_quick = arguments.iter().any(|a| a == "--quick");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let sizes = if is_quick { [100, 1_000] } else { [10_000, 100_000] };
    let head = ["size", "instrs", "flow ms", "ms", "ns/instr", "growth", "divergent"];
    let [size, instructions, flow, ms, each, growth, divergent] = head;
    println!(
        "{:12} {size:>9} {instructions:>10} {flow:>8} {ms:>8} {each:>10} {growth:>7} {divergent:>10}",
        "family"
    );
    let mut families: Vec<(String, Make)> = Vec::new();
    for family in ALL {
        families.push((family.name.to_owned(), Box::new(family.make)));
    }
    for family in phalanx_graph::testing::families::ALL {
        let make = family.with_nodes;
        families.push((format!("g-{}", family.name), Box::new(move |n| on_graph(&make(n)))));
    }
    for (name, make) in families {
        if !names.is_empty() && !names.iter().any(|wanted| **wanted == name) {
            continue;
        }
        let mut before: Option<Measured> = None;
        for size in sizes {
            let now = measure(&make(size));
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            let per_instruction = ms(now.divergence) * 1e6 / now.instructions as f64;
            let growth = before
                .as_ref()
                .map_or(String::new(), |b| format!("{:.1}", ms(now.divergence) / ms(b.divergence)));
            println!(
                "{name:12} {size:>9} {:>10} {:>8.2} {:>8.2} {per_instruction:>10.1} {growth:>7} {:>10}",
                now.instructions,
                ms(now.flow),
                ms(now.divergence),
                now.divergent
            );
            before = Some(now);
        }
    }
}
