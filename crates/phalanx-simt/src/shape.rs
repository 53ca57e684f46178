//! Sizes, offsets and address spaces of types.
//!
//! Sizes follow LLVM's data layout. The store size of a type is its bits rounded up to bytes; its
//! allocation size is the store size rounded up to the alignment. Members of a structure start at
//! the next multiple of their alignment unless it is packed. Vectors have no padding between lanes.
//! O(types inside), each visited once.

use phalanx_ir::{
    Context, Module, Type, TypeKind,
    data_layout::DataLayout,
    layout::StructBodies,
    types::{StructBody, StructName},
};
use rustc_hash::FxHashMap;

/// The structure of the values of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// An integer of this many bits.
    Int(u32),
    /// A floating-point number.
    Float(FloatKind),
    /// An address of this space.
    Ptr {
        /// The address space.
        space: u32,
        /// Bits of the pointer.
        bits: u32,
        /// Bits of an offset.
        index_bits: u32,
    },
    /// Lanes.
    Vector {
        /// Type of a lane.
        elem: Type,
        /// How many.
        len: u32,
    },
    /// Elements.
    Array {
        /// Type of an element.
        elem: Type,
        /// How many.
        len: u64,
        /// Bytes from one to the next.
        stride: u64,
    },
    /// Members with their offsets.
    Struct(Box<[(Type, u64)]>),
    /// Without values: `void`, `label`, `token`, opaque structures ...
    None,
}

/// Formats of floating-point numbers that are interpreted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FloatKind {
    /// `half`
    Half,
    /// `bfloat`
    BFloat,
    /// `float`
    Single,
    /// `double`
    Double,
}

impl FloatKind {
    /// Width of the format.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            FloatKind::Half | FloatKind::BFloat => 16,
            FloatKind::Single => 32,
            FloatKind::Double => 64,
        }
    }

    /// The bit that makes a NaN a quiet one.
    #[must_use]
    pub(crate) fn quiet(self) -> u128 {
        match self {
            FloatKind::Half => 1 << 9,
            FloatKind::BFloat => 1 << 6,
            FloatKind::Single => 1 << 22,
            FloatKind::Double => 1 << 51,
        }
    }

    /// The distance from one to the next greater number.
    #[must_use]
    pub fn epsilon(self) -> f64 {
        match self {
            FloatKind::Half => 2f64.powi(-10),
            FloatKind::BFloat => 2f64.powi(-7),
            FloatKind::Single => f32::EPSILON.into(),
            FloatKind::Double => f64::EPSILON,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    shape: Shape,
    /// Bytes that a store writes.
    size: u64,
    align: u64,
    /// How deep types nest inside.
    depth: u32,
}

/// Values whose types nest deeper are not interpreted, since work on values is recursive.
const DEPTH: u32 = 100;

/// The shapes of all types of a module.
#[derive(Clone, Debug)]
pub struct Shapes {
    entries: Vec<Entry>,
}

struct Bodies<'a>(FxHashMap<StructName, &'a StructBody>);

impl StructBodies for Bodies<'_> {
    fn body(&self, name: StructName) -> Option<&StructBody> {
        self.0.get(&name).copied()
    }
}

impl Shapes {
    /// The shapes of all types that the module's context holds now.
    #[must_use]
    pub fn new(module: &Module) -> Shapes {
        let context = &*module.context;
        let layout = DataLayout::of(module);
        let bodies = Bodies(module.structs.iter().map(|(name, body)| (*name, body)).collect());
        let count = context.type_count();
        let mut entries: Vec<Option<Entry>> = vec![None; count];
        let mut is_waiting = vec![false; count];
        for number in 0..count {
            // The parts of a type come first; with an explicit stack, since types may nest
            // arbitrarily deep.
            let mut stack = vec![Type::from_raw(number as u32)];
            while let Some(&ty) = stack.last() {
                if entries[ty.raw() as usize].is_some() {
                    stack.pop();
                    continue;
                }
                let inside = inside(context, &bodies, ty);
                let missing: Vec<Type> = inside
                    .iter()
                    .copied()
                    .filter(|t| {
                        entries[t.raw() as usize].is_none() && !is_waiting[t.raw() as usize]
                    })
                    .collect();
                is_waiting[ty.raw() as usize] = true;
                if missing.is_empty() {
                    let entry = describe(context, &layout, &bodies, &entries, ty);
                    entries[ty.raw() as usize] = Some(entry);
                    stack.pop();
                } else {
                    stack.extend(missing);
                }
            }
        }
        let none = Entry { shape: Shape::None, size: 0, align: 1, depth: 0 };
        Shapes { entries: entries.into_iter().map(|e| e.unwrap_or_else(|| none.clone())).collect() }
    }

