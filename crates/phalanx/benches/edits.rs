//! What an answer costs after an edit, through the database: `cargo bench -p phalanx --bench edits`.
//!
//! The function is made of random kernels in a row (`phalanx_testing::inlined`). Each edit is one transaction; timed is the transaction
//! and the question together. Beside it, from scratch: lowering and solving the same function with warm flow facts.
//!
//! | table | edit | question |
//! |---|---|---|
//! | operand | one operand reads another value | `divergence` |
//! | llvm | the same | `uniformity`, by LLVM's rules |
//! | summary | the same, in a function that returns what it has computed last | `summary` |
//! | assumed | the same, in a kernel with loads and barriers | `assumed_divergence` of race-free programs with barriers |
//! | classes | the same | `load_classes` |
//! | kinds | one pointer is made from another one, in a function full of pointers | `memory_kinds` |
//! | kept | one operand of an integer reads another value, in a function full of pointers | the facts about memory, each by itself; users of a value in `data_flow` |
//! | | as of *operand*, where a branch comes to depend on something else | `control_divergence` |
//! | access | as `assumed` | `memory_accesses` |
//! | split | one block is split | all flow facts and `divergence` |
//! | module | one operand in one of 10,000 functions | divergent branches of the module |
//! | calls | the same, of kernels that call 100 functions, which call one of ten | the same |
//! | memory | a million rounds of an edit and the question | `divergence` |
//! | overhead | none: cold, through the database and by calling the analyses | all flow facts and `divergence` |
//!
//! *times*: how many times the median is in the time from scratch; of a split, the share of it. *opt-22*: how many times it is in what LLVM's
//! analyses take by LLVM's own timers, where it is installed: uniformity with cycles and dominators kept, or all four.
//!
//! Of *assumed*, *classes*, *access* and control divergence the question alone is timed: what it is found from was asked before, from scratch too where it is not repaired.
//!
//! Arguments are names of tables; `--quick` leaves out the largest sizes.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints and asks the system"
)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use phalanx::{
    FunctionId, Session,
    analysis::{
        data_flow::Entity,
        divergence::{Flow, Rules, solve},
        launch::launch_facts,
        lower::{self, Code, Numbering, Surroundings},
        memory::{PrivateMemory, TypeLayout},
        stable::Assumptions,
        summary::NoCallFacts,
        variance::BarrierModel,
    },
    db::{Database, FunctionInput, TargetOverrides, queries},
    graph::{Cycles, DomTree, Node, PostDomTree, sync::SyncDependence},
    ir::{
        BlockId, BuildError, Function, GlobalName, InstData, InstId, Module, Opcode, Type, Value,
    },
    target::Target,
};
use phalanx_testing::{
    abstract_program::{DECLARATIONS, Operation},
    inlined::inlined,
    llvm_tools,
    opt_timers::recomputation,
    pointers::{Through, pointers},
};
use rand::{Rng, SeedableRng, rngs::SmallRng};

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Median, 90th and 99th percentile.
fn percentiles(times: &mut [Duration]) -> [f64; 3] {
    times.sort_unstable();
    [500, 900, 990].map(|n| us(times[(times.len() - 1) * n / 1000]))
}

fn text(size: usize) -> String {
    let program = inlined(size).to_llvm("f");
    format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}{program}")
}

const UNIFORMITY: (&str, &str) = ("uniformity", "UniformityInfoAnalysis");

/// What `opt-22` takes to compute the analyses of such a function anew, as it does after every edit.
fn opt(size: usize, kept: &[&str], analyses: &[(&str, &str)]) -> Option<Duration> {
    let opt = llvm_tools::require("opt")?;
    let times = recomputation(&opt, text(size).as_bytes(), kept, analyses, 5);
    Some(times[1..].iter().sum())
}

/// How many times the median is in what LLVM takes.
fn against(opt: Option<Duration>, median: f64) -> String {
    opt.map_or("-".to_owned(), |opt| format!("{:.0}", us(opt) / median))
}

