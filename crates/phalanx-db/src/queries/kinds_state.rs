//! Kinds of memory in an edited function: incremental update of retained state.
//!
//! The first question finds the answer from scratch and [retains](super::retained) what it takes to
//! repair it, which costs next to nothing more; from then on an edit is followed.

use std::sync::Arc;

use phalanx_analysis::spaces::{MemoryKinds, RetainedKinds, SpaceFacts, may_return_address};

use super::called::NO_CALLEES;
use super::calls::is_local;
use super::own_environment::with_code;
use super::retained::Known;
use super::{
    address_memory, argument_spaces, cfg, dom_tree, returned_spaces, symbols, target, type_layout,
    variables,
};
use crate::FunctionInput;
use crate::retained::{
    place::{Updated, Ways, fresh},
    state::RetainedSpaces,
};

use salsa::Database as Db;

/// How the kinds of a function were found so far; all zero for small functions, which are always
/// solved from scratch. Not a query.
pub fn kind_repairs(db: &dyn Db, function: FunctionInput) -> Ways {
    function.retained(db).counted(|slots| slots.kinds.ways())
}

/// The same of a function in recursion in all rounds, for what it passes to the others. Not a
/// query.
pub fn kind_round_repairs(db: &dyn Db, function: FunctionInput) -> Ways {
    let mut all = Ways::default();
    let slots = function.retained(db).counted(|slots| slots.kinds_rounds.all());
    slots.iter().for_each(|slot| all.merge(slot.ways()));
    all
}

/// Identity of what [`memory_kinds`](super::memory_kinds) reads besides flow and body.
///
/// *Reads* `header`, `mentions`, [`target`], [`type_layout`], [`variables`], [`returned_spaces`] of
/// callees that return addresses, [`argument_spaces`] of a function that cannot be named from
/// outside. *Changes when* one of them does. *Cost* O(callees).
#[salsa::tracked(returns(copy))]
pub(crate) fn kinds_version(db: &dyn Db, function: FunctionInput) -> u64 {
    read_environment(db, function);
    if is_local(db, function) {
        let _ = argument_spaces(db, function);
    }
    fresh()
}

/// Reads what [`kinds_version`] does but for the callers of the function.
pub(super) fn read_environment(db: &dyn Db, function: FunctionInput) {
    let module = function.module(db);
    let context = module.context(db);
    let _ = (function.header(db), target(db, module), type_layout(db, module));
    let _ = variables(db, module);
    for name in function.mentions(db).callees() {
        if let Some(&callee) = symbols(db, module).get(name)
            && may_return_address(context, callee.header(db).ty)
        {
            let _ = returned_spaces(db, callee);
        }
    }
}

/// The kinds of a large function as its journal says they have become. None for a declaration.
///
/// `env` is the identity of what else is read, `facts` and the header included.
///
/// *Reads* `flow`, `body`, `cfg`, `dom_tree`, [`address_memory`], [`block_layout`]. *Cost* from
/// scratch the first times; then that of what changed.
pub(super) fn updated(
    db: &dyn Db,
    function: FunctionInput,
    slot: &RetainedSpaces,
    (env, facts): (u64, &dyn SpaceFacts),
) -> Option<MemoryKinds> {
    let (cfg, dom) = (cfg(db, function)?, dom_tree(db, function)?);
    let memory = address_memory(db, function).as_ref()?;
    slot.update((db, function), env, |known| {
        let repaired = known.and_then(Known::in_same_environment).and_then(|(mut kinds, since)| {
            let visited = with_code(db, function, NO_CALLEES, |code, env| {
                kinds.repair(code, env, (cfg, dom, memory), facts, since.edited())
            })??;
            Some((kinds, Updated::Changed { visited }))
        });
        let found = repaired.or_else(|| {
            let kinds = with_code(db, function, NO_CALLEES, |code, env| {
                RetainedKinds::new(code, env, (cfg, dom), Arc::clone(memory), facts)
            })?;
            Some((kinds, Updated::Scratch))
        });
        match found {
            Some((kinds, updated)) => (Some(kinds.answer().clone()), Some(kinds), updated),
            None => (None, None, Updated::Scratch),
        }
    })
}
