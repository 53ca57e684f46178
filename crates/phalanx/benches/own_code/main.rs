//! The cost of queries after edits of your own module:
//! `cargo bench -p phalanx --bench own_code -- FILE.ll ...`.
//!
//! The bench edits the largest function of each file, or `--function=NAME`, at random places. The
//! kinds of edits take turns, so that each meets the results of the others; `--edit=NAME` and
//! `--question=NAME` leave out all others. An edit is one transaction, and the previous result is
//! known; transaction and query are timed together.
//!
//! | edit | what happens |
//! |---|---|
//! | operand | a binary operation reads another value of its block |
//! | arithmetic | a binary operation is duplicated |
//! | load, store | a load or a store is duplicated |
//! | split | a block is split |
//! | if | a branch over small blocks becomes selections |
//!
//! | question | what is asked |
//! |---|---|
//! | divergence | `divergence` |
//! | promised | the facts that `docs/queries.md` calls promised |
//! | all | every fact of the function |
//! | check | `diagnostics` |
//!
//! ```console
//! $ cargo bench -p phalanx --bench own_code -- kernel.ll
//! kernel.ll: @reduce, 10705 instructions; each cell: median / 90th percentile, percent of scratch
//! question     scratch us        operand     arithmetic ...
//! divergence         2914      0.2 / 0.4      0.2 / 0.5 ...
//! ```
//!
//! *scratch* is the same query of the same function alone in a module, so that its callees are
//! unknown: the best of seven times. All times are wall-clock times, and most answers take less
//! than a busy machine takes the processor away for: run the bench with real-time priority there,
//! as `chrt -f 10` gives it, or trust medians only.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints and reads the files that it is given"
)]

#[path = "../every_fact/mod.rs"]
mod every_fact;

use std::hint::black_box;
use std::time::{Duration, Instant};

use every_fact::FACTS;
use phalanx::db::{Database, FunctionInput, TargetOverrides, queries};
use phalanx::ir::{
    BlockId, Body, BuildError, Function, InstBuilder as _, InstId, Opcode, Value,
    edit::Transaction, function::FunctionRef,
};
use phalanx::{FunctionId, Session};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

type Ask = fn(&Database, FunctionInput);

const QUESTIONS: [(&str, Ask); 4] = [
    ("divergence", |db, f| _ = black_box(queries::divergence(db, f))),
    ("promised", promised),
    ("all", |db, f| FACTS.iter().for_each(|(_, ask)| ask(db, f))),
    ("check", |db, f| _ = black_box(queries::diagnostics(db, f))),
];

fn promised(db: &Database, f: FunctionInput) {
    black_box(queries::dom_tree(db, f));
    black_box(queries::postdom_tree(db, f));
    black_box(queries::cycles(db, f));
    black_box(queries::sync_dependence(db, f));
    black_box(queries::private_memory(db, f));
    black_box(queries::divergence(db, f));
    black_box(queries::uniformity(db, f));
    black_box(queries::branch_divergence(db, f));
    black_box(queries::memory_kinds(db, f));
    black_box(queries::memory_ssa(db, f));
    black_box(queries::load_classes(db, f));
}

/// Kinds of edits.
#[derive(Clone, Copy)]
enum Kind {
    Operand,
    /// Duplicates an instruction with such an opcode.
    Twice(fn(Opcode) -> bool),
    Split,
    If,
}

const KINDS: [(&str, Kind); 6] = [
    ("operand", Kind::Operand),
    ("arithmetic", Kind::Twice(Opcode::is_binary)),
    ("load", Kind::Twice(|opcode| opcode == Opcode::Load)),
    ("store", Kind::Twice(|opcode| opcode == Opcode::Store)),
    ("split", Kind::Split),
    ("if", Kind::If),
];

/// Edits of each kind, and how many come before the first that is timed.
const EDITS: usize = 60;
const FIRST: usize = 4;

/// An edit at a place.
enum Edit {
    Set(InstId, Value),
    Clone(InstId),
    Split(InstId),
    If(If),
}

/// A branch that ends in `end` and leads to a block, at most over one block each way.
struct If {
    end: InstId,
    sides: [Option<BlockId>; 2],
    join: BlockId,
}

