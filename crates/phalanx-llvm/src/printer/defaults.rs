//! Alignments that the text may leave out and LLVM always writes.

use phalanx_ir::{InstData, StructName, Type, layout::StructBodies, types::StructBody};
use rustc_hash::FxHashMap;

use super::Writer;

/// Bodies of identified structures, by name.
#[derive(Debug, Default)]
pub(super) struct Bodies<'m>(pub(super) FxHashMap<StructName, &'m StructBody>);

impl StructBodies for Bodies<'_> {
    fn body(&self, name: StructName) -> Option<&StructBody> {
        self.0.get(&name).copied()
    }
}

impl Bodies<'_> {
    /// Whether the body of a structure is packed.
    pub(super) fn is_packed(&self, name: StructName) -> bool {
        matches!(self.body(name), Some(StructBody::Fields { packed: true, .. }))
    }
}

impl Writer<'_> {
    /// Alignment of a load or store that states none.
    pub(super) fn default_align(&self, ty: Type) -> Option<u64> {
        self.cx.layout.abi_align(self.cx.context, &self.cx.bodies, ty)
    }

    /// Alignment of a `cmpxchg` or `atomicrmw` that states none: its size.
    pub(super) fn default_atomic_align(&self, ty: Type) -> Option<u64> {
        self.cx.layout.store_size(self.cx.context, ty).filter(|size| size.is_power_of_two())
    }

    /// Alignment of an `alloca` that states none.
    pub(super) fn default_stack_align(&self, data: &InstData) -> Option<u64> {
        let ty = data.element_type();
        self.cx.layout.preferred_align(self.cx.context, &self.cx.bodies, ty)
    }
}
