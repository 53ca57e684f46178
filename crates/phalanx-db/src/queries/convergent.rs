//! The query on convergent operations and their tokens.

use std::sync::Arc;

use phalanx_analysis::{Convergence, convergence as operations, listing::relisted, lower::Code};
use phalanx_ir::{GlobalName, InstId};

use super::depends_on::{Changed, DependsOn};
use super::{called::attributes_of_callees, cycles};
use crate::FunctionInput;
use crate::queries::code::code;
use crate::retained::{
    answers::KeptConvergence,
    place::{Updated, fresh},
};

use salsa::Database as Db;

/// Convergent operations of a function: scope, token, cycle; and the tokens: region, heart of which
/// cycle. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `cycles`, [`attributes_of_callees`]; of a large function what
/// changed, while [`convergence_version`] is the same. *Changes when* a convergent operation or a
/// token comes, goes or moves, or the cycles around one do. *Cost* O(instructions); see
/// [`phalanx_analysis::convergence`].
#[salsa::tracked(returns(ref))]
pub fn convergence(db: &dyn Db, function: FunctionInput) -> Option<Arc<Convergence>> {
    let cycles = cycles(db, function)?;
    let attributes = attributes_of_callees(db, function);
    let callee = |name: GlobalName| attributes.of(name);
    let code = code(db, function);
    if !function.is_large(db) {
        return Some(Arc::new(Convergence::new(code, cycles, &callee)));
    }
    let depends_on = |code: Code<'_>, inst| operations::depends_on(code, inst, &callee);
    let found =
        |insts: &[InstId]| Arc::new(Convergence::of(code, cycles, &callee, insts.iter().copied()));
    let make = || {
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let insts: Vec<InstId> = insts.filter(|&inst| depends_on(code, inst)).collect();
        KeptConvergence { found: found(&insts), insts }
    };
    let update = |kept: &mut KeptConvergence, changed: Changed<'_>| {
        if changed.affected.is_empty() && changed.blocks.is_none() {
            return Updated::Same;
        }
        let look = |inst| if depends_on(code, inst) { vec![inst] } else { Vec::new() };
        if let Some(insts) = relisted(code, &kept.insts, |&inst| inst, changed.affected, look) {
            kept.insts = insts;
        }
        kept.found = found(&kept.insts);
        Updated::CHANGED
    };
    let env = convergence_version(db, function);
    let read = |kept: &KeptConvergence| Some(Arc::clone(&kept.found));
    let slot = &function.retained(db).large().convergence;
    slot.update((db, function), env, DependsOn::WithEnvironment(&depends_on), update, make, read)
}

/// Identity of what [`convergence()`] reads besides the body and its graph.
///
/// *Reads* [`attributes_of_callees`] of a large function: a new or removed callee does not affect
/// other calls. *Changes when* they do. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn convergence_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = attributes_of_callees(db, function);
    fresh()
}
