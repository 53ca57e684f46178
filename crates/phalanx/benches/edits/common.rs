//! Functions to be edited, edits, timing, and rows of the tables.

use crate::every_fact::FACTS;
use phalanx::db::{Database, FunctionInput, TargetOverrides, queries};
use phalanx::ir::{BuildError, Function, InstData, InstId, Opcode, Type, Value};
use phalanx::{FunctionId, Session};
use phalanx_test_suite::{giants, kernels::Manifest};
use phalanx_testing::abstract_program::DECLARATIONS;
use phalanx_testing::inlined::inlined;
use phalanx_testing::llvm_tools;
use phalanx_testing::opt_timers::recomputation;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Median, 90th and 99th percentile.
pub(crate) fn percentiles(times: &mut [Duration]) -> [f64; 3] {
    times.sort_unstable();
    [500, 900, 990].map(|n| us(times[(times.len() - 1) * n / 1000]))
}

pub(crate) fn text(size: usize) -> String {
    let program = inlined(size).to_llvm("f");
    format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}{program}")
}

pub(crate) const UNIFORMITY: (&str, &str) = ("uniformity", "UniformityInfoAnalysis");

/// How long `opt-22` takes to recompute the analyses of such a function, as it does after every
/// edit.
pub(crate) fn opt(text: &[u8], kept: &[&str], analyses: &[(&str, &str)]) -> Option<Duration> {
    let opt = llvm_tools::require("opt")?;
    let times = recomputation(&opt, text, kept, analyses, 5);
    Some(times[1..].iter().sum())
}

/// How many times the median fits into LLVM's time.
pub(crate) fn against(opt: Option<Duration>, median: f64) -> String {
    opt.map_or("-".to_owned(), |opt| format!("{:.0}", us(opt) / median))
}

/// A row of the table, about one function.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a str,
    pub(crate) insts: usize,
    pub(crate) scratch: Duration,
    /// The edits alone, where they are timed.
    pub(crate) edits: Option<Vec<Duration>>,
    pub(crate) times: Vec<Duration>,
    pub(crate) opt: Option<Duration>,
    /// How many results were computed incrementally, and how many from scratch.
    pub(crate) found: [u64; 2],
}

impl Row<'_> {
    pub(crate) fn print(self) {
        let Row { name, insts, scratch, edits, mut times, opt, found: [kept, solved] } = self;
        let edit =
            edits.map_or(String::new(), |mut edits| format!("{:.2}", percentiles(&mut edits)[0]));
        let [median, p90, p99] = percentiles(&mut times);
        println!(
            "{name:<8}{insts:>10} {:>12.0} {edit:>8} {median:>8.2} {p90:>8.2} {p99:>8.1} {:>10.0} {:>8} {kept:>9} {solved:>9}",
            us(scratch),
            us(scratch) / median,
            against(opt, median),
        );
    }
}

pub(crate) fn giant(size: usize) -> (Session, FunctionId) {
    read(&text(size))
}

/// The function `@f` of a module.
pub(crate) fn read(text: &str) -> (Session, FunctionId) {
    read_named(text.as_bytes(), "f")
}

/// A function of a module.
pub(crate) fn read_named(text: &[u8], name: &str) -> (Session, FunctionId) {
    let mut session = Session::new();
    let module = session.read(text).expect("generated programs are well-formed");
    let function = session.function(module, name).expect("it has the name");
    (session, function)
}

