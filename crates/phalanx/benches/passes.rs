//! A pipeline that asks for all facts after each pass: `cargo bench -p phalanx --bench passes`.
//!
//! Five passes run one after the other over whole modules, each in a session of its own; after each
//! pass, every fact of every function is asked. The inputs are our kernels as clang-22 compiles
//! them (the shipped `.ll` kernels where it is not installed), the same inlined into one function
//! (`phalanx_test_suite::giants`), and random structured kernels inlined into giants. Times in
//! microseconds, the best of several runs.
//!
//! | column | what is timed |
//! |---|---|
//! | cold | every fact of every function, once, of a module just read |
//! | facts | the same after each of the five passes, in sum |
//! | passes | what the passes themselves take: facts that they ask for, and edits |
//! | all again | facts from scratch after each pass, in new databases: the cost for a compiler that retains nothing |
//! | ratio | facts against cold |
//! | changed | functions that a pass changed, of all functions that passes looked at |
//!
//! Arguments are parts of names of rows. `--runs=N` says how often each is measured.
//! `--passes=LIST` names other passes or another order; changes by the first pass cost nothing,
//! since nothing was asked before. `--by-pass` divides the ratio among the passes. For each pass it
//! shows the share of instructions that the pass inserted, erased, moved or altered, the share of
//! instructions in the functions that it changed, and how divergence of large functions was
//! computed. In a small function, facts are computed from scratch after every change, so their cost
//! goes with the second share. `--by-fact` shows the share of each query in a cold analysis, cold
//! and after each of the passes.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads files and prints"
)]

mod every_fact;

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use every_fact::FACTS;
use phalanx::{
    FunctionId, ModuleId, Session,
    db::queries,
    transform::{Manager, Options, Pipeline, Registry},
};
use phalanx_test_suite::{giants, kernels::Manifest, shipped};
use phalanx_testing::{abstract_program::DECLARATIONS, inlined::inlined};

/// In the order in which `opt-22 -O1` simplifies a function after inlining, where `instcombine`
/// stands for `instsimplify`.
const PASSES: [&str; 5] = ["early-cse", "simplifycfg", "instsimplify", "licm", "dce"];

fn main() {
    let mut runs = 3;
    let (mut by_pass, mut by_fact) = (false, false);
    let mut pipeline: Vec<String> = PASSES.map(str::to_owned).to_vec();
    let mut filters = Vec::new();
    for argument in env::args().skip(1) {
        match argument.strip_prefix("--runs=") {
            Some(number) => runs = number.parse().expect("--runs takes a number"),
            None if argument.starts_with("--passes=") => {
                pipeline = argument["--passes=".len()..].split(',').map(str::to_owned).collect();
            }
            None if argument == "--by-pass" => by_pass = true,
            None if argument == "--by-fact" => by_fact = true,
            None if argument.starts_with('-') => {}
            None => filters.push(argument),
        }
    }
    println!(
        "{:<16}{:>9}{:>10}{:>10}{:>10}{:>10}{:>11}{:>8}{:>16}",
        "module", "defined", "insts", "cold", "facts", "passes", "all again", "ratio", "changed"
    );
    let wanted =
        |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(f.as_str()));
    for (name, texts) in inputs() {
        if !wanted(&name) {
            continue;
        }
        let all: Vec<Row> = (0..runs.max(1)).map(|_| measure(&texts, &pipeline, by_fact)).collect();
        let least = |of: fn(&Row) -> Duration| all.iter().map(of).min().unwrap_or_default();
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let (cold, facts, passes, again) =
            (least(|r| r.cold), least(|r| r.facts), least(|r| r.passes), least(|r| r.again));
        let row = &all[0];
        println!(
            "{name:<16}{:>9}{:>10}{:>10.0}{:>10.0}{:>10.0}{:>11.0}{:>8.2}{:>9} of {:>4}",
            row.functions,
            row.instructions,
            us(cold),
            us(facts),
            us(passes),
            us(again),
            us(facts) / us(cold),
            row.changed,
            row.functions * pipeline.len(),
        );
        if by_fact {
            print_by_fact(&all, &pipeline);
        }
        if by_pass {
            for (number, pass) in pipeline.iter().enumerate() {
                let facts = all.iter().map(|r| r.by_pass[number].facts).min().unwrap_or_default();
                let own = &row.by_pass[number];
                let [solved, kept, repaired] = own.ways;
                let part = |number: usize| 100.0 * number as f64 / row.instructions as f64;
                println!(
                    "  {pass:<14}{:>56.2}{:>9} of {:>4}   {:.1}% of instructions, {:.0}% in these functions; \
                     solved {solved}, kept {kept}, repaired {repaired}",
                    us(facts) / us(cold),
                    own.changed,
                    row.functions,
                    part(own.edited),
                    part(own.in_changed),
                );
            }
        }
    }
}

