//! The data layout: sizes and alignments of types on a target.
//!
//! What `target datalayout` says is laid over LLVM's defaults, as the Language Reference describes ("Data Layout"). Text
//! may leave the alignment of a memory operation out; the layout says what it then is.
//!
//! A string is taken as far as it can be understood: a specification that cannot be read leaves the default in place.
//! [`DataLayout::parse`] is O(length); alignments are O(1) for types that hold no others and O(types inside) for
//! aggregates, each type inside being looked at once.

use rustc_hash::FxHashSet;

use crate::{
    context::Context,
    types::{StructBody, StructName, Type, TypeKind},
};

/// Alignment of the types of one size, in bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Spec {
    bits: u32,
    abi: u64,
    preferred: u64,
}

/// Pointers of one address space.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct PointerSpec {
    space: u32,
    bits: u32,
    abi: u64,
    preferred: u64,
    /// Bits of an address: what arithmetic on the pointer changes.
    address_bits: u32,
}

/// Sizes and alignments of types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataLayout {
    /// Sorted by size.
    ints: Vec<Spec>,
    floats: Vec<Spec>,
    vectors: Vec<Spec>,
    /// Sorted by address space; the first is space 0.
    pointers: Vec<PointerSpec>,
    aggregate: Spec,
    program_space: u32,
    alloca_space: u32,
    globals_space: u32,
}

/// Bodies of identified structures.
pub trait StructBodies {
    /// The body of a structure; none when it is not defined.
    fn body(&self, name: StructName) -> Option<&StructBody>;
}

impl Default for DataLayout {
    fn default() -> Self {
        let spec = |bits, abi, preferred| Spec { bits, abi, preferred };
        DataLayout {
            ints: vec![
                spec(1, 1, 1),
                spec(8, 1, 1),
                spec(16, 2, 2),
                spec(32, 4, 4),
                spec(64, 4, 8),
            ],
            floats: vec![spec(16, 2, 2), spec(32, 4, 4), spec(64, 8, 8), spec(128, 16, 16)],
            vectors: vec![spec(64, 8, 8), spec(128, 16, 16)],
            pointers: vec![PointerSpec {
                space: 0,
                bits: 64,
                abi: 8,
                preferred: 8,
                address_bits: 64,
            }],
            aggregate: spec(0, 1, 8),
            program_space: 0,
            alloca_space: 0,
            globals_space: 0,
        }
    }
}

impl DataLayout {
    /// The layout that a `target datalayout` string describes.
    pub fn parse(text: &[u8]) -> Self {
        let mut layout = DataLayout::default();
        for spec in text.split(|&byte| byte == b'-') {
            if let Ok(spec) = std::str::from_utf8(spec) {
                layout.apply(spec);
            }
        }
        layout
    }