/// The most instructions of a side.
const SIDE: usize = 8;

impl If {
    /// The branch with this end, if it is one.
    fn at(code: FunctionRef<'_>, end: InstId) -> Option<Self> {
        let (body, flow) = (code.body, code.flow);
        let block = body.block_of(end)?;
        let &[yes, no] = flow.successors(block) else { return None };
        let side = |side: BlockId| {
            let &[next] = flow.successors(side) else { return None };
            let is_small = body.block_insts(side).take(SIDE + 2).count() <= SIDE + 1;
            let fits = flow.in_degree(side) == 1 && is_small && body.phis(side).next().is_none();
            (fits && next != side).then_some(next)
        };
        let (sides, join) = match (side(yes), side(no)) {
            (Some(a), Some(b)) if a == b && yes != no => ([Some(yes), Some(no)], a),
            (Some(a), _) if a == no => ([Some(yes), None], no),
            (_, Some(b)) if b == yes => ([None, Some(no)], yes),
            _ => return None,
        };
        let is_if = body.inst(end).opcode == Opcode::Br && join != block;
        (is_if && flow.entry() != Some(join)).then_some(Self { end, sides, join })
    }

    fn convert(&self, edit: &mut Transaction<'_>) -> Result<(), BuildError> {
        let Some(block) = edit.body().block_of(self.end) else { return Ok(()) };
        let condition = edit.body().operands(self.end)[0];
        for side in self.sides.into_iter().flatten() {
            let last = edit.body().terminator(side);
            let insts: Vec<InstId> = edit.body().block_insts(side).collect();
            for inst in insts.into_iter().filter(|inst| Some(*inst) != last) {
                edit.move_before(inst, self.end)?;
            }
        }
        let phis: Vec<InstId> = edit.body().phis(self.join).collect();
        let mut values = Vec::new();
        for &phi in &phis {
            let [a, b] = self.sides.map(|side| edit.phi_input(phi, side.unwrap_or(block)));
            let (Some(a), Some(b)) = (a, b) else { return Ok(()) };
            values.push(if a == b { a } else { edit.before(self.end).select(condition, a, b)? });
        }
        edit.replace_terminator(block).br(self.join)?;
        for (&phi, value) in phis.iter().zip(values) {
            match edit.phi_input(phi, block) {
                Some(_) => edit.set_phi_input(phi, value, block)?,
                None => edit.add_phi_input(phi, value, block)?,
            }
        }
        self.sides.into_iter().flatten().try_for_each(|side| edit.erase_block(side))
    }
}

impl Edit {
    fn apply(self, session: &mut Session, function: FunctionId) {
        let done: Result<(), BuildError> = session.edit(function, |edit| {
            edit.verifying(false);
            match self {
                Edit::Set(inst, value) => edit.set_operand(inst, 0, value),
                Edit::Clone(inst) => edit.after(inst).clone_of(inst).map(drop),
                Edit::Split(inst) => edit.split_before(inst, "").map(drop),
                Edit::If(branch) => branch.convert(edit),
            }
        });
        done.expect("values are above, and phis and terminators stay where they are");
    }
}

/// An edit of a kind; none if there is no place for one.
fn choose(code: FunctionRef<'_>, kind: Kind, rng: &mut SmallRng) -> Option<Edit> {
    let body = code.body;
    let count = body.id_count();
    let is_place = |inst: InstId, opcode: Opcode| match kind {
        Kind::Operand => opcode.is_binary() && other(body, inst).is_some(),
        Kind::Twice(is_such) => is_such(opcode),
        Kind::Split => !matches!(opcode, Opcode::Phi | Opcode::Alloca),
        Kind::If => opcode == Opcode::Br && If::at(code, inst).is_some(),
    };
    let ids: Vec<InstId> = body.all_ids().filter(|&inst| body.block_of(inst).is_some()).collect();
    let inst = (0..count.max(64)).find_map(|_| {
        let inst = ids[rng.random_range(0..ids.len())];
        is_place(inst, body.inst(inst).opcode).then_some(inst)
    })?;
    Some(match kind {
        Kind::Operand => Edit::Set(inst, other(body, inst)?),
        Kind::Twice(_) => Edit::Clone(inst),
        Kind::Split => Edit::Split(inst),
        Kind::If => Edit::If(If::at(code, inst)?),
    })
}

