//! Random transactions on random functions: checks the edited code, and its facts after the edit.
//!
//! After each commit
//! - the text of the module parses, satisfies the verifier and prints the same again;
//! - def-use lists equal those built from scratch, and the number of edges into each block agrees
//!   with the successors;
//! - every fact equals that of a new database for the same function.
//!
//! After a transaction that is undone, because it was aborted or its commit was refused, everything
//! is as it was.
//!
//! | what is edited | where |
//! |---|---|
//! | operands, opcodes, predicates, flags; instructions that are added, removed, moved, replaced, copied | `instructions` |
//! | attachments, alignments, attributes and callees of calls, bundles, phi inputs, calls that become invokes | `seldom` |
//! | blocks and edges: splits, merges, other targets, other terminators, copies of regions | `flow` |
//! | headers, variables, launches, functions that are added and removed, text that is read again, unchanged or in an earlier version | `around` |
//!
//! In [`run_in_company`] other threads ask queries meanwhile, and the next edit cancels them.

use std::{fmt, thread::JoinHandle};

use phalanx::{
    FunctionId, ModuleId, Session,
    db::queries,
    ir::{BuildError, Type, Value},
};
use phalanx_testing::generate::{Options, program_from};
use phalanx_testing::recursive;
use rand::{Rng, RngCore, SeedableRng, rngs::SmallRng, seq::IndexedRandom};

use crate::{
    Entropy,
    oracle::programs::{Kind, runnable, runnable_with_large},
};

mod around;
pub(crate) mod facts;
mod flow;
mod instructions;
mod seldom;

use around::Around;
pub use around::What;
pub(crate) use facts::facts_are_right;
use facts::{ask, ask_elsewhere, ask_some, check};
pub(crate) use instructions::{Graph, instructions};
use seldom::with_seldom;

/// Functions that kernels call, if they exist: some return something, some write through pointers
/// that they are passed.
const CALLED: [&str; 6] = ["h0", "h1", "next", "o.some", "o.bump", "o.nested"];

/// How many transactions a function goes through.
pub const ROUNDS: usize = 24;

/// Results of the transactions.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Edits that were done, in transactions that were kept.
    pub edits: usize,
    /// Transactions that changed something and were kept.
    pub committed: usize,
    /// Transactions that changed blocks or edges.
    pub flow: usize,
    /// Edits outside of function bodies, in the order of [`What::ALL`].
    pub around: [usize; What::ALL.len()],
    /// Queries of other threads that an edit cancelled.
    pub stopped: usize,
    /// Transactions that the commit refused.
    pub refused: usize,
    /// Transactions that were aborted.
    pub aborted: usize,
    /// How the facts about memory of large functions were computed.
    pub memory: queries::MemoryRepairs,
    /// How the accesses of large functions were computed.
    pub accesses: queries::Ways,
    /// Results under assumptions that were updated incrementally, of all large functions.
    pub assumed: u64,
    /// How the divergence of large functions was computed.
    pub divergence: queries::Repairs,
    /// How results in summaries of large functions were computed.
    pub summaries: queries::Repairs,
    /// How results were computed for which large functions retain state.
    pub answers: queries::KeptAnswers,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.edits += other.edits;
        self.committed += other.committed;
        self.flow += other.flow;
        for (all, more) in self.around.iter_mut().zip(other.around) {
            *all += more;
        }
        self.stopped += other.stopped;
        self.refused += other.refused;
        self.aborted += other.aborted;
        self.memory.merge(other.memory);
        self.accesses.merge(other.accesses);
        self.assumed += other.assumed;
        self.divergence.merge(other.divergence);
        self.summaries.merge(other.summaries);
        self.answers.merge(other.answers);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "edits                   {:>12}", self.edits)?;
        writeln!(f, "transactions kept       {:>12}", self.committed)?;
        writeln!(f, "  that changed the flow {:>12}", self.flow)?;
        for (what, count) in What::ALL.iter().zip(self.around) {
            writeln!(f, "  {:<21} {count:>12}", format!("{what:?}"))?;
        }
        writeln!(f, "asking and stopped      {:>12}", self.stopped)?;
        writeln!(f, "refused                 {:>12}", self.refused)?;
        writeln!(f, "aborted                 {:>12}", self.aborted)?;
        writeln!(f, "repaired, assumed       {:>12}", self.assumed)?;
        for (name, found) in [("divergence", self.divergence), ("summaries", self.summaries)] {
            let anew = found.solved + found.kept + found.rebuilt;
            writeln!(f, "{name:<10} repaired     {:>12}, {anew} anew", found.repaired)?;
        }
        let queries::Ways { kept, repaired, solved, .. } = self.accesses;
        write!(
            f,
            "accesses kept           {kept:>12}, {repaired} repaired, {solved} from scratch"
        )?;
        for (name, answers) in self.answers.by_query() {
            let queries::Ways { kept, repaired, solved, .. } = answers;
            write!(f, "\n{name:<18} kept {kept:>12}, {repaired} repaired, {solved} from scratch")?;
        }
        for (name, ways) in [
            ("private_memory", self.memory.private),
            ("address_memory", self.memory.addresses),
            ("memory_ssa", self.memory.hssa),
            ("classic_memory_ssa", self.memory.classic),
            ("pointer_flow", self.memory.pointers),
        ] {
            let queries::Ways { kept, repaired, solved, .. } = ways;
            write!(f, "\n{name:<18} kept {kept:>12}, {repaired} repaired, {solved} from scratch")?;
        }
        Ok(())
    }
}

