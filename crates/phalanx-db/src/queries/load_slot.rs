//! Classes of loads of a function that is edited: the last answer, with what it was found from.
//!
//! # How
//!
//! | what changed | what happens |
//! |---|---|
//! | instructions that [concern](loads::concerns) no load | the answer again |
//! | what diverges, at addresses of some loads | these are classified again |
//! | what was [asked](Asked) of other functions or of variables; anything else | from scratch |
//!
//! What is asked by name depends on what is met, and to read all of it would ask every function of a module what it writes. So questions are kept with
//! their answers, and asked again.
//!
//! **Complexity.** O(questions + values that diverge otherwise); a load that is classified again may cost O(instructions) once.

use std::cell::RefCell;

use phalanx_analysis::{
    Divergence, User, Value,
    loads::{self, LoadClasses, PassedUse, VariableUse},
    lower::Numbering,
    spaces::SpaceSet,
};
use phalanx_ir::{GlobalName, Type};
use rustc_hash::FxHashMap;

use super::answer_slot::{Changed, Followed, loads_version};
use super::divergence;
use super::loads::{is_unchanged_argument, passed_use, variable, with_facts, written_by};
use crate::FunctionInput;

use salsa::Database as Db;

/// What is asked by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// What a function may write that is called with a type.
    WrittenBy(GlobalName, Type),
    /// What it does with an argument.
    Passed(GlobalName, Type, u32),
    /// Who writes a variable.
    Variable(GlobalName),
    /// Whether what callers pass does not change.
    IsUnchanged(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Spaces(Option<SpaceSet>),
    Use(PassedUse),
    Variable(VariableUse),
    Is(bool),
}

/// Questions that were asked, and what came back.
#[derive(Debug, Default)]
pub(super) struct Asked(RefCell<FxHashMap<Question, Reply>>);

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

    /// Asks who writes a variable; see [`variable`].
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

    /// Whether the same comes back to everything that was asked.
    pub(super) fn is_as_before(&self, db: &dyn Db, function: FunctionInput) -> bool {
        let known = self.0.borrow();
        known.iter().all(|(question, known)| reply(db, function, *question) == *known)
    }
}

/// The classes of the loads of a function, and what they were found from.
#[derive(Debug)]
pub(super) struct KeptLoads {
    classes: LoadClasses,
    divergence: Divergence,
    /// Positions in the list, by address.
    by_address: FxHashMap<Value, Vec<u32>>,
    asked: Asked,
}

impl KeptLoads {
    fn new(
        db: &dyn Db,
        function: FunctionInput,
        classes: LoadClasses,
        divergence: Divergence,
        asked: Asked,
    ) -> Self {
        let (numbering, body) = (Numbering::new(function.header(db)), function.body(db));
        let mut by_address: FxHashMap<Value, Vec<u32>> = FxHashMap::default();
        for (position, load) in (0..).zip(classes.loads()) {
            if let Some(address) = numbering.operand(body.operands(load.inst)[0]) {
                by_address.entry(address).or_default().push(position);
            }
        }
        KeptLoads { classes, divergence, by_address, asked }
    }

    fn follow(
        &mut self,
        db: &dyn Db,
        function: FunctionInput,
        now: &Divergence,
    ) -> Option<Followed> {
        let others = self.that_diverge_otherwise(Numbering::new(function.header(db)), now);
        self.divergence = now.clone();
        if others.is_empty() {
            return Some(Followed::Kept);
        }
        let known = self.classes.clone();
        self.classes = with_facts(db, function, None, &self.asked, |code, around, facts| {
            loads::classify_again(code, around, facts, known, &others)
        })?;
        Some(Followed::Repaired)
    }

    /// Positions of loads that read an address about which something else is said than before, where they read it.
    fn that_diverge_otherwise(&self, numbering: Numbering, now: &Divergence) -> Vec<u32> {
        let mut found = Vec::new();
        for value in now.values_that_differ(&self.divergence) {
            for &position in self.by_address.get(&value).into_iter().flatten() {
                let load =
                    User::value(numbering.inst(self.classes.loads()[position as usize].inst));
                if now.at_use(value, load) != self.divergence.at_use(value, load) {
                    found.push(position);
                }
            }
        }
        found
    }
}

/// The classes of the loads of a large function as its journal says they have become. None for a declaration.
///
/// *Reads* `body`, [`loads_version`], [`divergence()`], and what is asked by name. *Cost* see the module documentation.
pub(super) fn followed_classes(db: &dyn Db, function: FunctionInput) -> Option<LoadClasses> {
    let around = loads_version(db, function);
    let now = divergence(db, function).as_ref()?;
    let make = || {
        let asked = Asked::default();
        let classes = with_facts(db, function, None, &asked, loads::classify).unwrap_or_default();
        KeptLoads::new(db, function, classes, now.clone(), asked)
    };
    let follow = |kept: &mut KeptLoads, changed: Changed<'_>| {
        if !changed.concerned.is_empty() || !kept.asked.is_as_before(db, function) {
            return Followed::Lost;
        }
        kept.follow(db, function, now).unwrap_or(Followed::Lost)
    };
    let slot = &function.slots(db).loads;
    let read = |kept: &KeptLoads| Some(kept.classes.clone());
    slot.follow((db, function), around, &loads::concerns, follow, make, read)
}
