//! How every fact grows with the input, family by family: `cargo bench -p phalanx --bench growth`.
//!
//! Each family of generated giants (`phalanx_testing::giants`) is read at one size and at eight
//! times that size. Every fact is asked of it in a new database, after edits of an operand, and
//! after a block was split or its halves merged again.
//!
//! | column | what is timed |
//! |---|---|
//! | cold | every fact once, the best of three databases; nanoseconds per instruction |
//! | growth | by which factor that grew: 8 is linear |
//! | operand, split | every fact after such an edit, the median of many; microseconds at the larger size |
//! | growth | by which factor that grew: 1 if the cost depends on the change only |
//!
//! A fact gets a row of its own if it grows faster than it should: by more than 16 times when cold;
//! after an operand edit, by more than 3 times to more than 100 us; after a split, by more than 3
//! times to more than a millisecond and a fifth of its cold time. `--all` prints every fact. A
//! family without sums of sums has no operand to edit: 0.
//!
//! Arguments are parts of names of families; `--units=N` is the smaller size.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints, and is told what to measure"
)]

mod every_fact;

use std::{
    env,
    time::{Duration, Instant},
};

use every_fact::FACTS;
use phalanx::{
    FunctionId, Session,
    ir::{BuildError, InstId, Value, edit::Transaction},
};
use phalanx_testing::giants::{Family, Giant};
use rustc_hash::FxHashMap;

/// By how much the larger input is larger.
const STEP: usize = 8;
/// Edits of a kind. The first ones do not count: they create retained state.
const EDITS: usize = 40;
const FIRST: usize = 10;

fn main() {
    let (mut units, mut is_all) = (2_000, false);
    let mut filters = Vec::new();
    for argument in env::args().skip(1) {
        match argument.strip_prefix("--units=") {
            Some(number) => units = number.parse().expect("--units takes a number"),
            None if argument == "--all" => is_all = true,
            None if argument.starts_with('-') => {}
            None => filters.push(argument),
        }
    }
    println!(
        "{:<24}{:>9}{:>10}{:>8}{:>14}{:>8}{:>14}{:>8}",
        "family", "insts", "cold", "growth", "operand us", "growth", "split us", "growth"
    );
    for &family in Family::ALL {
        let name = family.name();
        if !filters.is_empty() && !filters.iter().any(|f| name.contains(f.as_str())) {
            continue;
        }
        let (small, large) = (Measured::of(family, units), Measured::of(family, STEP * units));
        let sum = |of: &dyn Fn(&Times) -> Duration| {
            let line = Line::new(&small, &large, of);
            line.print(name, large.instructions);
        };
        sum(&|times| times.iter().sum());
        for (at, (fact, _)) in FACTS.iter().enumerate() {
            let line = Line::new(&small, &large, &|times: &Times| times[at]);
            if is_all || line.is_striking() {
                line.print(&format!("  {fact}"), large.instructions);
            }
        }
    }
}

/// The duration of each query.
type Times = [Duration; FACTS.len()];

/// One function.
struct Measured {
    instructions: usize,
    cold: Times,
    operand: Times,
    split: Times,
}

