//! Queries on shapes of values and patterns of memory accesses.

use phalanx_analysis::shape::{
    Shapes, Trust,
    access::{self, Access},
};
use phalanx_ir::data_layout::DataLayout;

use super::facts::{NO_CALLEES, with_code};
use super::{cfg, cycles, divergence};
use crate::FunctionInput;

use salsa::Database as Db;

/// Shapes of the values of a function, with nothing taken for granted. None for a declaration. Not a query: divergence keeps its
/// own.
///
/// *Reads* `header`, `flow`, `body`, `target`, `launch_facts`. *Cost* O(instructions + operands).
pub fn shapes(db: &dyn Db, function: FunctionInput) -> Option<Shapes> {
    with_code(db, function, NO_CALLEES, |code, around| Shapes::new(code, around, Trust::Nothing))
}

/// What the lanes of a wave touch at each load, store and atomic operation, in the order of the function.
///
/// *Reads* `header`, `flow`, `body`, `shell`, `target`, `launch_facts`, [`divergence()`], [`cfg()`], [`cycles()`]. *Changes when* an
/// instruction does. *Cost* near O(instructions + operands), and lanes of a wave for each access.
#[salsa::tracked(returns(ref))]
pub fn memory_accesses(db: &dyn Db, function: FunctionInput) -> Option<Vec<Access>> {
    let divergence = divergence(db, function).as_ref()?;
    let (cfg, cycles) = (cfg(db, function).as_ref()?, cycles(db, function).as_ref()?);
    let module = function.module(db);
    let shell = module.shell(db);
    let layout = DataLayout::of(shell);
    with_code(db, function, NO_CALLEES, |code, around| {
        let structs = &shell.structs;
        access::accesses(access::Facts {
            code,
            around,
            layout: &layout,
            structs,
            cfg,
            cycles,
            divergence,
        })
    })
}
