//! The query on convergent operations and their tokens.

use std::sync::Arc;

use phalanx_analysis::{Convergence, convergence as operations, lower::Code};
use phalanx_ir::GlobalName;

use super::answer_slot::blocks_version;
use super::follow::fresh;
use super::{callees, cycles};
use crate::FunctionInput;

use salsa::Database as Db;

/// Convergent operations of a function: scope, token, cycle; and the tokens: region, heart of which cycle. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `cycles`, [`callees`]; of a large function also [`convergence_version`], and then what changed. *Changes when* a
/// convergent operation or a token comes, goes or moves, or the cycles around one do. *Cost* O(instructions); see [`phalanx_analysis::convergence`].
#[salsa::tracked(returns(ref))]
pub fn convergence(db: &dyn Db, function: FunctionInput) -> Option<Arc<Convergence>> {
    let cycles = cycles(db, function).as_ref()?;
    let attributes = callees(db, function);
    let callee = |name: GlobalName| {
        let found = attributes.binary_search_by_key(&name, |&(name, _)| name).ok()?;
        Some(attributes[found].1)
    };
    let find = || Arc::new(Convergence::new(code(db, function), cycles, &callee));
    if !function.is_large(db) {
        return Some(find());
    }
    let around = convergence_version(db, function);
    let slot = &function.slots(db).convergence;
    let concerns = |code: Code<'_>, inst| operations::concerns(code, inst, &callee);
    Some(slot.answer(db, function, around, &concerns, find))
}

/// Identity of what [`convergence()`] reads besides the body.
///
/// *Reads* [`blocks_version`], from which cycles follow, and [`callees`]. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub fn convergence_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (blocks_version(db, function), callees(db, function));
    fresh()
}

/// The parts of a function that analyses may read. Not a query.
pub fn code(db: &dyn Db, function: FunctionInput) -> Code<'_> {
    Code {
        context: function.module(db).context(db),
        header: function.header(db),
        flow: function.flow(db),
        body: function.body(db),
    }
}