impl Measured {
    fn of(family: Family, units: usize) -> Self {
        let text = Giant::new(family, units).text();
        let mut cold = [Duration::MAX; FACTS.len()];
        let mut last = None;
        for _ in 0..3 {
            let mut session = Session::new();
            let read = session.read(text.as_bytes());
            let module =
                read.unwrap_or_else(|error| panic!("{}", error.render("giant", text.as_bytes())));
            let function = session.functions(module).next().expect("a giant is one function");
            let times = ask(&session, function);
            cold.iter_mut().zip(times).for_each(|(best, time)| *best = time.min(*best));
            last = Some((session, function));
        }
        let (mut session, function) = last.expect("it was measured");
        let body = session.code(function).body;
        let sums: Vec<InstId> =
            body.all_ids().filter(|inst| body.inst(*inst).opcode.is_binary()).collect();
        // An operand of the first operand of a sum, if that is a sum itself.
        let made_from = |inst: &InstId| {
            let made = body.operands(*inst)[0].as_inst()?;
            let value = *body.operands(made).first()?;
            (body.inst(made).opcode.is_binary() && value.as_const().is_none())
                .then_some((*inst, value))
        };
        let links: FxHashMap<InstId, Value> = sums.iter().filter_map(made_from).collect();
        let linked: Vec<InstId> =
            sums.iter().copied().filter(|inst| links.contains_key(inst)).collect();
        let instructions = body.id_count();
        // Every other edit undoes the one before.
        let mut before = None;
        let operand = edits(&mut session, function, &linked, |edit, at| {
            let now = edit.body().operands(at)[0];
            let new = before.take().unwrap_or(links[&at]);
            before = (new == links[&at]).then_some(now);
            edit.set_operand(at, 0, new)
        });
        let mut head = None;
        let split = edits(&mut session, function, &sums, |edit, at| match head.take() {
            Some(block) => edit.merge_successor(block),
            None => {
                head = edit.body().block_of(at);
                edit.split_before(at, "").map(drop)
            }
        });
        Self { instructions, cold, operand, split }
    }
}

/// Asks every fact.
fn ask(session: &Session, function: FunctionId) -> Times {
    let mut times = [Duration::ZERO; FACTS.len()];
    for ((_, ask), time) in FACTS.iter().zip(&mut times) {
        let start = Instant::now();
        ask(session.database(), function.input());
        *time = start.elapsed();
    }
    times
}

/// Medians of the duration of each query after edits of these instructions, two of each.
fn edits(
    session: &mut Session,
    function: FunctionId,
    at: &[InstId],
    mut edit: impl FnMut(&mut Transaction<'_>, InstId) -> Result<(), BuildError>,
) -> Times {
    let mut all: [Vec<Duration>; FACTS.len()] = std::array::from_fn(|_| Vec::new());
    if at.is_empty() {
        return [Duration::ZERO; FACTS.len()];
    }
    for round in 0..EDITS {
        let inst = at[(round / 2) * 7919 % at.len()];
        let done: Result<(), BuildError> = session.edit(function, |transaction| {
            transaction.verifying(false);
            edit(transaction, inst)
        });
        done.expect("the edit breaks no rule");
        let times = ask(session, function);
        if round >= FIRST {
            all.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
        }
    }
    all.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

/// A row of the table.
struct Line {
    /// At the larger size.
    cold: Duration,
    operand: Duration,
    split: Duration,
    per_instruction: f64,
    growth: [f64; 3],
}

impl Line {
    fn new(small: &Measured, large: &Measured, of: &dyn Fn(&Times) -> Duration) -> Self {
        let [cold, operand, split] = [&large.cold, &large.operand, &large.split].map(of);
        let before = [&small.cold, &small.operand, &small.split].map(of);
        let growth = |after: Duration, before: Duration| {
            after.as_secs_f64() / before.as_secs_f64().max(1e-9)
        };
        Self {
            cold,
            operand,
            split,
            per_instruction: cold.as_nanos() as f64 / large.instructions as f64,
            growth: [growth(cold, before[0]), growth(operand, before[1]), growth(split, before[2])],
        }
    }

    /// Whether it grows faster than it should.
    fn is_striking(&self) -> bool {
        let [cold, operand, split] = self.growth;
        let (few, many) = (Duration::from_micros(100), Duration::from_millis(1));
        cold > 2.0 * STEP as f64 && self.cold > many
            || operand > 3.0 && self.operand > few
            || split > 3.0 && self.split > many.max(self.cold / 5)
    }

    fn print(&self, name: &str, instructions: usize) {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let [cold, operand, split] = self.growth;
        println!(
            "{name:<24}{instructions:>9}{:>10.0}{cold:>8.1}{:>14.1}{operand:>8.1}{:>14.1}{split:>8.1}",
            self.per_instruction,
            us(self.operand),
            us(self.split)
        );
    }
}