    /// The shape of a type.
    #[inline]
    #[must_use]
    pub fn of(&self, ty: Type) -> &Shape {
        &self.entries[ty.raw() as usize].shape
    }

    /// Bytes that a store of the type writes.
    #[inline]
    #[must_use]
    pub fn store_size(&self, ty: Type) -> u64 {
        self.entries[ty.raw() as usize].size
    }

    /// Bytes from one element of an array of the type to the next.
    #[inline]
    #[must_use]
    pub fn alloc_size(&self, ty: Type) -> u64 {
        let entry = &self.entries[ty.raw() as usize];
        entry.size.next_multiple_of(entry.align)
    }

    /// Alignment in bytes.
    #[must_use]
    pub fn align(&self, ty: Type) -> u64 {
        self.entries[ty.raw() as usize].align
    }

    /// Bits of a scalar.
    #[must_use]
    pub fn bits(&self, ty: Type) -> Option<u32> {
        match *self.of(ty) {
            Shape::Int(bits) | Shape::Ptr { bits, .. } => Some(bits),
            Shape::Float(kind) => Some(kind.bits()),
            _ => None,
        }
    }
}

/// Types whose shapes a type needs.
fn inside(context: &Context, bodies: &Bodies<'_>, ty: Type) -> Vec<Type> {
    match context.type_kind(ty) {
        TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => vec![*elem],
        TypeKind::Struct { fields, .. } => fields.to_vec(),
        TypeKind::Named(name) => match bodies.body(*name) {
            Some(StructBody::Fields { fields, .. }) => fields.to_vec(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn describe(
    context: &Context,
    layout: &DataLayout,
    bodies: &Bodies<'_>,
    entries: &[Option<Entry>],
    ty: Type,
) -> Entry {
    let entry = |ty: Type| entries[ty.raw() as usize].as_ref();
    let stride = |ty: Type| entry(ty).map_or(0, |e| e.size.next_multiple_of(e.align));
    let members = |packed: bool, fields: &[Type]| {
        let (mut at, mut list) = (0u64, Vec::new());
        for &field in fields {
            let align = if packed { 1 } else { entry(field).map_or(1, |e| e.align) };
            at = at.next_multiple_of(align);
            list.push((field, at));
            at = at.saturating_add(stride(field));
        }
        (Shape::Struct(list.into()), at)
    };
    let align = layout.abi_align(context, bodies, ty).unwrap_or(1).max(1);
    let scalar = |shape| {
        let size = layout.store_size(context, ty).unwrap_or(0);
        (shape, size)
    };
    let (shape, size) = match context.type_kind(ty) {
        &TypeKind::Int(bits) => scalar(Shape::Int(bits)),
        TypeKind::Half => scalar(Shape::Float(FloatKind::Half)),
        TypeKind::BFloat => scalar(Shape::Float(FloatKind::BFloat)),
        TypeKind::Float => scalar(Shape::Float(FloatKind::Single)),
        TypeKind::Double => scalar(Shape::Float(FloatKind::Double)),
        &TypeKind::Ptr(space) => scalar(Shape::Ptr {
            space,
            bits: layout.pointer_size(space).min(128),
            index_bits: layout.address_bits(space),
        }),
        &TypeKind::Vector { elem, len, scalable: false } => scalar(Shape::Vector { elem, len }),
        &TypeKind::Array { elem, len } => {
            let stride = stride(elem);
            (Shape::Array { elem, len, stride }, stride.saturating_mul(len))
        }
        TypeKind::Struct { packed, fields } => members(*packed, fields),
        TypeKind::Named(name) => match bodies.body(*name) {
            Some(StructBody::Fields { packed, fields }) => members(*packed, fields),
            _ => (Shape::None, 0),
        },
        // No operation computes with these; those with a size still have a place in memory.
        _ => scalar(Shape::None),
    };
    // A structure is padded to its alignment; what is smaller than its alignment is not.
    let size = if matches!(shape, Shape::Struct(_)) { size.next_multiple_of(align) } else { size };
    let below = inside(context, bodies, ty).into_iter().filter_map(|t| entry(t).map(|e| e.depth));
    let depth = below.max().map_or(0, |depth| depth.saturating_add(1));
    let shape = if depth > DEPTH { Shape::None } else { shape };
    Entry { shape, size, align, depth }
}
