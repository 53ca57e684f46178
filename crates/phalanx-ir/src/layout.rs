//! Sizes and alignments of types under a data layout.
//!
//! Text may omit the alignment of a memory operation; the layout then determines it (Language
//! Reference, "Data Layout"). O(1) for types without members and O(types inside) for aggregates,
//! since each type inside is looked at once.

use rustc_hash::FxHashSet;

use crate::{
    context::Context,
    data_layout::{Alignment, DataLayout},
    types::{StructBody, StructName, Type, TypeKind},
};

/// Bodies of identified structures.
pub trait StructBodies {
    /// The body of a structure; none when it is not defined.
    fn body(&self, name: StructName) -> Option<&StructBody>;
}

impl DataLayout {
    /// Bits of a pointer that are its address: the width of offsets and of the result of
    /// `ptrtoaddr`.
    pub fn address_bits(&self, space: u32) -> u32 {
        self.pointer(space).index_size
    }

    /// Size in bits of a number, a pointer or a vector of them (of a scalable vector: its least
    /// size). None for any other type.
    pub fn bits(&self, context: &Context, ty: Type) -> Option<u64> {
        let kind = context.type_kind(ty);
        if let Some(bits) = kind.number_bits() {
            return Some(bits.into());
        }
        Some(match *kind {
            TypeKind::X86Amx => 8192,
            TypeKind::Ptr(space) => self.pointer_size(space).into(),
            TypeKind::Vector { elem, len, .. } => match context.type_kind(elem) {
                // Vectors hold no vectors, so this goes one step deep.
                TypeKind::Vector { .. } => return None,
                _ => self.bits(context, elem)?.checked_mul(len.into())?,
            },
            _ => return None,
        })
    }

    /// How many bytes a store of a number, a pointer or a vector of them writes. None for any other
    /// type.
    pub fn store_size(&self, context: &Context, ty: Type) -> Option<u64> {
        Some(self.bits(context, ty)?.div_ceil(8))
    }

    /// The alignment of a type in memory. None for a type without a size.
    pub fn abi_align(
        &self,
        context: &Context,
        structs: &impl StructBodies,
        ty: Type,
    ) -> Option<u64> {
        if let Some(spec) = self.simple(context, ty) {
            return Some(spec.abi.into());
        }
        let mut align = 1;
        let mut seen = FxHashSet::default();
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            if !seen.insert(ty) {
                continue;
            }
            if let Some(spec) = self.simple(context, ty) {
                align = align.max(spec.abi.into());
                continue;
            }
            match context.type_kind(ty) {
                TypeKind::Array { elem, .. } => stack.push(*elem),
                kind => {
                    let (packed, fields) = fields(kind, structs)?;
                    if !packed {
                        align = align.max(self.aggregate_alignment().abi.into());
                        stack.extend(fields);
                    }
                }
            }
        }
        Some(align)
    }

    /// The preferred alignment of a type, which an `alloca` without a stated alignment gets. None
    /// for a type without a size.
    pub fn preferred_align(
        &self,
        context: &Context,
        structs: &impl StructBodies,
        mut ty: Type,
    ) -> Option<u64> {
        while let TypeKind::Array { elem, .. } = context.type_kind(ty) {
            ty = *elem;
        }
        if let Some(spec) = self.simple(context, ty) {
            return Some(spec.preferred.into());
        }
        fields(context.type_kind(ty), structs)?;
        Some(
            u64::from(self.aggregate_alignment().preferred)
                .max(self.abi_align(context, structs, ty)?),
        )
    }

    /// Alignments of a type without members, or of a vector.
    fn simple(&self, context: &Context, ty: Type) -> Option<Alignment> {
        let both = |bytes| Alignment { abi: bytes, preferred: bytes };
        let kind = context.type_kind(ty);
        Some(match *kind {
            TypeKind::Int(bits) => self.integer_alignment(bits),
            TypeKind::Ptr(space) => self.pointer(space).alignment,
            TypeKind::Target { name, ref ints, .. } => match context.bytes(name) {
                // LLVM stores these target types in memory as a vector or a pointer.
                b"aarch64.svcount" => both(2),
                b"amdgcn.named.barrier" => both(16),
                // Operation code, size, alignment in bits.
                b"spirv.Type" => match ints[..] {
                    [_, size, bits] if size > 0 && bits > 0 => self.integer_alignment(bits),
                    _ => self.integer_alignment(32),
                },
                b"spirv.Padding" => self.integer_alignment(8),
                name if name.starts_with(b"spirv.") => return self.simple(context, Type::PTR),
                _ => return None,
            },
            TypeKind::X86Amx => both(64),
            TypeKind::Vector { .. } => self.vector_alignment(self.bits(context, ty)?),
            _ if kind.is_float() => {
                self.float_alignment(u32::try_from(self.bits(context, ty)?).ok()?)
            }
            _ => return None,
        })
    }
}

