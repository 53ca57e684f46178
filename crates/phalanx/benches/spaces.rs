//! The cost of computing where pointers lead from scratch, compared with LLVM's pass:
//! `cargo bench -p phalanx --bench spaces`.
//!
//! | column | what is timed |
//! |---|---|
//! | kinds | `memory_kinds` of all functions, with control flow and dominators known and nothing else |
//! | graph | these, which LLVM's pass does without |
//! | opt-22 | `infer-address-spaces` by its own timer, in user and system time; it also rewrites what it finds |
//! | share | kinds by opt-22 |
//! | and sroa | the same after `sroa`, both together: what LLVM needs to follow pointers through stack slots, as kinds do |
//! | share | kinds by these |
//!
//! In nanoseconds per instruction. The inputs are giants full of generic pointers
//! (`phalanx_testing::pointers`), loads and stores of local memory in all shapes
//! (`phalanx_testing::giants`), and our own kernels as clang-22 compiles them for both targets at
//! -O0 and -O2, each function 64 times, since the timers of `opt` are too coarse for one. The
//! attribute `optnone`, which makes its pass manager step over functions, is taken out. The best of
//! several runs counts.
//!
//! Arguments are parts of names of inputs; `--quick` leaves out the largest.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench reads files, runs programs and prints"
)]

use std::{
    collections::BTreeMap,
    env, fs,
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use phalanx::{FunctionId, Session};
use phalanx_test_suite::{kernels::Manifest, shipped};
use phalanx_testing::{
    giants::{Family, Giant},
    llvm_tools::{self, Program},
    opt_timers::passes,
    pointers::{Through, pointers},
};

/// How many copies of each function of a kernel are timed.
const COPIES: usize = 64;

/// How often each is measured.
const RUNS: usize = 5;

#[derive(Clone, Copy, Default)]
struct Row {
    instructions: usize,
    kinds: Duration,
    graph: Duration,
    llvm: [Option<Duration>; 2],
}

impl Row {
    fn add(&mut self, other: &Row) {
        self.instructions += other.instructions;
        self.kinds += other.kinds;
        self.graph += other.graph;
        for (sum, one) in self.llvm.iter_mut().zip(other.llvm) {
            *sum = match (*sum, one) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
    }

    fn print(&self, name: &str) {
        let per = |time: Duration| time.as_nanos() as f64 / self.instructions.max(1) as f64;
        let (kinds, graph) = (per(self.kinds), per(self.graph));
        print!("{name:<24}{:>10}{kinds:>9.1}{graph:>9.1}", self.instructions);
        for llvm in self.llvm {
            match llvm.map(per) {
                Some(llvm) => print!("{llvm:>9.1}{:>8.0}%", 100.0 * kinds / llvm),
                None => print!("{:>9}{:>9}", "-", "-"),
            }
        }
        println!();
    }
}

fn main() {
    let (mut filters, mut is_quick) = (Vec::new(), false);
    for argument in env::args().skip(1) {
        match argument.as_str() {
            "--quick" => is_quick = true,
            other if other.starts_with('-') => {}
            other => filters.push(other.to_owned()),
        }
    }
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(f));
    let opt = llvm_tools::require("opt");
    println!(
        "{:<24}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "insts", "kinds", "graph", "opt-22", "share", "and sroa", "share"
    );
    for size in [10_000, 100_000, 1_000_000].into_iter().take(if is_quick { 2 } else { 3 }) {
        for through in Through::ALL {
            let name = format!("{} {size}", through.name());
            if is_wanted(&name) {
                measure(&pointers(size, through), opt.as_ref()).print(&name);
            }
        }
        let name = format!("memory {size}");
        if is_wanted(&name) {
            let units = size / Family::Memory.instructions_per_unit();
            measure(&Giant::new(Family::Memory, units).text(), opt.as_ref()).print(&name);
        }
    }
    let mut groups: BTreeMap<String, Row> = BTreeMap::new();
    for (group, text) in kernels().into_iter().filter(|(group, _)| is_wanted(group)) {
        let row = measure(&copied(&text, COPIES), opt.as_ref());
        groups.entry(group).or_default().add(&row);
    }
    groups.iter().for_each(|(name, row)| row.print(name));
}

/// The kernels, each with the group that it is counted in.
fn kernels() -> Vec<(String, String)> {
    let read = |path: &Path| {
        fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let manifest = Manifest::read().expect("the manifest can be read");
    let Some(compiler) = manifest.compiler() else {
        let shipped = shipped().expect("the kernels are there");
        return shipped.iter().map(|path| ("shipped".to_owned(), read(path))).collect();
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let variants = manifest.variants().into_iter().filter(|v| !v.debug && v.level != "-O1");
    variants
        .map(|variant| {
            let path = manifest.compile(&compiler, &variant, &folder);
            let path = path.unwrap_or_else(|error| panic!("{error:#}"));
            (format!("kernels {} {}", variant.target, variant.level), read(&path))
        })
        .collect()
}

/// A module with this many copies of each function, under other names; all call the first ones.
fn copied(text: &str, copies: usize) -> String {
    let mut all = text.to_owned();
    let mut lines = text.lines();
    while let Some(head) = lines.next() {
        if !head.starts_with("define ") {
            continue;
        }
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
        let (before, after) = head.split_once('@').expect("functions have names");
        for copy in 1..copies {
            let (name, rest) = after.split_once('(').expect("functions have parameters");
            let name = match name.strip_suffix('"') {
                Some(quoted) => format!("{quoted}.{copy}\""),
                None => format!("{name}.{copy}"),
            };
            // A group of functions that a linker chooses from is called as its first one.
            let rest = rest.replace(" comdat ", " ");
            let body = body.join("\n");
            all.push_str(&format!("{before}@{name}({rest}\n{body}\n}}\n"));
        }
    }
    all
}

fn measure(text: &str, opt: Option<&Program>) -> Row {
    let mut best: Option<Row> = None;
    for _ in 0..RUNS {
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).expect("the text is well-formed");
        let functions: Vec<FunctionId> = session.functions(module).collect();
        let mut row = Row::default();
        let start = Instant::now();
        for &function in &functions {
            black_box((session.cfg(function), session.dom_tree(function)));
        }
        row.graph = start.elapsed();
        let start = Instant::now();
        ask(&session, &functions);
        row.kinds = start.elapsed();
        let count = |function: &FunctionId| {
            let code = session.code(*function);
            code.flow.order().iter().map(|&b| code.body.block_insts(b).count()).sum::<usize>()
        };
        row.instructions = functions.iter().map(count).sum();
        if best.is_none_or(|best| row.kinds < best.kinds) {
            best = Some(row);
        }
    }
    let mut row = best.unwrap_or_default();
    if let Some(opt) = opt {
        let timed = |list: &str, rows: &[&str]| passes(opt, text.as_bytes(), list, rows);
        let (list, rows) = ("sroa,infer-address-spaces", ["SROAPass", "InferAddressSpacesPass"]);
        row.llvm = [timed("infer-address-spaces", &rows[1..]), timed(list, &rows)];
    }
    row
}

/// With a symbol of its own for profilers.
#[inline(never)]
fn ask(session: &Session, functions: &[FunctionId]) {
    for &function in functions {
        black_box(session.memory_kinds(function));
    }
}
