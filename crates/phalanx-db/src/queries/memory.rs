//! Queries on memory.

use phalanx_analysis::memory::TypeLayout;

use crate::ModuleInput;

use salsa::Database as Db;

/// Sizes of types: the data layout of a module and the bodies of its structures.
///
/// *Reads* `shell`. *Changes when* the data layout or a structure does. *Cost* O(structures).
#[salsa::tracked(returns(ref))]
pub fn type_layout(db: &dyn Db, module: ModuleInput) -> TypeLayout {
    TypeLayout::of(module.shell(db))
}
