//! Accesses of memory in an edited function: incremental update of retained state.
//!
//! The first question [retains](super::retained) what it takes to follow edits. Edits of many
//! instructions at a time are cheaper from scratch; where a good part of the function is rewritten,
//! nothing is retained until the next question. Divergence and cycles are compared.
//!
//! An answer that an edit leaves as it is is the very same one: it is compared with the memo by its
//! address, and counts as unchanged.

use std::sync::Arc;

use phalanx_analysis::{
    edited::Edited,
    policy::{most_looked_at, rewritten},
    shape::access::{self, AccessUpdater, Accesses, Found},
};

use super::layout::Since;
use super::memory_fact::objects_version;
use crate::FunctionInput;
use crate::retained::place::{Updated, Ways};

use salsa::Database as Db;

/// How the accesses of a function were found so far; all zero for small functions, which are always
/// looked at from scratch. Not a query.
pub fn access_repairs(db: &dyn Db, function: FunctionInput) -> Ways {
    function.retained(db).counted(|slots| slots.accesses.ways())
}

/// The accesses of a large function as its journal says they have become, from facts as they are.
///
/// *Reads* `body`, [`block_layout`], [`objects_version`]. *Cost* from scratch the first times; then
/// that of what changed.
pub(super) fn updated(
    db: &dyn Db,
    function: FunctionInput,
    facts: access::Facts<'_>,
) -> Arc<Accesses> {
    let environment = objects_version(db, function);
    let size = function.body(db).id_count();
    let is_few = |edited: Edited<'_>| {
        edited.own.len() <= most_looked_at(size) && edited.insts.len() <= 2 * most_looked_at(size)
    };
    function.retained(db).large().accesses.update((db, function), environment, |known| {
        let (updater, since) = match known {
            Some(known) => (known.is_same_environment.then_some(known.state), known.since),
            None => (None, None),
        };
        let edited = since.as_ref().map(Since::edited);
        if let (Some(updater), Some(edited)) = (updater, edited)
            && is_few(edited)
            && let Some((updater, found)) = updater.update(facts, edited)
        {
            let updated = match found {
                Found::Kept => Updated::Same,
                Found::Repaired => Updated::CHANGED,
            };
            return (Arc::clone(updater.answer()), Some(updater), updated);
        }
        // After a whole-function rewrite, another rewrite is likely: nothing is retained.
        if edited.is_some_and(|edited| edited.own.len() > rewritten(size)) {
            return (Arc::new(access::accesses(facts)), None, Updated::Scratch);
        }
        let (answer, updater) = AccessUpdater::new(facts);
        (answer, updater, Updated::Scratch)
    })
}
