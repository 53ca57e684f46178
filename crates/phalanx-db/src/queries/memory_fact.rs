//! How a fact about the memory of one function is found: again from scratch, or from the last
//! answer where an edit does not concern it. [`memory_state`](super::memory_state) says when each
//! holds.

use std::sync::Arc;

use phalanx_analysis::{
    edited::Edited,
    memory::{ClassicMemorySsa, MemorySsa, PrivateMemory, UpdatedFact},
};
use phalanx_ir::InstId;

use super::own_environment::read_alone;
use super::retained::Known;
use crate::FunctionInput;
use crate::retained::{
    place::{Updated, fresh},
    state::{MemoryPlace, RetainedMemory, RetainedState},
};
use phalanx_analysis::policy::MEMORY_KEPT;

use salsa::Database as Db;

/// A fact that is kept.
pub(super) trait Answer: PartialEq {
    /// Whether this retained answer can replace one from scratch: the two are equal, including
    /// their dependency sets.
    fn says_as_much(&self, new: &Self) -> bool {
        self == new
    }
}

impl Answer for PrivateMemory {
    fn says_as_much(&self, new: &Self) -> bool {
        self.says_as_much(new)
    }
}

impl Answer for MemorySsa {}

impl Answer for ClassicMemorySsa {}

/// What [`private_memory`](super::private_memory) has found of a large function as it is, if it was
/// asked: a query about the same objects does not find them again. It follows from what it is found
/// from, so a query that uses it reads that, too.
/// `position` is where the body is in its history.
pub(super) fn private_at_hand(
    db: &dyn Db,
    function: FunctionInput,
    slots: &RetainedState,
) -> Option<Arc<PrivateMemory>> {
    let environment = || objects_version(db, function);
    Some(slots.known_memory()?.private.of_now((db, function), environment)?.1)
}

/// Identity of what private memory, and what pointers are made from, are found from besides flow
/// and body.
///
/// *Reads* what [`env`](super::env) does, calls aside. *Changes when* one of them does.
/// *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(super) fn objects_version(db: &dyn Db, function: FunctionInput) -> u64 {
    read_alone(db, function);
    fresh()
}

/// Facts that are kept, by what they are found from besides flow, body and other facts about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fact {
    /// Private memory, and where pointers come from.
    Objects,
    /// Memory in HSSA form, which follows from what callees do as well.
    Hssa,
    /// MemorySSA with one variable.
    Classic,
}

/// Whether facts about the memory of a function are kept.
///
/// *Reads* `body`.
pub(super) fn is_kept(db: &dyn Db, function: FunctionInput) -> bool {
    function.body(db).id_count() >= MEMORY_KEPT
}

/// Whether so few instructions of a function have changed that an answer about it is followed.
/// Those about a large one say themselves what is too much for them.
pub(super) fn is_few(db: &dyn Db, function: FunctionInput, changed: &[InstId]) -> bool {
    function.is_large(db) || changed.len() <= function.body(db).id_count() / 8
}

/// An answer about a function: from the one of before, if that is kept and `update` makes it from
/// that and from what it was found with, given the instructions that have been changed since; else
/// what `make` finds. `fact` says what is around the function, and `with` is what the answer
/// follows from besides.
///
/// *Reads* `body`, [`block_layout`], the version of the fact.
pub(super) fn updated<T: Answer, W>(
    db: &dyn Db,
    function: FunctionInput,
    place: fn(&RetainedMemory) -> &MemoryPlace<T, W>,
    (fact, with): (Fact, W),
    update: impl FnOnce(&T, &W, Edited<'_>) -> UpdatedFact<T>,
    make: impl FnOnce() -> T,
) -> Arc<T> {
    if !is_kept(db, function) {
        return Arc::new(make());
    }
    let place = place(function.retained(db).memory());
    let environment = fact.version(db, function);
    place.update((db, function), environment, |known| {
        let (before, found) = match known {
            Some(Known { state: (before_with, before), since, is_same_environment }) => {
                let found = match since.filter(|_| is_same_environment) {
                    Some(since) if is_few(db, function, since.edited().insts) => {
                        update(&before, &before_with, since.edited())
                    }
                    _ => UpdatedFact::Unknown,
                };
                (Some(before), found)
            }
            None => (None, UpdatedFact::Unknown),
        };
        let (answer, updated) = match (found, before) {
            (UpdatedFact::Same, Some(before)) => (before, Updated::Same),
            (UpdatedFact::Other(new), _) => (Arc::new(new), Updated::CHANGED),
            (_, before) => {
                let new = make();
                let before = before.filter(|before| before.says_as_much(&new));
                (before.unwrap_or_else(|| Arc::new(new)), Updated::Scratch)
            }
        };
        (Arc::clone(&answer), Some((with, answer)), updated)
    })
}