/// A row for each fact: its share of a cold analysis, and its cost after each pass as a share of
/// its cold cost.
fn print_by_fact(all: &[Row], passes: &[String]) {
    let least = |of: &dyn Fn(&Row) -> Duration| all.iter().map(of).min().unwrap_or_default();
    let whole = least(&|row| row.cold).as_secs_f64();
    let percent = |time: Duration| 100.0 * time.as_secs_f64() / whole;
    print!("  {:<22}{:>13}", "% of cold", "cold");
    passes.iter().for_each(|pass| print!("{pass:>13}"));
    println!();
    for (at, (name, _)) in FACTS.iter().enumerate() {
        print!("  {name:<22}{:>13.1}", percent(least(&|row| row.cold_by_fact[at])));
        for pass in 0..passes.len() {
            print!("{:>13.1}", percent(least(&|row| row.by_pass[pass].by_fact[at])));
        }
        println!();
    }
}

/// Named lists of modules.
fn inputs() -> Vec<(String, Vec<Vec<u8>>)> {
    let read = |path: &Path| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut inputs = Vec::new();
    let manifest = Manifest::read().expect("the manifest can be read");
    if let Some(compiler) = manifest.compiler() {
        let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
        for target in ["amdgcn", "nvptx"] {
            for level in ["-O0", "-O1", "-O2"] {
                let variants = manifest.variants().into_iter();
                let chosen =
                    variants.filter(|v| !v.debug && v.level == level && v.target.contains(target));
                let texts = chosen.map(|variant| {
                    let path = manifest.compile(&compiler, &variant, &folder);
                    read(&path.unwrap_or_else(|error| panic!("{error:#}")))
                });
                inputs.push((format!("{target} {level}"), texts.collect()));
            }
        }
        for level in ["-O0", "-O1", "-O2"] {
            let giant = giants::giant(&manifest, ("amdgcn", level), 1, &folder);
            if let Some(path) = giant.unwrap_or_else(|error| panic!("{error:#}")) {
                inputs.push((format!("kernels {level}"), vec![read(&path)]));
            }
        }
    } else {
        let paths = shipped().expect("the kernels are there");
        inputs.push(("shipped".to_owned(), paths.iter().map(|path| read(path)).collect()));
    }
    for size in [600, 6_000] {
        let text = format!(
            "target triple = \"amdgcn-amd-amdhsa\"\n{}{}",
            DECLARATIONS,
            inlined(size).to_llvm("f")
        );
        inputs.push((format!("random {size}"), vec![text.into_bytes()]));
    }
    inputs
}

/// What one pass has of a row.
#[derive(Clone, Copy, Default)]
struct ByPass {
    facts: Duration,
    by_fact: Times,
    changed: u64,
    /// Instructions that it inserted, erased, moved or altered.
    edited: usize,
    /// Instructions of the functions in which it did.
    in_changed: usize,
    /// How often divergence of a large function was computed from scratch, from scratch with its
    /// state retained, and by incremental update, until now.
    ways: [u64; 3],
}