/// Our kernels at -O2, this many times, inlined into one function; none without LLVM, which is
/// reported.
pub(crate) fn giant_of_kernels(rounds: usize) -> Option<Vec<u8>> {
    let manifest = Manifest::read().expect("the manifest can be read");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let made = giants::giant(&manifest, ("amdgcn", "-O2"), rounds, &folder);
    let file = made.unwrap_or_else(|error| panic!("{error:#}"))?;
    Some(fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

/// A query of a function.
pub(crate) type Ask = fn(&Database, FunctionInput);

/// Asks every fact of a function.
pub(crate) fn every_fact(db: &Database, f: FunctionInput) {
    FACTS.iter().for_each(|(_, ask)| ask(db, f));
}

/// An operand with values that could replace it: those further up in its block.
pub(crate) struct EditPlace {
    pub(crate) inst: InstId,
    pub(crate) index: u32,
    pub(crate) others: Vec<Value>,
}

pub(crate) fn is_sum(data: &InstData) -> bool {
    data.opcode.is_binary() && data.ty == Type::I32
}

/// The first operands of suitable instructions.
pub(crate) fn places(
    session: &Session,
    function: FunctionId,
    is_wanted: fn(&InstData) -> bool,
) -> Vec<EditPlace> {
    let code = session.code(function);
    let mut found = Vec::new();
    for &block in code.flow.order() {
        let mut above: Vec<Value> = Vec::new();
        for inst in code.body.block_insts(block) {
            let data = code.body.inst(inst);
            if !is_wanted(data) {
                continue;
            }
            if !above.is_empty() && data.opcode != Opcode::Phi {
                let others = above[above.len().saturating_sub(6)..].to_vec();
                found.push(EditPlace { inst, index: 0, others });
            }
            above.push(inst.into());
        }
    }
    found
}

/// Times the query from scratch, repeated while time permits, in a database of its own that has
/// answered `others` before.
pub(crate) fn scratch(
    session: &Session,
    function: FunctionId,
    ask: Ask,
    others: &[Ask],
) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let mut db = Database::new();
        let code = session.code(function);
        let mut module =
            function.input().module(session.database()).shell(session.database()).clone();
        module.functions.push(Function {
            header: code.header.clone(),
            flow: code.flow.clone(),
            body: code.body.clone(),
            extras: code.extras.clone(),
            use_list_orders: Vec::new(),
        });
        let module = db.load(module, None, TargetOverrides::default());
        let input = module.functions(&db)[0].input;
        others.iter().for_each(|other| other(&db, input));
        let start = Instant::now();
        ask(&db, input);
        best = best.min(start.elapsed());
    }
    best
}

/// Makes this many edits of an operand, but skips those that change nothing. `after` gets the
/// number of each edit and its duration.
pub(crate) fn each_edit(
    session: &mut Session,
    function: FunctionId,
    rounds: usize,
    mut after: impl FnMut(&Database, FunctionInput, usize, Duration),
) {
    let places = places(session, function, is_sum);
    each_edit_of(session, function, (&places, rounds), &mut after);
}

/// As [`each_edit`], for these operands.
pub(crate) fn each_edit_of(
    session: &mut Session,
    function: FunctionId,
    (places, rounds): (&[EditPlace], usize),
    after: &mut dyn FnMut(&Database, FunctionInput, usize, Duration),
) {
    let mut rng = SmallRng::seed_from_u64(1);
    for round in 0..rounds {
        let place = &places[rng.random_range(0..places.len())];
        let other = place.others[rng.random_range(0..place.others.len())];
        if session.code(function).body.operands(place.inst)[0] == other {
            continue;
        }
        let start = Instant::now();
        let done: Result<(), BuildError> = session.edit(function, |edit| {
            edit.verifying(false).set_operand(place.inst, place.index, other)
        });
        done.expect("the value is there");
        after(session.database(), function.input(), round, start.elapsed());
    }
}

/// The first queries decide whether retaining state pays off.
pub(crate) const FIRST: usize = 10;

/// Makes three thousand edits of an operand, each followed by the query: durations of the edits,
/// and of both.
pub(crate) fn after_edits(
    session: &mut Session,
    function: FunctionId,
    places: &[EditPlace],
    ask: Ask,
) -> (Vec<Duration>, Vec<Duration>) {
    let (mut edits, mut times) = (Vec::new(), Vec::new());
    each_edit_of(session, function, (places, 3000), &mut |db, input, round, edited| {
        let start = Instant::now();
        ask(db, input);
        if round >= FIRST {
            edits.push(edited);
            times.push(edited + start.elapsed());
        }
    });
    (edits, times)
}

/// As [`after_edits`] for sums; `others` are asked before, and only the query is timed.
pub(crate) fn after_edits_below(
    session: &mut Session,
    function: FunctionId,
    rounds: usize,
    (ask, others): (Ask, &[Ask]),
) -> (Vec<Duration>, Vec<Duration>) {
    let (mut edits, mut times) = (Vec::new(), Vec::new());
    each_edit(session, function, rounds, |db, input, round, edited| {
        others.iter().for_each(|other| other(db, input));
        let start = Instant::now();
        ask(db, input);
        if round >= FIRST {
            edits.push(edited);
            times.push(start.elapsed());
        }
    });
    (edits, times)
}

pub(crate) fn flow_facts(db: &Database, input: FunctionInput) {
    black_box(queries::sync_dependence(db, input));
    black_box(queries::dom_tree(db, input));
}

pub(crate) fn divergence(db: &Database, input: FunctionInput) {
    black_box(queries::divergence(db, input));
}

pub(crate) fn everything(db: &Database, input: FunctionInput) {
    black_box(queries::cfg(db, input));
    black_box(queries::dom_tree(db, input));
    black_box(queries::postdom_tree(db, input));
    black_box(queries::cycles(db, input));
    black_box(queries::sync_dependence(db, input));
    black_box(queries::divergence(db, input));
}