/// Whether a structure is packed, and its fields. None for a type that is no structure with a body.
fn fields<'a>(kind: &'a TypeKind, structs: &'a impl StructBodies) -> Option<(bool, &'a [Type])> {
    match kind {
        TypeKind::Struct { packed, fields } => Some((*packed, fields)),
        TypeKind::Named(name) => match structs.body(*name)? {
            StructBody::Fields { packed, fields } => Some((*packed, fields)),
            StructBody::Opaque => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoStructs;

    impl StructBodies for NoStructs {
        fn body(&self, _: StructName) -> Option<&StructBody> {
            None
        }
    }

    #[track_caller]
    fn check(layout: &str, kind: &TypeKind, abi: u64, preferred: u64) {
        let context = Context::new();
        let ty = context.type_of_kind(kind);
        let layout = DataLayout::parse(layout).expect("a layout");
        assert_eq!(layout.abi_align(&context, &NoStructs, ty), Some(abi), "ABI alignment");
        assert_eq!(layout.preferred_align(&context, &NoStructs, ty), Some(preferred), "preferred");
    }

    #[test]
    fn defaults() {
        check("", &TypeKind::Int(1), 1, 1);
        check("", &TypeKind::Int(24), 4, 4);
        check("", &TypeKind::Int(64), 4, 8);
        check("", &TypeKind::Int(128), 4, 8);
        check("", &TypeKind::X86Fp80, 16, 16);
        check("", &TypeKind::Ptr(3), 8, 8);
        check("", &TypeKind::Vector { elem: Type::FLOAT, len: 3, scalable: false }, 16, 16);
        check("", &TypeKind::Array { elem: Type::I64, len: 3 }, 4, 8);
        let fields = [Type::I8, Type::I16].into();
        check("", &TypeKind::Struct { packed: false, fields }, 2, 8);
        let fields = [Type::I8, Type::I16].into();
        check("", &TypeKind::Struct { packed: true, fields }, 1, 8);
    }

    #[test]
    fn stated() {
        let amdgpu = "e-p:64:64-p3:32:32-p7:160:256:256:32-i64:64-v48:64-a:16:32-A5-G1";
        check(amdgpu, &TypeKind::Int(64), 8, 8);
        check(amdgpu, &TypeKind::Int(128), 8, 8);
        check(amdgpu, &TypeKind::Ptr(3), 4, 4);
        check(amdgpu, &TypeKind::Ptr(7), 32, 32);
        check(amdgpu, &TypeKind::Ptr(1), 8, 8);
        check(amdgpu, &TypeKind::Vector { elem: Type::I16, len: 3, scalable: false }, 8, 8);
        let fields = [Type::I8].into();
        check(amdgpu, &TypeKind::Struct { packed: false, fields }, 2, 4);
        let layout = DataLayout::parse(amdgpu).expect("a layout");
        assert_eq!(
            (layout.alloca_space(), layout.global_space(), layout.program_space()),
            (5, 1, 0)
        );
    }

    #[test]
    fn without_size() {
        let context = Context::new();
        let layout = DataLayout::default();
        assert_eq!(layout.abi_align(&context, &NoStructs, Type::VOID), None);
        assert_eq!(layout.preferred_align(&context, &NoStructs, Type::LABEL), None);
    }

    #[test]
    fn nesting_is_no_recursion() {
        let context = Context::new();
        let mut ty = Type::I32;
        for _ in 0..100_000 {
            let fields = [ty, ty].into();
            ty = context.type_of_kind(&TypeKind::Struct { packed: false, fields });
        }
        assert_eq!(DataLayout::default().abi_align(&context, &NoStructs, ty), Some(4));
    }
}