fn giant(size: usize) -> (Session, FunctionId) {
    let text = text(size);
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f").expect("it is called @f");
    (session, function)
}

/// What is asked of a function.
type Ask = fn(&Database, FunctionInput);

/// An operand that can read other values: those of its block further up.
struct Place {
    inst: InstId,
    index: u32,
    others: Vec<Value>,
}

fn is_sum(data: &InstData) -> bool {
    data.opcode.is_binary() && data.ty == Type::I32
}

/// First operands of the instructions that are wanted.
fn places(session: &Session, function: FunctionId, is_wanted: fn(&InstData) -> bool) -> Vec<Place> {
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
                found.push(Place { inst, index: 0, others });
            }
            above.push(inst.into());
        }
    }
    found
}

/// From scratch, as often as there is patience, in a database of its own in which `others` were asked before.
fn scratch(session: &Session, function: FunctionId, ask: Ask, others: &[Ask]) -> Duration {
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

fn flow_facts(db: &Database, input: FunctionInput) {
    black_box(queries::sync_dependence(db, input));
    black_box(queries::dom_tree(db, input));
}

fn divergence(db: &Database, input: FunctionInput) {
    black_box(queries::divergence(db, input));
}

fn everything(db: &Database, input: FunctionInput) {
    black_box(queries::cfg(db, input));
    black_box(queries::dom_tree(db, input));
    black_box(queries::postdom_tree(db, input));
    black_box(queries::cycles(db, input));
    black_box(queries::sync_dependence(db, input));
    black_box(queries::divergence(db, input));
}

fn uniformity(db: &Database, input: FunctionInput) {
    black_box(queries::uniformity(db, input));
}

/// Everything that can be.
const ASSUMED: Assumptions = Assumptions { barriers: Some(BarrierModel::Lenient), race_free: true };

fn assumed(db: &Database, input: FunctionInput) {
    black_box(queries::assumed_divergence(db, input, ASSUMED));
}

/// What classes of loads are found from besides, which has costs of its own.
fn others(db: &Database, input: FunctionInput) {
    black_box(queries::memory_kinds(db, input));
    black_box(queries::private_memory(db, input));
    black_box(queries::pointer_flow(db, input));
}

fn classes(db: &Database, input: FunctionInput) {
    black_box(queries::load_classes(db, input));
}

/// A kernel of so many instructions that works in rounds: loads, sums of what was loaded, a barrier at some, and a store that is guarded by a
/// comparison.
fn with_barriers(size: usize) -> (Session, FunctionId) {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare void @llvm.nvvm.barrier0()\n\
         define ptx_kernel void @f(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, i32 %n) {\n\
         entry:\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  br label %a0\n",
    );
    let rounds = size / 15;
    for at in 0..rounds {
        let index = ["%n", "%tid"][usize::from(at % 4 == 3)];
        text.push_str(&format!(
            "a{at}:\n  %i{at} = add i32 {index}, {at}\n  \
             %g{at} = getelementptr i32, ptr addrspace(1) %p, i32 %i{at}\n  \
             %l{at} = load i32, ptr addrspace(1) %g{at}\n  %s{at} = add i32 %l{at}, %n\n  \
             %t{at} = mul i32 %s{at}, %i{at}\n  %u{at} = xor i32 %t{at}, %s{at}\n  \
             %v{at} = sub i32 %u{at}, %i{at}\n  %c{at} = icmp slt i32 %v{at}, %n\n  \
             br i1 %c{at}, label %b{at}, label %e{at}\nb{at}:\n"
        ));
        if at % 64 == 63 {
            text.push_str("  call void @llvm.nvvm.barrier0()\n");
        }
        text.push_str(&format!(
            "  %w{at} = getelementptr i32, ptr addrspace(1) %q, i32 %v{at}\n  \
             store i32 %u{at}, ptr addrspace(1) %w{at}\n  br label %e{at}\n\
             e{at}:\n  %x{at} = add i32 %v{at}, 1\n  br label %a{}\n",
            at + 1
        ));
    }
    text.push_str(&format!("a{rounds}:\n  call void @llvm.nvvm.barrier0()\n  ret void\n}}\n"));
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("it is well-formed");
    let function = session.function(module, "f").expect("it is called @f");
    (session, function)
}

/// As [`operand`], of a kernel with barriers; `others` are asked before and not timed.
fn after_operand(name: &str, size: usize, ask: fn(&Database, FunctionInput), others: &[Ask]) {
    let (mut session, function) = with_barriers(size);
    let scratch = scratch(&session, function, ask, others);
    let places = places(&session, function, is_sum);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut times = Vec::new();
    let mut edits = Vec::new();
    for round in 0..400 {
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
        let edited = start.elapsed();
        others.iter().for_each(|other| other(session.database(), function.input()));
        let start = Instant::now();
        ask(session.database(), function.input());
        if round >= 10 {
            edits.push(edited);
            times.push(start.elapsed());
        }
    }
    let (db, input) = (session.database(), function.input());
    let found = queries::assumed_divergence(db, input, ASSUMED);
    assert!(*found == queries::assumed_divergence_from_scratch(db, input, ASSUMED));
    let [median, p90, p99] = percentiles(&mut times);
    let [edited, ..] = percentiles(&mut edits);
    let ways = queries::assumed_repairs(db, input);
    println!(
        "{name:<7} {:>10} {:>12.0} {edited:>8.1} {median:>8.1} {p90:>8.1} {p99:>8.1} {:>10.0} {:>8} {:>9} {:>9}",
        session.code(function).body.id_count(),
        us(scratch),
        us(scratch) / median,
        "-",
        ways.repaired,
        ways.solved + ways.kept + ways.rebuilt,
    );
}

/// Three thousand edits of an operand, each with the question: times of the edits, and of both.
fn after_edits(
    session: &mut Session,
    function: FunctionId,
    places: &[Place],
    ask: Ask,
) -> (Vec<Duration>, Vec<Duration>) {
    let mut rng = SmallRng::seed_from_u64(1);
    let (mut edits, mut times) = (Vec::new(), Vec::new());
    for round in 0..3000 {
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
        let edited = start.elapsed();
        ask(session.database(), function.input());
        // The first answers decide whether it is worth keeping something.
        if round >= 10 {
            edits.push(edited);
            times.push(start.elapsed());
        }
    }
    (edits, times)
}

fn operand(name: &str, size: usize, ask: fn(&Database, FunctionInput)) {
    let (mut session, function) = giant(size);
    let scratch = scratch(&session, function, ask, &[flow_facts]);
    let places = places(&session, function, is_sum);
    let (mut edits, mut times) = after_edits(&mut session, function, &places, ask);
    let [edit, ..] = percentiles(&mut edits);
    let [median, p90, p99] = percentiles(&mut times);
    let ways = queries::repairs(session.database(), function.input());
    println!(
        "{name:<8}{:>10} {:>12.0} {edit:>8.2} {median:>8.2} {p90:>8.2} {p99:>8.1} {:>10.0} {:>8} {:>9} {:>9}",
        session.code(function).body.id_count(),
        us(scratch),
        us(scratch) / median,
        against(opt(size, &["domtree", "cycles"], &[UNIFORMITY]), median),
        ways.repaired,
        ways.solved + ways.kept + ways.rebuilt,
    );
}

fn summarized(db: &Database, input: FunctionInput) {
    black_box(queries::summary(db, input));
}

/// The giant as a function to be called, which returns what was computed last.
fn summary(size: usize) {
    let program = inlined(size);
    // Some blocks above the last one, all ways lead through the first block of the last kernel.
    let dom = DomTree::new(&program.cfg());
    let above =
        std::iter::successors(Some(Node::new(program.blocks.len() - 1)), |&at| dom.idom(at));
    let computed = |at: Node| {
        let operations = program.blocks[at.index()].operations.iter();
        let numbers = operations.filter(|(_, what)| !matches!(what, Operation::Test(_)));
        numbers.map(|(value, _)| *value).next_back()
    };
    let last = above.into_iter().find_map(computed).expect("something is computed");
    let text = text(size)
        .replace("define amdgpu_kernel void", "define i32")
        .replace("ret void", &format!("ret i32 %v{last}"));
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is well-formed");
    let function = session.function(module, "f").expect("it is called @f");
    let scratch = scratch(&session, function, summarized, &[flow_facts]);
    let places = places(&session, function, is_sum);
    let (mut edits, mut times) = after_edits(&mut session, function, &places, summarized);
    let [edit, ..] = percentiles(&mut edits);
    let [median, p90, p99] = percentiles(&mut times);
    let ways = queries::summary_repairs(session.database(), function.input());
    println!(
        "summary {:>10} {:>12.0} {edit:>8.2} {median:>8.2} {p90:>8.2} {p99:>8.1} {:>10.0} {:>8} {:>9} {:>9}",
        session.code(function).body.id_count(),
        us(scratch),
        us(scratch) / median,
        "-",
        ways.repaired,
        ways.solved + ways.kept + ways.rebuilt,
    );
}

fn memory_kinds(db: &Database, input: FunctionInput) {
    black_box(queries::memory_kinds(db, input));
}

fn kinds(size: usize) {
    let mut session = Session::new();
    let module =
        session.read(pointers(size, Through::Loops).as_bytes()).expect("the text is well-formed");
    let function = session.function(module, "f").expect("it has one function");
    memory_kinds(session.database(), function.input());
    let scratch = scratch(&session, function, memory_kinds, &[flow_facts]);
    let places = places(&session, function, |data| {
        matches!(data.opcode, Opcode::GetElementPtr | Opcode::Phi)
    });
    let (mut edits, mut times) = after_edits(&mut session, function, &places, memory_kinds);
    let [edit, ..] = percentiles(&mut edits);
    let [median, p90, p99] = percentiles(&mut times);
    let ways = queries::kind_repairs(session.database(), function.input());
    println!(
        "kinds   {:>10} {:>12.0} {edit:>8.2} {median:>8.2} {p90:>8.2} {p99:>8.1} {:>10.0} {:>8} {:>9} {:>9}",
        session.code(function).body.id_count(),
        us(scratch),
        us(scratch) / median,
        "-",
        ways.repaired,
        ways.solved,
    );
}

fn private_memory(db: &Database, input: FunctionInput) {
    black_box(queries::private_memory(db, input));
}

fn memory_ssa(db: &Database, input: FunctionInput) {
    black_box(queries::memory_ssa(db, input));
}

fn classic_memory_ssa(db: &Database, input: FunctionInput) {
    black_box(queries::classic_memory_ssa(db, input));
}

fn pointer_flow(db: &Database, input: FunctionInput) {
    black_box(queries::pointer_flow(db, input));
}

/// What the last instruction influences: the users of one value, and the HSSA form turned round.
fn data_flow(db: &Database, input: FunctionInput) {
    let flow = queries::data_flow(db, input).expect("it has a body");
    let last =
        Numbering::new(input.header(db)).inst(input.body(db).all_ids().last().expect("it returns"));
    black_box(flow.users(Entity::Value(last)).count());
}

type Pick = fn(queries::MemoryRepairs) -> queries::Ways;

/// Facts about memory, and how they, or what they follow from, were found.
const OF_MEMORY: [(&str, Ask, Pick); 5] = [
    ("private", private_memory, |ways| ways.private),
    ("hssa", memory_ssa, |ways| ways.hssa),
    ("classic", classic_memory_ssa, |ways| ways.classic),
    ("pointers", pointer_flow, |ways| ways.pointers),
    ("flow", data_flow, |ways| ways.hssa),
];

/// Pointers, and a few sums between them.
fn with_sums(size: usize) -> String {
    let mut text = String::new();
    for line in pointers(size, Through::Loops).lines() {
        text.push_str(line);
        text.push('\n');
        if let Some(at) = line.strip_prefix("left").and_then(|line| line.strip_suffix(':')) {
            text.push_str(&format!(
                "  %x{at} = add i32 %n, 1\n  %y{at} = add i32 %x{at}, %n\n  \
                 %z{at} = mul i32 %y{at}, %x{at}\n"
            ));
        }
    }
    text
}

fn kept(size: usize, (name, ask, pick): (&str, Ask, Pick)) {
    let mut session = Session::new();
    let module = session.read(with_sums(size).as_bytes()).expect("the text is well-formed");
    let function = session.function(module, "f").expect("it has one function");
    ask(session.database(), function.input());
    let scratch = scratch(&session, function, ask, &[flow_facts]);
    let places = places(&session, function, is_sum);
    let (mut edits, mut times) = after_edits(&mut session, function, &places, ask);
    let [edit, ..] = percentiles(&mut edits);
    let [median, p90, p99] = percentiles(&mut times);
    let ways = pick(queries::memory_repairs(session.database(), function.input()));
    println!(
        "{name:<8}{:>10} {:>12.0} {edit:>8.2} {median:>8.2} {p90:>8.2} {p99:>8.1} {:>10.0} {:>8} {:>9} {:>9}",
        session.code(function).body.id_count(),
        us(scratch),
        us(scratch) / median,
        "-",
        ways.kept,
        ways.solved,
    );
}

fn memory_accesses(db: &Database, input: FunctionInput) {
    black_box(queries::memory_accesses(db, input));
}

/// What lanes touch, after an edit of a sum, from divergence as it is then.
fn access(size: usize) {
    let (mut session, function) = with_barriers(size);
    let scratch = scratch(&session, function, memory_accesses, &[flow_facts, divergence]);
    let places = places(&session, function, is_sum);
    let mut rng = SmallRng::seed_from_u64(1);
    let (mut edits, mut times) = (Vec::new(), Vec::new());
    for round in 0..1000 {
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
        let edited = start.elapsed();
        divergence(session.database(), function.input());
        let start = Instant::now();
        memory_accesses(session.database(), function.input());
        if round >= 10 {
            edits.push(edited);
            times.push(start.elapsed());
        }
    }
    let [edit, ..] = percentiles(&mut edits);
    let [median, p90, p99] = percentiles(&mut times);
    let ways = queries::access_repairs(session.database(), function.input());
    println!(
        "access  {:>10} {:>12.0} {edit:>8.2} {median:>8.2} {p90:>8.2} {p99:>8.1} {:>10.0} {:>8} {:>9} {:>9}",
        session.code(function).body.id_count(),
        us(scratch),
        us(scratch) / median,
        "-",
        ways.kept + ways.repaired,
        ways.solved,
    );
}

fn control_divergence(db: &Database, input: FunctionInput) {
    black_box(queries::control_divergence(db, input));
}

/// Edits after which some branch depends on something else; the question alone is timed.
fn control(size: usize) {
    let (mut session, function) = giant(size);
    let scratch = scratch(&session, function, control_divergence, &[flow_facts, divergence]);
    let places = places(&session, function, is_sum);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut times = Vec::new();
    control_divergence(session.database(), function.input());
    for _ in 0..6000 {
        let place = &places[rng.random_range(0..places.len())];
        let other = place.others[rng.random_range(0..place.others.len())];
        let done: Result<(), BuildError> = session.edit(function, |edit| {
            edit.verifying(false).set_operand(place.inst, place.index, other)
        });
        done.expect("the value is there");
        let (db, input) = (session.database(), function.input());
        divergence(db, input);
        let before = queries::control_repairs(db, input);
        let start = Instant::now();
        control_divergence(db, input);
        let time = start.elapsed();
        if queries::control_repairs(db, input) != before {
            times.push(time);
        }
    }
    // The first one counts the paths.
    let times = times.get_mut(1..).filter(|times| !times.is_empty());
    let [median, p90, p99] = percentiles(times.expect("some branches differ"));
    let ways = queries::control_repairs(session.database(), function.input());
    println!(
        "control {:>10} {:>12.0} {:>8} {median:>8.2} {p90:>8.2} {p99:>8.1} {:>10.0} {:>8} {:>9} {:>9}",
        session.code(function).body.id_count(),
        us(scratch),
        "",
        us(scratch) / median,
        "-",
        ways.repaired,
        ways.solved,
    );
}

fn split(size: usize) {
    let all = [
        ("domtree", "DominatorTreeAnalysis"),
        ("postdomtree", "PostDominatorTreeAnalysis"),
        ("cycles", "CycleAnalysis"),
        UNIFORMITY,
    ];
    let (mut session, function) = giant(size);
    let scratch = scratch(&session, function, everything, &[]);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut times = Vec::new();
    for round in 0..40 {
        let order: Vec<BlockId> = session.code(function).flow.order().to_vec();
        let block = order[rng.random_range(0..order.len())];
        let at = session.code(function).body.last(block).expect("blocks are not empty");
        let start = Instant::now();
        let done: Result<BlockId, BuildError> =
            session.edit(function, |edit| edit.verifying(false).split_before(at, ""));
        done.expect("a block can be split before its terminator");
        everything(session.database(), function.input());
        if round >= 5 {
            times.push(start.elapsed());
        }
    }
    let [median, p90, p99] = percentiles(&mut times);
    println!(
        "split   {:>10} {:>12.0} {:>8} {median:>8.0} {p90:>8.0} {p99:>8.0} {:>9.0}% {:>8}",
        session.code(function).body.id_count(),
        us(scratch),
        "",
        100.0 * median / us(scratch),
        against(opt(size, &[], &all), median),
    );
}

fn module(count: usize) {
    let program = inlined(60);
    let mut text = format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}");
    for number in 0..count {
        text.push_str(&program.to_llvm(&format!("f{number}")));
    }
    edits_in_module("module", &text, count);
}

