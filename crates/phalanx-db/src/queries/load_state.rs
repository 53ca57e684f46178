//! Classes of loads of a function that is edited: the last answer, with what it was found from.
//!
//! How they are followed is told in [`phalanx_analysis::loads::update`].
//!
//! What is asked by name depends on what is met, and to read all of it would ask every function of
//! a module what it writes. So questions are kept with their answers, and asked again: if one is
//! answered otherwise, everything is found from scratch.
//!
//! **Complexity.** O(questions), and that of following.

use phalanx_analysis::{
    loads::{self, LoadClasses, LoadEdits, LoadUpdater, PassedUse, VariableUse},
    spaces::SpaceSet,
};
use phalanx_ir::{GlobalName, Type};

use super::answer_state::loads_version;
use super::depends_on::{Changed, DependsOn};
use super::loads::{is_unchanged_argument, passed_use, variable, with_facts};
use super::promises::{in_one_only, invariant_marks};
use super::writes::written_by;
use super::{pointer_flow, private_memory, promised_loads};
use crate::FunctionInput;
use crate::retained::{
    answers::{Asked, KeptLoads, Question, Reply},
    place::Updated,
};

use salsa::Database as Db;

fn reply(db: &dyn Db, function: FunctionInput, question: Question) -> Reply {
    match question {
        Question::WrittenBy(name, ty) => Reply::Spaces(written_by(db, function, name, ty)),
        Question::Passed(name, ty, at) => Reply::Use(passed_use(db, function, name, ty, at)),
        Question::Variable(name) => Reply::Variable(variable(db, function, name)),
        Question::IsUnchanged(at) => Reply::Is(is_unchanged_argument(db, function, at)),
    }
}

impl Asked {
    fn ask(&self, db: &dyn Db, function: FunctionInput, question: Question) -> Reply {
        if let Some(known) = self.0.borrow().get(&question) {
            return *known;
        }
        let reply = reply(db, function, question);
        self.0.borrow_mut().insert(question, reply);
        reply
    }

    /// Asks what a function writes; see [`written_by`].
    pub(super) fn written_by(
        &self,
        db: &dyn Db,
        function: FunctionInput,
        name: GlobalName,
        ty: Type,
    ) -> Option<SpaceSet> {
        match self.ask(db, function, Question::WrittenBy(name, ty)) {
            Reply::Spaces(spaces) => spaces,
            _ => None,
        }
    }

    /// Asks what a function does with an argument; see [`passed_use`].
    pub(super) fn passed(
        &self,
        db: &dyn Db,
        function: FunctionInput,
        (name, ty, position): (GlobalName, Type, u32),
    ) -> PassedUse {
        match self.ask(db, function, Question::Passed(name, ty, position)) {
            Reply::Use(found) => found,
            _ => PassedUse::UNKNOWN,
        }
    }

    /// Queries which function writes a variable; see [`variable`].
    pub(super) fn variable(
        &self,
        db: &dyn Db,
        function: FunctionInput,
        name: GlobalName,
    ) -> VariableUse {
        match self.ask(db, function, Question::Variable(name)) {
            Reply::Variable(found) => found,
            _ => VariableUse::Unknown,
        }
    }

    /// Asks whether what callers pass does not change; see [`is_unchanged_argument`].
    pub(super) fn is_unchanged(&self, db: &dyn Db, function: FunctionInput, at: u32) -> bool {
        self.ask(db, function, Question::IsUnchanged(at)) == Reply::Is(true)
    }

    /// Forgets what functions write that are called no more: they may call the one that asked by
    /// now, and what they write be asked for already.
    pub(super) fn keep_called(&mut self, is_called: impl Fn(GlobalName) -> bool) {
        self.0.get_mut().retain(|question, _| match *question {
            Question::WrittenBy(name, _) => is_called(name),
            _ => true,
        });
    }

    /// Whether the same comes back to everything that was asked.
    pub(super) fn is_as_before(&self, db: &dyn Db, function: FunctionInput) -> bool {
        let known = self.0.borrow();
        known.iter().all(|(question, known)| reply(db, function, *question) == *known)
    }
}

/// The classes of the loads of a large function as its journal says they have become. None for a
/// declaration.
///
/// *Reads* `body`, [`loads_version`], [`promised_loads`], marks of loads,
/// [`divergence()`](super::divergence()), [`memory_kinds`](super::memory_kinds),
/// [`private_memory`], [`pointer_flow`], and what is asked by name. *Cost* see
/// [`phalanx_analysis::loads::update`].
pub(super) fn updated_classes(db: &dyn Db, function: FunctionInput) -> Option<LoadClasses> {
    let env = loads_version(db, function);
    let promised = [promised_loads(db, function), invariant_marks(db, function)];
    let shared = (pointer_flow(db, function), private_memory(db, function).as_ref()?);
    let make = || {
        let asked = Asked::default();
        let updater = with_facts(db, function, None, &asked, |code, env, facts| {
            LoadUpdater::new(code, env, facts, shared)
        });
        KeptLoads { updater, asked, promised: promised.map(Clone::clone) }
    };
    let update = |kept: &mut KeptLoads, changed: Changed<'_>| {
        let KeptLoads { updater, asked, promised: before } = kept;
        // A promise is about its load alone, and so is a mark.
        let mut promised_otherwise = Vec::new();
        for (before, promised) in before.iter_mut().zip(promised) {
            let others = in_one_only(before, promised);
            if !others.is_empty() {
                before.clone_from(promised);
            }
            promised_otherwise.extend(others);
        }
        let Some(updater) = updater.as_mut().filter(|_| asked.is_as_before(db, function)) else {
            return Updated::Scratch;
        };
        let found = with_facts(db, function, None, asked, |code, env, facts| {
            let Changed { affected: changed, blocks, .. } = changed;
            let edits = LoadEdits { changed, blocks, promised: &promised_otherwise };
            updater.update(code, env, facts, shared, edits)
        });
        match found.flatten() {
            Some(false) => Updated::Same,
            Some(true) => Updated::CHANGED,
            None => Updated::Scratch,
        }
    };
    let slot = &function.retained(db).large().loads;
    let read = |kept: &KeptLoads| Some(kept.updater.as_ref()?.classes().clone());
    slot.update((db, function), env, DependsOn::Instruction(loads::depends_on), update, make, read)
}