/// Another value for the first operand of an operation: the next one above with the same type.
fn other(body: &Body, inst: InstId) -> Option<Value> {
    let ty = body.inst(inst).ty;
    let mut above = std::iter::successors(body.prev(inst), |&at| body.prev(at)).take(64);
    let is_other = |at: &InstId| body.inst(*at).ty == ty && body.operands(inst)[0] != (*at).into();
    above.find(is_other).map(Value::from)
}

/// The question from scratch, in a module with nothing but the function: the best of a few times.
fn scratch(session: &Session, function: FunctionId, ask: Ask) -> Duration {
    let times = (0..7).map(|_| {
        let mut db = Database::new();
        let code = session.code(function);
        let module = function.input().module(session.database());
        let mut module = module.shell(session.database()).clone();
        module.functions.push(Function {
            header: code.header.clone(),
            flow: code.flow.clone(),
            body: code.body.clone(),
            extras: code.extras.clone(),
            use_list_orders: Vec::new(),
        });
        let module = db.load(module, None, TargetOverrides::default());
        let input = module.functions(&db)[0].input;
        let start = Instant::now();
        ask(&db, input);
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

/// A module, and the function with that name, or the largest one.
fn read(text: &[u8], name: Option<&str>) -> (Session, FunctionId) {
    let mut session = Session::new();
    let module = session.read(text).unwrap_or_else(|error| panic!("{error}"));
    let size = |function: &FunctionId| session.code(*function).body.id_count();
    let function = match name {
        Some(name) => session.function(module, name),
        None => session.functions(module).max_by_key(size),
    };
    let function = function.expect("there is such a function, and it has a body");
    (session, function)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let option = |prefix| arguments.iter().find_map(|a| a.strip_prefix(prefix));
    let name = option("--function=");
    let (only_edit, only_question) = (option("--edit="), option("--question="));
    let files: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    if files.is_empty() {
        println!("own_code: give it files of LLVM IR, as in `-- kernel.ll`");
    }
    for file in files {
        let text = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        for (at, (question, ask)) in QUESTIONS.into_iter().enumerate() {
            if only_question.is_some_and(|only| only != question) {
                continue;
            }
            let (mut session, function) = read(&text, name);
            let scratch = scratch(&session, function, ask);
            if at == 0 || only_question.is_some() {
                let insts = session.code(function).body.id_count();
                println!(
                    "{file}: @{}, {insts} instructions; each cell: median / 90th percentile, \
                     percent of scratch",
                    session.name(function)
                );
                let kinds = KINDS.map(|(kind, _)| format!("{kind:>15}")).concat();
                println!("{:<12}{:>11}{kinds}", "question", "scratch us");
            }
            let cells = after_edits(&mut session, function, ask, only_edit)
                .map(|times| cell(times, scratch));
            println!("{question:<12}{:>11.0}{}", micros(scratch), cells.concat());
        }
    }
}

/// Times of edits of each kind, with the question.
fn after_edits(
    session: &mut Session,
    function: FunctionId,
    ask: Ask,
    only: Option<&str>,
) -> [Vec<Duration>; KINDS.len()] {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut times: [Vec<Duration>; KINDS.len()] = Default::default();
    for round in 0..EDITS + FIRST {
        for ((name, kind), times) in KINDS.iter().zip(&mut times) {
            if only.is_some_and(|only| only != *name) {
                continue;
            }
            ask(session.database(), function.input());
            let Some(edit) = choose(session.code(function), *kind, &mut rng) else { continue };
            let start = Instant::now();
            edit.apply(session, function);
            ask(session.database(), function.input());
            if round >= FIRST {
                times.push(start.elapsed());
            }
        }
    }
    times
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn cell(mut times: Vec<Duration>, scratch: Duration) -> String {
    if times.is_empty() {
        return format!("{:>15}", "-");
    }
    times.sort_unstable();
    let percent = |n: usize| 100.0 * micros(times[(times.len() - 1) * n / 100]) / micros(scratch);
    let both = format!("{:.1} / {:.1}", percent(50), percent(90));
    format!("{both:>15}")
}
