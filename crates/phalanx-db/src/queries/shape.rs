//! Queries on shapes of values and patterns of memory accesses.

use std::sync::Arc;

use phalanx_analysis::shape::{
    Shapes, Trust,
    access::{self, Access, Accesses, Facts, Pattern},
};

use phalanx_ir::{GlobalName, InstId};

use super::access_state::updated;
use super::called::NO_CALLEES;
use super::own_environment::with_code;
use super::{cfg, cycles, divergence, variable_alignments};
use crate::FunctionInput;

use salsa::Database as Db;

/// Shapes of the values of a function, without assumptions. `None` for a declaration. Not a query:
/// divergence has shapes of its own.
///
/// *Reads* `header`, `flow`, `body`, `module_facts`, `launch` or
/// [`launch_facts`](super::launch_facts). *Cost* O(instructions + operands).
pub fn shapes(db: &dyn Db, function: FunctionInput) -> Option<Shapes> {
    with_code(db, function, NO_CALLEES, |code, env| Shapes::new(code, env, Trust::Nothing))
}

/// What the lanes of a wave touch at each load, store and atomic operation, in the order of the
/// function. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `module_facts`, `launch` or
/// [`launch_facts`](super::launch_facts), [`divergence()`], [`cfg()`], [`cycles()`],
/// [`variable_alignments`] if an index of one is no constant or the function is large, and then
/// `objects_version`. *Changes when* an access does, or one comes, goes or moves. *Cost* near
/// O(instructions + operands), and lanes of a wave for each access; large, after an edit of
/// instructions, that of the edit.
#[salsa::tracked(returns(ref))]
pub fn memory_accesses(db: &dyn Db, function: FunctionInput) -> Option<Arc<Accesses>> {
    if function.is_large(db) {
        // Whether an access is looked at again decides whether anybody asks for it.
        let _ = variable_alignments(db, function.module(db));
        return with_facts(db, function, |facts| updated(db, function, facts));
    }
    with_facts(db, function, |facts| Arc::new(access::accesses(facts)))
}

/// By how many bytes the addresses of a wave's lanes differ from that of the first one, for the
/// [`memory_accesses`] where they are known and not evenly apart. Empty for a declaration. Not a
/// query.
///
/// *Cost* that of [`memory_accesses`] from scratch.
pub fn lane_offsets(db: &dyn Db, function: FunctionInput) -> Vec<(InstId, Vec<i64>)> {
    let Some(accesses) = memory_accesses(db, function) else { return Vec::new() };
    let uneven = |access: &&Access| access.pattern == Pattern::Gather && access.segments.is_some();
    let asked: Vec<InstId> = accesses.iter().filter(uneven).map(|access| access.inst).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    with_facts(db, function, |facts| access::lane_offsets(facts, asked.into_iter()))
        .unwrap_or_default()
}

/// Gives what accesses are found from.
fn with_facts<R>(
    db: &dyn Db,
    function: FunctionInput,
    find: impl FnOnce(Facts<'_>) -> R,
) -> Option<R> {
    let divergence = divergence(db, function).as_ref()?;
    let (cfg, cycles) = (cfg(db, function)?, cycles(db, function)?);
    with_code(db, function, NO_CALLEES, |code, env| {
        let alignment = |name: GlobalName| {
            let known = variable_alignments(db, function.module(db));
            known.get(&name).copied().unwrap_or(1)
        };
        find(Facts { code, env, cfg, cycles, divergence, alignment: &alignment })
    })
}
