//! The query on convergent operations and their tokens.

use std::sync::Arc;

use phalanx_analysis::{Convergence, convergence as operations, lower::Code};
use phalanx_graph::Cycles;
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
    let find = || Arc::new(new_convergence(db, function, cycles));
    if !function.is_large(db) {
        return Some(find());
    }
    let around = convergence_version(db, function);
    let slot = &function.slots(db).convergence;
    Some(slot.answer(db, function, around, &operations::concerns, find))
}

fn new_convergence(db: &dyn Db, function: FunctionInput, cycles: &Cycles) -> Convergence {
    let attributes = callees(db, function);
    let callee = |name: GlobalName| {
        let found = attributes.binary_search_by_key(&name, |&(name, _)| name).ok()?;
        Some(attributes[found].1)
    };
    Convergence::new(code(db, function), cycles, &callee)
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