/// Edits the function that the bytes encode by the transactions that they encode.
pub fn edits(data: &[u8]) {
    let mut choices = Entropy::new(data);
    let blocks = if choices.random_bool(0.5) { 12 } else { 70 };
    run(&mut choices, blocks);
}

/// Edits a random function: usually a small one; otherwise one that is large enough for incremental
/// updates, large ones that a small one calls, or recursive functions.
pub fn run_random(seed: u64) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(seed);
    match seed % 8 {
        0 => run(rng, 110),
        1 | 2 => run(rng, 50),
        3 => run_called(rng, 250),
        4 => run_recursive(rng),
        _ => run(rng, 12),
    }
}

/// As [`run_random`], while other threads ask queries.
pub fn run_in_company(seed: u64) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let blocks = [12, 50, 250][(seed % 3) as usize];
    let text = random_text(rng, blocks);
    run_on(rng, &text, (0.3, &CALLED), true)
}

/// Edits a random function of at most so many blocks.
pub fn run(rng: &mut dyn RngCore, blocks: usize) -> Tally {
    let text = random_text(rng, blocks);
    run_on(rng, &text, (0.3, &CALLED), false)
}

fn random_text(rng: &mut dyn RngCore, blocks: usize) -> String {
    let program = program_from(rng, Options { blocks, ..Options::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = runnable(&program, kind, rng.next_u64());
    with_seldom(&text, rng)
}

/// Edits functions of at most so many blocks that a small kernel calls.
pub fn run_called(rng: &mut dyn RngCore, blocks: usize) -> Tally {
    let program = program_from(rng, Options { blocks: 12, ..Options::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = runnable_with_large(&program, kind, rng.next_u64(), blocks);
    let text = with_seldom(&text, rng);
    run_on(rng, &text, (0.9, &CALLED[..2]), false)
}

/// Edits functions in recursion with each other, of which some are large.
pub fn run_recursive(rng: &mut dyn RngCore) -> Tally {
    let options = recursive::Options::random(rng);
    let module = recursive::recursive(rng, &options);
    let text = format!("target triple = \"nvptx64-nvidia-cuda\"\n{module}");
    let names = &recursive::NAMES[..options.pieces.len()];
    let text = with_seldom(&text, rng);
    run_on(rng, &text, (0.9, names), false)
}

/// Queries a large function repeatedly, mostly between edits outside of its body, without comparing
/// results. Returns the number of edits.
///
/// A result that is computed by another method than before may read fewer inputs. In debug builds
/// salsa detects when that misleads it: it panics if a result comes out equal although an input of
/// the previous result had changed later. This happens if something outside of the function changes
/// twice and is read the first time only.
pub fn run_around(seed: u64) -> usize {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let text = match seed % 2 {
        0 => random_text(rng, 60),
        _ => {
            let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
            let program = program_from(rng, Options { blocks: 12, ..Options::default() });
            runnable_with_large(&program, kind, rng.next_u64(), 60)
        }
    };
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let mut around = Around::new(&session, module, "f");
    let mut edits = 0;
    for _ in 0..ROUNDS {
        for _ in 0..rng.random_range(1..4) {
            edits += usize::from(around.edit(&mut session, rng).is_some());
        }
        let function = session.function(module, "f").expect("it stays there");
        if rng.random_bool(0.2) {
            edit_once(rng, &mut session, (function, &around.callees), &mut Tally::default());
        }
        match rng.random_bool(0.7) {
            true => ask(&session, function),
            false => ask_some(&session, function, rng),
        }
    }
    edits
}

/// Edits the functions of a module, or the one with a name, in so many transactions.
///
/// # Panics
/// If the module cannot be read, or any check fails.
pub fn run_module(seed: u64, text: &[u8], name: Option<&str>, rounds: usize) -> Tally {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let mut session = Session::new();
    let module = session.read(text).expect("kernels are well-formed");
    let is_wanted = |function: &FunctionId| {
        session.code(*function).flow.entry().is_some()
            && name.is_none_or(|name| session.name(*function) == name)
    };
    let wanted = session.functions(module).filter(is_wanted);
    let defined: Vec<String> = wanted.map(|function| session.name(function)).collect();
    let Some(first) = defined.first().cloned() else { return Tally::default() };
    run_in(rng, (session, module), (first, defined, 1.0), (rounds, false))
}

/// Edits the kernel of a module, or with this probability one of the functions that it calls;
/// perhaps while other threads ask queries.
fn run_on(
    rng: &mut dyn RngCore,
    text: &str,
    (share, names): (f64, &[&str]),
    in_company: bool,
) -> Tally {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let is_there = |name: &&&str| session.function(module, name).is_some();
    let called: Vec<String> = names.iter().filter(is_there).map(|&name| name.into()).collect();
    run_in(rng, (session, module), ("f".to_owned(), called, share), (ROUNDS, in_company))
}

/// Edits a function, or with this probability one of some others.
fn run_in(
    rng: &mut dyn RngCore,
    (mut session, module): (Session, ModuleId),
    (kernel, called, share): (String, Vec<String>, f64),
    (rounds, in_company): (usize, bool),
) -> Tally {
    let mut tally = Tally::default();
    let function = |session: &Session, name: &str| session.function(module, name);
    let found = |session: &Session| function(session, &kernel).expect("it stays there");
    let mut around = Around::new(&session, module, &kernel);
    ask(&session, found(&session));
    let mut others: Vec<JoinHandle<bool>> = Vec::new();
    for _ in 0..rounds {
        let what = rng.random_bool(0.15).then(|| around.edit(&mut session, rng)).flatten();
        if let Some(what) = what {
            tally.around[what as usize] += 1;
            match rng.random_bool(0.75) {
                true => check(&session, module, found(&session)),
                false => ask_some(&session, found(&session), rng),
            }
        }
        // Facts of a function depend on its callees, and facts about its arguments on its callers.
        let other = match rng.random_bool(share) {
            true => called.choose(rng).and_then(|name| function(&session, name)),
            false => None,
        };
        let edited = other.unwrap_or_else(|| found(&session));
        let is_kept = edit_once(rng, &mut session, (edited, &around.callees), &mut tally);
        // An edit cancels pending queries of other handles: it waits until no other handle is
        // alive.
        for other in std::mem::take(&mut others) {
            let was_stopped = other.join().expect("nothing else happens to whoever asks");
            tally.stopped += usize::from(was_stopped);
        }
        match is_kept {
            true if in_company && rng.random_bool(0.6) => {
                others = ask_elsewhere(&session, edited, rng);
                // Queries that run at the same time must give the same results.
                if rng.random_bool(0.3) {
                    check(&session, module, edited);
                }
            }
            // A query that is asked later must take several edits into account.
            true if rng.random_bool(0.25) => ask_some(&session, edited, rng),
            _ => check(&session, module, edited),
        }
    }
    for other in others {
        other.join().expect("nothing happens to whoever asks");
    }
    let rest = called.iter().filter(|&name| *name != kernel);
    for function in rest.chain([&kernel]).filter_map(|name| function(&session, name)) {
        let (db, input) = (session.database(), function.input());
        tally.memory.merge(queries::memory_repairs(db, input));
        tally.accesses.merge(queries::access_repairs(db, input));
        tally.assumed += queries::assumed_repairs(db, input).repaired;
        tally.divergence.merge(queries::repairs(db, input));
        tally.summaries.merge(queries::summary_repairs(db, input));
        tally.answers.merge(queries::kept_answers(db, input));
    }
    tally
}

/// Makes one transaction; returns whether it was kept. A transaction that is not kept must change
/// nothing.
fn edit_once(
    rng: &mut dyn RngCore,
    session: &mut Session,
    (function, callees): (FunctionId, &[(Type, Value)]),
    tally: &mut Tally,
) -> bool {
    let before = session.code(function).to_function();
    let keep = rng.random_bool(0.9);
    // Most drivers use the def-use lists; some do not.
    if rng.random_bool(0.7) {
        session.code(function).body.is_used(Value::arg(0));
    }
    let mut has_other_flow = false;
    let mut is_changed = false;
    let mut edits = 0;
    let done = session.edit(function, |edit| {
        // Random edits are sometimes invalid; the commit must detect that, in every build.
        edit.verifying(true);
        let graph = Graph::new(edit.flow());
        for _ in 0..rng.random_range(1..4) {
            let done = match rng.random_bool(0.75) {
                true => instructions(edit, &graph, rng),
                false => seldom::instructions(edit, &graph, callees, rng),
            };
            // Refused operations have changed nothing; the other operations continue.
            edits += usize::from(done.is_ok());
        }
        if rng.random_bool(0.4) {
            edits += usize::from(flow::blocks_and_edges(edit, rng).is_ok());
        }
        has_other_flow = edit.flow() != &before.flow;
        is_changed = edit.is_changed();
        match keep {
            true => Ok(()),
            false => Err(Refused::Aborted),
        }
    });
    match &done {
        Ok(()) => {
            tally.edits += edits;
            tally.committed += usize::from(is_changed);
            tally.flow += usize::from(has_other_flow);
        }
        Err(reason) => {
            match reason {
                Refused::Aborted => tally.aborted += 1,
                Refused::Broken(_) => tally.refused += 1,
            }
            assert!(
                session.code(function).to_function() == before,
                "{reason:?} leaves something behind"
            );
        }
    }
    done.is_ok()
}

#[derive(Debug)]
pub(crate) enum Refused {
    Aborted,
    Broken(#[expect(dead_code, reason = "shown when something is wrong")] BuildError),
}

impl From<BuildError> for Refused {
    fn from(error: BuildError) -> Self {
        Refused::Broken(error)
    }
}
