//! The cost of each stage on real kernels, in nanoseconds per instruction:
//! `cargo bench -p phalanx --bench kernels`.
//!
//! The inputs are our own kernels, small functions of some 200 instructions, as clang-22 compiles
//! them for both targets at -O0 and -O2; if it is not installed, the shipped `.ll` kernels. Fixed
//! costs dominate in such functions: allocations and look-ups before a stage begins count for more
//! than its inner loops, which `pipeline` measures.
//!
//! | stage | what is timed |
//! |---|---|
//! | read | parse and verify |
//! | graph | every graph fact, through the database, with nothing known before |
//! | uniformity | LLVM's sources, through the database, graph facts known: lowering, sync dependence, propagation |
//! | divergence | our own sources, likewise; sync dependence is partly known from the stage before |
//! | lower, solve | the parts of uniformity without the database; solving computes the sync dependence, as LLVM does |
//! | again | solving with the sync dependence known, as after an edit of instructions |
//! | rounds | lowering and solving, the mean of many rounds on one function, as LLVM's pass is timed |
//!
//! For each file and stage the best of several runs counts. If `opt-22` is installed, it is timed
//! in user and system time by its own timers: its parser, and the uniformity pass as the mean of
//! many runs in one pipeline, with `invalidate<uniformity>` in between and cycles and dominators
//! preserved. Its timers take part of a microsecond per run. The attribute `optnone`, which makes
//! its pass manager skip functions, is removed from its input.
//!
//! Arguments are parts of names of files; `--runs=N` says how often each is measured, `--no-opt`
//! leaves LLVM out.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads files, runs programs and prints"
)]

