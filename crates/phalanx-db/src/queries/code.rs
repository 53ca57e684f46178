//! The parts of a function that analyses may read.

use phalanx_analysis::lower::Code;

use super::library;
use crate::FunctionInput;

use salsa::Database as Db;

/// The parts of a function that analyses may read. Not a query.
pub fn code(db: &dyn Db, function: FunctionInput) -> Code<'_> {
    Code {
        context: function.module(db).context(db),
        header: function.header(db),
        flow: function.flow(db),
        body: function.body(db),
        library: library(db, function.module(db)),
    }
}