    /// Takes one specification over; none when it cannot be read or says nothing about sizes.
    fn apply(&mut self, spec: &str) -> Option<()> {
        let mut chars = spec.chars();
        let letter = chars.next()?;
        let rest = chars.as_str();
        match letter {
            'P' => self.program_space = rest.parse().ok()?,
            'A' => self.alloca_space = rest.parse().ok()?,
            'G' => self.globals_space = rest.parse().ok()?,
            'i' | 'f' | 'v' | 'a' => {
                let mut parts = rest.split(':');
                let bits = match parts.next()? {
                    "" if letter == 'a' => 0,
                    bits => bits.parse().ok()?,
                };
                let (abi, preferred) = alignments(&mut parts)?;
                let spec = Spec { bits, abi, preferred };
                match letter {
                    'i' => insert(&mut self.ints, spec),
                    'f' => insert(&mut self.floats, spec),
                    'v' => insert(&mut self.vectors, spec),
                    _ => self.aggregate = spec,
                }
            }
            'p' => {
                let mut parts = rest.split(':');
                // Letters before the number say what a pointer means, not how large it is.
                let space =
                    match parts.next()?.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
                        "" => 0,
                        space => space.parse().ok()?,
                    };
                let bits = parts.next()?.parse().ok()?;
                let (abi, preferred) = alignments(&mut parts)?;
                let address_bits = match parts.next() {
                    Some(address_bits) => address_bits.parse().ok()?,
                    None => bits,
                };
                let spec = PointerSpec { space, bits, abi, preferred, address_bits };
                match self.pointers.binary_search_by_key(&space, |p| p.space) {
                    Ok(at) => self.pointers[at] = spec,
                    Err(at) => self.pointers.insert(at, spec),
                }
            }
            _ => {}
        }
        Some(())
    }

    /// The address space of functions (`P`).
    pub fn program_space(&self) -> u32 {
        self.program_space
    }

    /// The address space of stack objects (`A`).
    pub fn alloca_space(&self) -> u32 {
        self.alloca_space
    }

    /// The address space of variables (`G`).
    pub fn globals_space(&self) -> u32 {
        self.globals_space
    }

    fn pointer(&self, space: u32) -> PointerSpec {
        match self.pointers.binary_search_by_key(&space, |p| p.space) {
            Ok(at) => self.pointers[at],
            Err(_) => self.pointers[0],
        }
    }

    /// Size of a pointer in bits.
    pub fn pointer_bits(&self, space: u32) -> u32 {
        self.pointer(space).bits
    }

    /// Bits of a pointer that are its address: the width of offsets, and of what `ptrtoaddr` gives.
    pub fn address_bits(&self, space: u32) -> u32 {
        self.pointer(space).address_bits
    }

    /// Size in bits of a number, a pointer or a vector of them (of a scalable vector: its least size). None for any
    /// other type.
    pub fn bits(&self, context: &Context, ty: Type) -> Option<u64> {
        Some(match *context.type_kind(ty) {
            TypeKind::Int(bits) => bits.into(),
            TypeKind::Half | TypeKind::BFloat => 16,
            TypeKind::Float => 32,
            TypeKind::Double => 64,
            TypeKind::X86Fp80 => 80,
            TypeKind::Fp128 | TypeKind::PpcFp128 => 128,
            TypeKind::X86Amx => 8192,
            TypeKind::Ptr(space) => self.pointer(space).bits.into(),
            TypeKind::Vector { elem, len, .. } => match context.type_kind(elem) {
                // Vectors hold no vectors, so this goes one step deep.
                TypeKind::Vector { .. } => return None,
                _ => self.bits(context, elem)?.checked_mul(len.into())?,
            },
            _ => return None,
        })
    }

    /// How many bytes a store of a number, a pointer or a vector of them writes. None for any other type.
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
            return Some(spec.abi);
        }
        let mut align = 1;
        let mut seen = FxHashSet::default();
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            if !seen.insert(ty) {
                continue;
            }
            if let Some(spec) = self.simple(context, ty) {
                align = align.max(spec.abi);
                continue;
            }
            match context.type_kind(ty) {
                TypeKind::Array { elem, .. } => stack.push(*elem),
                kind => {
                    let (packed, fields) = fields(kind, structs)?;
                    if !packed {
                        align = align.max(self.aggregate.abi);
                        stack.extend(fields);
                    }
                }
            }
        }
        Some(align)
    }

    /// The alignment that is best for a type, which `alloca` takes when none is stated. None for a type without a size.
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
            return Some(spec.preferred);
        }
        fields(context.type_kind(ty), structs)?;
        Some(self.aggregate.preferred.max(self.abi_align(context, structs, ty)?))
    }

    /// Alignments of a type that holds no other, or a vector.
    fn simple(&self, context: &Context, ty: Type) -> Option<Spec> {
        let natural = |bits: u64| {
            let bytes = bits.div_ceil(8).checked_next_power_of_two().unwrap_or(1);
            Spec { bits: 0, abi: bytes, preferred: bytes }
        };
        let exact = |specs: &[Spec], bits: u64| {
            let found = specs.iter().find(|spec| u64::from(spec.bits) == bits).copied();
            found.unwrap_or_else(|| natural(bits))
        };
        let kind = context.type_kind(ty);
        Some(match *kind {
            TypeKind::Int(bits) => {
                let at = self.ints.partition_point(|spec| spec.bits < bits);
                *self.ints.get(at).or(self.ints.last())?
            }
            TypeKind::Ptr(space) => {
                let PointerSpec { abi, preferred, bits, .. } = self.pointer(space);
                Spec { bits, abi, preferred }
            }
            TypeKind::Target { name, .. } => match context.bytes(name) {
                // How LLVM holds the target types that memory can hold: as a vector or a pointer.
                b"aarch64.svcount" => natural(16),
                b"amdgcn.named.barrier" => natural(128),
                name if name.starts_with(b"spirv.") => return self.simple(context, Type::PTR),
                _ => return None,
            },
            TypeKind::X86Amx => Spec { bits: 0, abi: 64, preferred: 64 },
            TypeKind::Vector { .. } => exact(&self.vectors, self.bits(context, ty)?),
            _ if kind.is_float() => exact(&self.floats, self.bits(context, ty)?),
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

/// `abi[:preferred..]` in bits, as bytes. An ABI alignment of 0 counts as one byte.
fn alignments<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<(u64, u64)> {
    let bytes = |text: &str| {
        let bits: u64 = text.parse().ok()?;
        bits.is_multiple_of(8).then_some((bits / 8).max(1))
    };
    let abi = bytes(parts.next()?)?;
    let preferred = match parts.next() {
        Some(text) => bytes(text)?,
        None => abi,
    };
    Some((abi, preferred))
}

fn insert(specs: &mut Vec<Spec>, spec: Spec) {
    match specs.binary_search_by_key(&spec.bits, |s| s.bits) {
        Ok(at) => specs[at] = spec,
        Err(at) => specs.insert(at, spec),
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
        let layout = DataLayout::parse(layout.as_bytes());
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
        let layout = DataLayout::parse(amdgpu.as_bytes());
        assert_eq!(
            (layout.alloca_space(), layout.globals_space(), layout.program_space()),
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
    fn unreadable_specifications_change_nothing() {
        let layout = DataLayout::parse(b"i64-v:-p:x-i32:7-\xff-f64:-:");
        assert_eq!(layout, DataLayout::default());
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