/// Kernels that call functions, which call functions.
fn calls(count: usize) {
    let mut text = format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}");
    let body = "  %s = add i32 %a, 1\n  %t = add i32 %s, %b\n  %u = add i32 %t, %s\n";
    for number in 0..count {
        let callee = number % 100;
        text.push_str(&format!(
            "define amdgpu_kernel void @k{number}(i32 %a, i32 %b) {{\n{body}  \
             %r = call i32 @mid{callee}(i32 %u, i32 %a)\n  \
             %c = icmp eq i32 %r, 0\n  br i1 %c, label %x, label %y\nx:\n  br label %y\ny:\n  ret void\n}}\n"
        ));
    }
    for number in 0..100 {
        let callee = number % 10;
        text.push_str(&format!(
            "define internal i32 @mid{number}(i32 %a, i32 %b) {{\n{body}  \
             %r = call i32 @low{callee}(i32 %u, i32 %a)\n  ret i32 %r\n}}\n"
        ));
    }
    for number in 0..10 {
        text.push_str(&format!(
            "define internal i32 @low{number}(i32 %a, i32 %b) {{\n{body}  ret i32 %u\n}}\n"
        ));
    }
    edits_in_module("calls", &text, count);
}

/// Edits of the first 100 functions.
fn edits_in_module(table: &str, text: &str, count: usize) {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let functions: Vec<FunctionId> = session.functions(module).collect();
    let ask = |db: &Database| black_box(queries::module_divergent_branches(db, module.input()));
    let start = Instant::now();
    ask(session.database());
    let first = start.elapsed();
    let mut rng = SmallRng::seed_from_u64(1);
    let mut times = Vec::new();
    for round in 0..800 {
        // Each once first: an edited function has low durability from then on, which all others learn.
        let edited = functions.len().min(100);
        let at = if round < edited { round } else { rng.random_range(0..edited) };
        let function = functions[at];
        let places = places(&session, function, is_sum);
        let body = session.code(function).body;
        let changes: Vec<(&Place, Value)> = places
            .iter()
            .flat_map(|place| place.others.iter().map(move |&other| (place, other)))
            .filter(|(place, other)| body.operands(place.inst)[0] != *other)
            .collect();
        let (place, other) = changes[rng.random_range(0..changes.len())];
        let start = Instant::now();
        let done: Result<(), BuildError> = session.edit(function, |edit| {
            edit.verifying(false).set_operand(place.inst, place.index, other)
        });
        done.expect("the value is there");
        ask(session.database());
        if round >= 300 {
            times.push(start.elapsed());
        }
    }
    let [median, p90, p99] = percentiles(&mut times);
    println!(
        "{table:<7} {count:>10} {:>12.0} {:>8} {median:>8.1} {p90:>8.1} {p99:>8.1} {:>10.0}",
        us(first),
        "",
        us(first) / median
    );
}

