//! Queries on memory.

use phalanx_analysis::memory::{ClassicMemorySsa, MemorySsa, TypeLayout};

use super::facts::with_code;
use super::{callees, cfg, dom_tree};
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// Sizes of types: the data layout of a module and the bodies of its structures.
///
/// *Reads* `shell`. *Changes when* the data layout or a structure does. *Cost* O(structures).
#[salsa::tracked(returns(ref))]
pub fn type_layout(db: &dyn Db, module: ModuleInput) -> TypeLayout {
    TypeLayout::of(module.shell(db))
}

/// The memory of a function in HSSA form: a variable per private slot and per class of memory. None for a declaration.
///
/// *Reads* `header`, `flow`, `body`, `dom_tree`, [`callees`], [`type_layout`], `target`. *Changes when* an instruction that touches
/// memory does. *Cost* O(instructions + phis).
#[salsa::tracked(returns(ref))]
pub fn memory_ssa(db: &dyn Db, function: FunctionInput) -> Option<MemorySsa> {
    let (cfg, dom) = (cfg(db, function).as_ref()?, dom_tree(db, function).as_ref()?);
    with_code(db, function, callees(db, function), |code, around| {
        MemorySsa::new(code, around, cfg, dom)
    })
}

/// MemorySSA of a function with one variable for all of memory, as LLVM has it. None for a declaration.
///
/// *Reads*, *changes*, *costs* as [`memory_ssa`].
#[salsa::tracked(returns(ref))]
pub fn classic_memory_ssa(db: &dyn Db, function: FunctionInput) -> Option<ClassicMemorySsa> {
    let (cfg, dom) = (cfg(db, function).as_ref()?, dom_tree(db, function).as_ref()?);
    with_code(db, function, callees(db, function), |code, around| {
        ClassicMemorySsa::new(code, around, cfg, dom)
    })
}