#[derive(Default)]
struct Row {
    functions: usize,
    instructions: usize,
    changed: u64,
    cold: Duration,
    cold_by_fact: Times,
    facts: Duration,
    passes: Duration,
    again: Duration,
    by_pass: Vec<ByPass>,
}

/// The duration of each query.
type Times = [Duration; FACTS.len()];

/// Asks every fact of each function in turn, and returns the total duration. The duration of each
/// query is added to `times`, if requested: reading the clock takes as long as a cached answer.
fn ask(session: &Session, functions: &[FunctionId], mut times: Option<&mut Times>) -> Duration {
    let db = session.database();
    let start = Instant::now();
    for function in functions {
        let Some(times) = &mut times else {
            FACTS.iter().for_each(|(_, ask)| ask(db, function.input()));
            continue;
        };
        let mut last = Instant::now();
        for ((_, ask), time) in FACTS.iter().zip(&mut **times) {
            ask(db, function.input());
            let now = Instant::now();
            *time += now - last;
            last = now;
        }
    }
    start.elapsed()
}

fn read(session: &mut Session, text: &[u8]) -> (ModuleId, Vec<FunctionId>) {
    let module =
        session.read(text).unwrap_or_else(|error| panic!("{}", error.render("kernel", text)));
    (module, session.functions(module).collect())
}

/// Measures each module in a session of its own, as a compiler has it.
fn measure(texts: &[Vec<u8>], passes: &[String], by_fact: bool) -> Row {
    let mut row = Row { by_pass: vec![ByPass::default(); passes.len()], ..Row::default() };
    for text in texts {
        measure_module(&mut row, text, passes, by_fact);
    }
    row
}

fn measure_module(row: &mut Row, text: &[u8], passes: &[String], by_fact: bool) {
    let mut cold = Session::new();
    let (_, functions) = read(&mut cold, text);
    row.cold += ask(&cold, &functions, by_fact.then_some(&mut row.cold_by_fact));
    let mut session = Session::new();
    let (module, functions) = read(&mut session, text);
    row.functions += functions.len();
    row.instructions += functions.iter().map(|f| session.code(*f).body.id_count()).sum::<usize>();
    let registry = Registry::standard();
    let position = |session: &Session, f: FunctionId| session.code(f).body.journal().position();
    for (pass, own) in passes.iter().zip(&mut row.by_pass) {
        let pipeline = Pipeline::parse(pass, &registry).unwrap_or_else(|error| panic!("{error}"));
        let mut manager = Manager::new(Options::default());
        let before: Vec<u64> = functions.iter().map(|f| position(&session, *f)).collect();
        let start = Instant::now();
        for group in &pipeline.groups {
            manager
                .run_group(session.database_mut(), module.input(), group, &mut |_, _| {})
                .unwrap_or_else(|error| panic!("{error}"));
        }
        row.passes += start.elapsed();
        let facts = ask(&session, &functions, by_fact.then_some(&mut own.by_fact));
        own.facts += facts;
        row.facts += facts;
        for (function, before) in functions.iter().zip(before) {
            let body = session.code(*function).body;
            if body.journal().position() != before {
                let changes = body.journal().since(before);
                own.edited += changes.map_or(body.id_count(), |changes| changes.insts.len());
                own.in_changed += body.id_count();
            }
            let ways = queries::repairs(session.database(), function.input());
            let ways = [ways.solved, ways.kept, ways.repaired];
            own.ways.iter_mut().zip(ways).for_each(|(sum, more)| *sum += more);
        }
        let changed: u64 = manager.statistics().steps.iter().map(|s| s.changed_functions).sum();
        own.changed += changed;
        row.changed += changed;
        let mut fresh = Session::new();
        let (_, functions) = read(&mut fresh, &session.print(module));
        row.again += ask(&fresh, &functions, None);
    }
}