use std::{
    collections::BTreeMap,
    env, fs,
    hint::black_box,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use phalanx::{
    FunctionId, Session,
    analysis::{
        self,
        divergence::{Divergence, FlowFacts, Rules, ValueTable, solve},
        lower::{self, Code, Environment, Library},
    },
    db::queries,
    graph::{Cfg, Cycles, DomTree, sync::SyncDependence},
    ir::{GlobalName, attributes::AttrList, metadata::MetadataId},
};
use phalanx_test_suite::{kernels::Manifest, shipped};
use phalanx_testing::{llvm_tools, opt_timers::recomputation};

/// How often `opt` runs the uniformity pass.
const ROUNDS: u32 = 400;

/// How often we lower and solve a function in a row.
const OUR_ROUNDS: u32 = 20;

const STAGES: [&str; 8] =
    ["read", "graph", "uniformity", "divergence", "lower", "solve", "again", "rounds"];

/// Times by stage, of one file or of many.
#[derive(Clone, Copy, Default)]
struct Row {
    files: usize,
    functions: usize,
    instructions: usize,
    stages: [Duration; STAGES.len()],
    /// Reading and the uniformity pass of LLVM.
    llvm: Option<[Duration; 2]>,
}

impl Row {
    fn add(&mut self, other: &Row) {
        self.files += other.files;
        self.functions += other.functions;
        self.instructions += other.instructions;
        for (sum, time) in self.stages.iter_mut().zip(other.stages) {
            *sum += time;
        }
        if let Some(times) = other.llvm {
            let sums = self.llvm.get_or_insert_default();
            *sums = [sums[0] + times[0], sums[1] + times[1]];
        }
    }

    fn keep_least(&mut self, other: &Row) {
        for (least, time) in self.stages.iter_mut().zip(other.stages) {
            *least = time.min(*least);
        }
    }

    fn print(&self, name: &str) {
        let per = |time: Duration| time.as_nanos() as f64 / self.instructions.max(1) as f64;
        print!("{name:<14}{:>6}{:>8}{:>9}", self.files, self.functions, self.instructions);
        for time in self.stages {
            print!("{:>11.1}", per(time));
        }
        match self.llvm {
            Some([read, pass]) => println!("{:>11.1}{:>11.1}", per(read), per(pass)),
            None => println!("{:>11}{:>11}", "-", "-"),
        }
    }
}

fn main() {
    let mut filters = Vec::new();
    let (mut runs, mut with_opt) = (9, true);
    for argument in env::args().skip(1) {
        match argument.strip_prefix("--runs=") {
            Some(number) => runs = number.parse().expect("--runs takes a number"),
            None if argument == "--no-opt" => with_opt = false,
            None if argument.starts_with('-') => {}
            None => filters.push(argument),
        }
    }
    let mut inputs = inputs();
    inputs.retain(|(_, path)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        filters.is_empty() || filters.iter().any(|part| name.contains(part.as_str()))
    });
    let texts: Vec<Vec<u8>> = inputs
        .iter()
        .map(|(_, path)| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        .collect();
    let mut best: Vec<Row> = Vec::new();
    for _ in 0..runs.max(1) {
        // One session for all, as in a driver: setting up a database is no part of any stage.
        let mut session = Session::new();
        let rows: Vec<Row> = texts.iter().map(|text| measure(&mut session, text)).collect();
        match best.is_empty() {
            true => best = rows,
            false => best.iter_mut().zip(&rows).for_each(|(best, row)| best.keep_least(row)),
        }
    }
    let opt = with_opt.then(|| llvm_tools::require("opt")).flatten();
    let mut groups: BTreeMap<&str, Row> = BTreeMap::new();
    let mut total = Row::default();
    for (((group, _), text), mut row) in inputs.iter().zip(&texts).zip(best) {
        row.llvm = opt.as_ref().map(|opt| {
            let pass = [("uniformity", "UniformityInfoAnalysis")];
            let times = recomputation(opt, text, &["domtree", "cycles"], &pass, ROUNDS);
            [times[0], times[1]]
        });
        groups.entry(group).or_default().add(&row);
        total.add(&row);
    }
    print!("{:<14}{:>6}{:>8}{:>9}", "ns/instruction", "files", "defined", "insts");
    STAGES.iter().for_each(|stage| print!("{stage:>11}"));
    println!("{:>11}{:>11}", "opt read", "opt pass");
    for (group, row) in &groups {
        row.print(group);
    }
    total.print("all");
}

/// The kernels, each with the group that it is counted in.
fn inputs() -> Vec<(String, PathBuf)> {
    let manifest = Manifest::read().expect("the manifest can be read");
    let Some(compiler) = manifest.compiler() else {
        let shipped = shipped().expect("the kernels are there");
        return shipped.into_iter().map(|path| ("shipped".to_owned(), path)).collect();
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let variants = manifest.variants().into_iter().filter(|v| !v.debug && v.level != "-O1");
    variants
        .map(|variant| {
            let path = manifest.compile(&compiler, &variant, &folder);
            (
                format!("{} {}", variant.target, variant.level),
                path.unwrap_or_else(|error| panic!("{error:#}")),
            )
        })
        .collect()
}

/// Adds what a stage takes.
fn timed<T>(sum: &mut Duration, stage: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = black_box(stage());
    *sum += start.elapsed();
    result
}

/// One run.
fn measure(session: &mut Session, text: &[u8]) -> Row {
    let mut row = Row { files: 1, ..Row::default() };
    let [read, graph, uniformity, divergence, lower, solve, again, rounds] = &mut row.stages;
    let module = timed(read, || session.read(text))
        .unwrap_or_else(|error| panic!("{}", error.render("kernel", text)));
    let functions: Vec<FunctionId> = session.functions(module).collect();
    for &function in &functions {
        timed(graph, || stage_graph(session, function));
    }
    for &function in &functions {
        timed(uniformity, || stage_uniformity(session, function));
    }
    for &function in &functions {
        timed(divergence, || stage_divergence(session, function));
    }
    for &function in &functions {
        let facts = (session.cfg(function), session.dom_tree(function), session.cycles(function));
        let (Some(cfg), Some(dom), Some(cycles)) = facts else { continue };
        let code = session.code(function);
        row.functions += 1;
        row.instructions +=
            code.flow.order().iter().map(|&b| code.body.block_insts(b).count()).sum::<usize>();
        let table =
            with_code(session, function, |code, around| timed(lower, || stage_lower(code, around)));
        let (sync, _) = timed(solve, || stage_solve(cfg, dom, cycles, &table));
        timed(again, || stage_again(FlowFacts { cfg, dom, cycles, sync: &sync }, &table));
        let mut all = Duration::ZERO;
        with_code(session, function, |code, around| {
            for _ in 0..OUR_ROUNDS {
                timed(&mut all, || {
                    let table = lower::as_llvm(code, around);
                    let sync = SyncDependence::new(cfg, dom, cycles);
                    let flow = FlowFacts { cfg, dom, cycles, sync: &sync };
                    analysis::divergence::solve(flow, &table, Rules::Precise)
                });
            }
        });
        *rounds += all / OUR_ROUNDS;
    }
    row
}

// The stages have symbols of their own, so that a profiler can be told to look at one.

#[inline(never)]
fn stage_graph(session: &Session, function: FunctionId) {
    black_box(session.dom_tree(function));
    black_box(session.postdom_tree(function));
    black_box(session.dom_frontier(function));
    black_box(session.control_dependence(function));
    black_box(session.cycles(function));
}

#[inline(never)]
fn stage_uniformity(session: &Session, function: FunctionId) {
    black_box(queries::uniformity(session.database(), function.input()));
}

#[inline(never)]
fn stage_divergence(session: &Session, function: FunctionId) {
    black_box(queries::divergence(session.database(), function.input()));
}

#[inline(never)]
fn stage_lower(code: Code<'_>, around: Environment<'_>) -> ValueTable {
    lower::as_llvm(code, around)
}

#[inline(never)]
fn stage_solve(
    cfg: &Cfg,
    dom: &DomTree,
    cycles: &Cycles,
    table: &ValueTable,
) -> (SyncDependence, Divergence) {
    let sync = SyncDependence::new(cfg, dom, cycles);
    let result = solve(FlowFacts { cfg, dom, cycles, sync: &sync }, table, Rules::Precise);
    (sync, result)
}

#[inline(never)]
fn stage_again(flow: FlowFacts<'_>, table: &ValueTable) -> Divergence {
    solve(flow, table, Rules::Precise)
}

/// Calls `f` with the code that the database passes to the lowering, built by hand.
fn with_code<R>(
    session: &Session,
    function: FunctionId,
    run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
) -> R {
    let (db, input) = (session.database(), function.input());
    let module = input.module(db);
    let code = session.code(function);
    let (context, header) = (session.context(), input.header(db));
    let target = queries::target(db, module);
    let processor = context.function_attr_text(header.attributes, "target-cpu").unwrap_or_default();
    let processor = std::str::from_utf8(processor).unwrap_or_default();
    let callees = queries::callees(db, input);
    let callee = |name: GlobalName| -> Option<AttrList> {
        let found = callees.binary_search_by_key(&name, |&(name, _)| name).ok()?;
        Some(callees[found].1)
    };
    let node_string = |node: MetadataId| {
        let metadata = &module.shell(db).metadata;
        metadata.element(node, 0).filter(|_| metadata.values(node).len() == 1)?.as_string()
    };
    let around = Environment {
        target,
        layout: queries::type_layout(db, module),
        launch: queries::launch_facts(db, input),
        lockstep: target.is_lockstep(processor),
        scratch_is_global: target.scratch_is_global(processor),
        permutes_halves: target.permuted_lanes(processor) != Some(64),
        callee: &callee,
        calls: &analysis::summary::NoCallFacts,
        node_string: &node_string,
    };
    let (flow, body, library) = (code.flow, code.body, Library::NONE);
    run(Code { context, header, flow, body, library }, around)
}
