//! The query on convergent operations and their tokens.

use phalanx_analysis::{Convergence, lower::Code};
use phalanx_ir::GlobalName;

use super::{callees, cycles};
use crate::FunctionInput;

use salsa::Database as Db;

/// Convergent operations of a function: scope, token, cycle; and the tokens: region, heart of which cycle. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `cycles`, [`callees`]. *Changes when* a convergent operation or a token comes, goes or moves, or the
/// cycles around one do. *Cost* O(instructions); see [`phalanx_analysis::convergence`].
#[salsa::tracked(returns(ref))]
pub fn convergence(db: &dyn Db, function: FunctionInput) -> Option<Convergence> {
    let cycles = cycles(db, function).as_ref()?;
    let attributes = callees(db, function);
    let callee = |name: GlobalName| {
        let found = attributes.binary_search_by_key(&name, |&(name, _)| name).ok()?;
        Some(attributes[found].1)
    };
    Some(Convergence::new(code(db, function), cycles, &callee))
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
