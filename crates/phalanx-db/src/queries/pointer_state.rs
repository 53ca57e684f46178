//! The origins of pointers in an edited function: incremental update of retained state.
//!
//! How they are followed is told in [`phalanx_analysis::loads::pointers`]; how they are
//! [retained](super::retained), as all such state is.
//!
//! **Complexity.** That of the updater.

use std::sync::Arc;

use phalanx_analysis::{
    loads::{
        PointerFlow,
        pointers::update::{Found, PointerUpdater},
    },
    memory::PrivateMemory,
};

use super::called::NO_CALLEES;
use super::memory_fact::{Fact, is_few};
use super::own_environment::with_code;
use super::retained::Known;
use crate::FunctionInput;
use crate::retained::place::Updated;

use salsa::Database as Db;

/// The pointers of a function of which they are [kept](super::memory_fact::is_kept) as its journal
/// says they have become. None for a declaration.
///
/// *Reads* `body`, [`block_layout`], [`Fact::version`]. *Cost* from scratch the first times; then
/// that of what changed.
pub(super) fn updated(
    db: &dyn Db,
    function: FunctionInput,
    private: &Arc<PrivateMemory>,
) -> Option<Arc<PointerFlow>> {
    let environment = Fact::Objects.version(db, function);
    function.retained(db).memory().pointers.update((db, function), environment, |known| {
        let found = with_code(db, function, NO_CALLEES, |code, _| {
            let before = known.as_ref().map(|known| Arc::clone(known.state.flow()));
            let known = known.and_then(Known::in_same_environment);
            let few = known.filter(|(_, since)| is_few(db, function, since.edited().own));
            match few {
                Some((mut updater, since)) => {
                    let found = updater.update(code, private, since.edited());
                    (updater, found)
                }
                None => (PointerUpdater::new(code, private, before.as_ref()), Found::Made),
            }
        });
        let Some((updater, found)) = found else { return (None, None, Updated::Scratch) };
        let updated = match found {
            Found::Made => Updated::Scratch,
            Found::Kept => Updated::Same,
            Found::Repaired => Updated::CHANGED,
        };
        (Some(Arc::clone(updater.flow())), Some(updater), updated)
    })
}