/// Cold: through the database, and by calling the analyses in a row.
/// How many equal functions a module of the overhead table has: what a database pays once, at the first query of a kind, is shared by them.
const COPIES: usize = 16;

/// All facts of the functions of a module from cold, through a new database and by calling the analyses. Both start from copies of the
/// code made just before, find target, launch facts and layout themselves, and keep what they find. The times are those of one function.
fn overhead(size: usize) {
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
            let around = Surroundings {
                target: &target,
                layout: &layout,
                launch: &launch,
                lockstep: target.is_lockstep(cpu),
                scratch_is_global: target.scratch_is_global(cpu),
                callee: &|_| None,
                calls: &NoCallFacts,
                node_string: &|_| None,
            };
            let code = Code { context, header, flow: &function.flow, body: &function.body };
            let memory = PrivateMemory::new(code, around, &cfg, &dom);
            let table = lower::full_with(code, around, &memory, 0);
            let flow = Flow { cfg: &cfg, dom: &dom, cycles: &cycles, sync: &sync };
            let divergence = solve(flow, &table, Rules::Precise);
            (cfg, dom, postdom, cycles, sync, table, divergence)
        });
        functions.collect::<Vec<_>>()
    };
    let (mut by_query, mut by_call) = (Vec::new(), Vec::new());
    for round in 0..400 {
        let mut db = Database::new();
        let loaded = db.load(module(), None, TargetOverrides::default());
        let inputs: Vec<_> = loaded.functions(&db).iter().map(|entry| entry.input).collect();
        let module = module();
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
        // Who comes second finds the caches warmer.
        let _kept = match round % 2 {
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
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn memory(rounds: usize) {
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

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_quick = arguments.iter().any(|a| a == "--quick");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|n| *n == name);
    println!(
        "table        insts   scratch us  edit us   median      p90      p99      times   opt-22  repaired    solved"
    );
    let sizes: &[usize] = if is_quick { &[750, 7500] } else { &[750, 7500, 75_000, 750_000] };
    if is_wanted("operand") {
        sizes.iter().for_each(|&size| operand("operand", size, divergence));
    }
    if is_wanted("llvm") {
        sizes.iter().for_each(|&size| operand("llvm", size, uniformity));
    }
    if is_wanted("summary") {
        sizes.iter().for_each(|&size| summary(size));
    }
    if is_wanted("assumed") {
        let below: &[Ask] = &[divergence, others, classes];
        sizes.iter().for_each(|&size| after_operand("assumed", size, assumed, below));
    }
    if is_wanted("classes") {
        let below: &[Ask] = &[divergence, others];
        sizes.iter().for_each(|&size| after_operand("classes", size, classes, below));
    }
    if is_wanted("kinds") {
        sizes.iter().for_each(|&size| kinds(size));
    }
    if is_wanted("kept") {
        for of in OF_MEMORY {
            sizes.iter().for_each(|&size| kept(size, of));
        }
        sizes.iter().for_each(|&size| control(size));
    }
    if is_wanted("access") {
        sizes.iter().for_each(|&size| access(size));
    }
    if is_wanted("split") {
        sizes.iter().filter(|&&size| size < 750_000).for_each(|&size| split(size));
    }
    if is_wanted("module") {
        module(if is_quick { 1000 } else { 10_000 });
    }
    if is_wanted("calls") {
        calls(if is_quick { 1000 } else { 10_000 });
    }
    if is_wanted("overhead") {
        [300, 1000, 3000].into_iter().for_each(overhead);
    }
    if is_wanted("memory") {
        memory(if is_quick { 100_000 } else { 1_000_000 });
    }
}
