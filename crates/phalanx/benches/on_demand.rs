//! The cost of queries that are asked now and then, after an edit:
//! `cargo bench -p phalanx --bench on_demand`.
//!
//! | row | question |
//! |---|---|
//! | `divergence` | the fact that these depend on, updated incrementally: for comparison |
//! | `variance` | along which dimensions a statement differs, and whether it is executed |
//! | `is_truly_uniform` | whether a value is equal over inactive lanes |
//! | `assumed_divergence` | divergence under assumptions about barriers and stable loads |
//! | `explain` | why a value differs: the first query after the edit, and another |
//!
//! The function consists of random kernels in sequence. Each round edits one operand, asks for
//! divergence, and then times the query. The first two queries answer for single statements and
//! values from the retained state of divergence. `assumed_divergence` is updated incrementally;
//! `edits` measures it in detail. The last ones are computed from scratch. `--quick` leaves out the
//! largest size.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use phalanx::{
    FunctionId, Session,
    analysis::{stable::Assumptions, variance::BarrierModel},
    db::{
        Database, FunctionInput,
        queries::{self, Subject},
    },
    ir::{BuildError, InstId, Type, Value},
    target::Scope,
};
use phalanx_testing::{abstract_program::DECLARATIONS, inlined::inlined};
use rand::{Rng, SeedableRng, rngs::SmallRng};

/// All assumptions.
const ASSUMED: Assumptions = Assumptions { barriers: Some(BarrierModel::Lenient), race_free: true };

type Question = (&'static str, fn(&Database, FunctionInput, InstId));

const QUESTIONS: &[Question] = &[
    ("variance", |db, f, inst| {
        black_box(queries::variance(db, f).is_some());
        black_box(queries::statement_variance(db, f, inst));
    }),
    ("is_truly_uniform", |db, f, inst| {
        black_box(queries::is_truly_uniform(db, f, Value::inst(inst)));
    }),
    ("assumed_divergence", |db, f, _| {
        black_box(queries::assumed_divergence(db, f, ASSUMED));
    }),
    ("explain", |db, f, inst| {
        let subject = Subject::Value(Value::inst(inst));
        black_box(queries::explain(db, f, subject, Scope::Wave));
    }),
    ("explain, again", |db, f, inst| {
        let subject = Subject::Use { user: inst, operand: 0 };
        black_box(queries::explain(db, f, subject, Scope::Wave));
    }),
];

/// Operations that can read another value of their block.
fn places(session: &Session, function: FunctionId) -> Vec<(InstId, Value)> {
    let code = session.code(function);
    let mut found = Vec::new();
    for &block in code.flow.order() {
        let mut above: Option<Value> = None;
        for inst in code.body.block_insts(block) {
            let data = code.body.inst(inst);
            if data.opcode.is_binary() && data.ty == Type::I32 {
                found.extend(above.map(|above| (inst, above)));
            }
            if data.ty == Type::I32 {
                above = Some(inst.into());
            }
        }
    }
    found
}

fn rows(size: usize) {
    let program = inlined(size).to_llvm("f");
    let text = format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}{program}");
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f").expect("it is called @f");
    let places = places(&session, function);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); QUESTIONS.len() + 1];
    let mut last = places[0].0;
    for round in 0..12 {
        let (inst, other) = places[rng.random_range(0..places.len())];
        let done: Result<(), BuildError> =
            session.edit(function, |edit| edit.verifying(false).set_operand(inst, 0, other));
        done.expect("the value is there");
        let (db, input) = (session.database(), function.input());
        let mut timed = |at: usize, ask: &dyn Fn()| {
            let start = Instant::now();
            ask();
            // The first queries decide whether retaining state pays off.
            if round >= 4 {
                times[at].push(start.elapsed());
            }
        };
        timed(0, &|| {
            black_box(queries::divergence(db, input));
        });
        for (at, (_, ask)) in QUESTIONS.iter().enumerate() {
            timed(at + 1, &|| ask(db, input, last));
        }
        last = inst;
    }
    let count = session.code(function).body.id_count();
    let names = std::iter::once("divergence").chain(QUESTIONS.iter().map(|(name, _)| *name));
    for (name, times) in names.zip(&mut times) {
        times.sort_unstable();
        let median = times[times.len() / 2].as_secs_f64();
        let per_inst = median * 1e9 / count as f64;
        println!("{name:<20} {count:>10} {:>12.1} {per_inst:>10.1}", median * 1e6);
    }
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    println!("{:<20} {:>10} {:>12} {:>10}", "", "insts", "median us", "ns/inst");
    let sizes: &[usize] = if is_quick { &[10_000] } else { &[10_000, 100_000, 1_000_000] };
    sizes.iter().for_each(|&size| rows(size));
}
