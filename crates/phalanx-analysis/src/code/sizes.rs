//! Sizes of types and offsets of addresses.
//!
//! Sizes follow LLVM's data layout (Language Reference, "Data Layout"). An array element begins at
//! the next multiple of its alignment, and so does a member of a structure unless the structure is
//! packed. A size that is not known, because a structure has no body or a vector is scalable, is
//! `None`. So is an offset that does not fit.
//!
//! Sizes are cached by type: O(types inside) for the first question about a type, O(1) for the
//! next. There is no recursion, since types may nest to any depth.

use std::rc::Rc;

use phalanx_ir::{
    Body, Const, Context, InstId, Module, Type, TypeKind, Value,
    constant::ConstKind,
    data_layout::DataLayout,
    layout::StructBodies,
    types::{StructBody, StructName},
};
use rustc_hash::FxHashMap;

/// What a module says of the layout of its types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeLayout {
    layout: DataLayout,
    structs: FxHashMap<StructName, StructBody>,
}

impl TypeLayout {
    /// The layout of the types of a module.
    #[must_use]
    pub fn of(module: &Module) -> Self {
        let structs = module.structs.iter().map(|(name, body)| (*name, body.clone())).collect();
        Self { layout: DataLayout::of(module), structs }
    }

    /// The data layout.
    #[must_use]
    pub fn data_layout(&self) -> &DataLayout {
        &self.layout
    }
}

impl StructBodies for TypeLayout {
    fn body(&self, name: StructName) -> Option<&StructBody> {
        self.structs.get(&name)
    }
}

/// Size, alignment and member offsets of a type.
#[derive(Clone, Debug)]
struct Extent {
    /// Bytes from one array element to the next.
    stride: u64,
    /// Bytes that a store writes; for an aggregate, all of it.
    stored: u64,
    align: u64,
    /// Offsets of the members of a structure; none for other types.
    offsets: Option<Rc<[u64]>>,
}

/// Sizes and offsets of types, with a cache.
#[derive(Debug)]
pub struct TypeSizes<'a> {
    context: &'a Context,
    layout: &'a TypeLayout,
    known: FxHashMap<Type, Option<Extent>>,
}

impl<'a> TypeSizes<'a> {
    /// Sizes under a layout.
    #[must_use]
    pub fn new(context: &'a Context, layout: &'a TypeLayout) -> Self {
        Self { context, layout, known: FxHashMap::default() }
    }

    /// How many bytes a store of the type writes, padding inside included.
    pub fn store_size(&mut self, ty: Type) -> Option<u64> {
        match self.context.type_kind(ty) {
            TypeKind::Array { .. } | TypeKind::Struct { .. } | TypeKind::Named(_) => {
                self.extent(ty).map(|extent| extent.stored)
            }
            TypeKind::Vector { scalable: true, .. } => None,
            // The most frequent case, which needs no cache.
            _ => self.layout.layout.store_size(self.context, ty),
        }
    }

    /// How many bytes an element of the type takes in an array.
    pub fn stride(&mut self, ty: Type) -> Option<u64> {
        self.extent(ty).map(|extent| extent.stride)
    }

    /// How many bytes an element of the type takes in a vector, which has no gaps. None if the size
    /// is not a whole number of bytes.
    #[must_use]
    pub fn lane_size(&self, ty: Type) -> Option<u64> {
        lane_size(self.context, &self.layout.layout, ty)
    }

    /// Where a member of a structure begins.
    pub fn member_offset(&mut self, ty: Type, index: usize) -> Option<u64> {
        self.extent(ty)?.offsets?.get(index).copied()
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &'a TypeLayout {
        self.layout
    }

    /// Whether a store of the type writes every bit of its bytes with bits of the value, or with
    /// zeros.
    #[must_use]
    pub fn is_scalar(&self, ty: Type) -> bool {
        self.layout.layout.bits(self.context, ty).is_some()
            && !matches!(self.context.type_kind(ty), TypeKind::Vector { scalable: true, .. })
    }

    fn extent(&mut self, ty: Type) -> Option<Extent> {
        if let Some(known) = self.known.get(&ty) {
            return known.clone();
        }
        let mut stack = vec![(ty, false)];
        while let Some((ty, is_ready)) = stack.pop() {
            if self.known.contains_key(&ty) {
                continue;
            }
            if is_ready {
                let extent = self.measure(ty);
                self.known.insert(ty, extent);
                continue;
            }
            stack.push((ty, true));
            let inside = self.inside(ty);
            // A type that contains itself has no size: the second visit finds it without one.
            stack.extend(
                inside
                    .iter()
                    .filter(|inner| !self.known.contains_key(inner))
                    .map(|inner| (*inner, false)),
            );
            if stack.len() > 1 << 20 {
                return None;
            }
        }
        self.known.get(&ty).cloned().flatten()
    }

    fn inside(&self, ty: Type) -> &'a [Type] {
        match self.context.type_kind(ty) {
            TypeKind::Array { elem, .. } => std::slice::from_ref(elem),
            TypeKind::Struct { fields, .. } => fields,
            TypeKind::Named(name) => match self.layout.body(*name) {
                Some(StructBody::Fields { fields, .. }) => fields,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// The extent of a type; the extents of the types inside are known.
    fn measure(&self, ty: Type) -> Option<Extent> {
        let (context, layout) = (self.context, &self.layout.layout);
        match context.type_kind(ty) {
            TypeKind::Vector { scalable: true, .. } => None,
            TypeKind::Array { elem, len } => {
                let inner = self.known.get(elem)?.clone()?;
                let size = inner.stride.checked_mul(*len)?;
                Some(Extent { stride: size, stored: size, align: inner.align, offsets: None })
            }
            TypeKind::Struct { packed, fields } => self.structure(*packed, fields),
            TypeKind::Named(name) => match self.layout.body(*name)? {
                StructBody::Fields { packed, fields } => self.structure(*packed, fields),
                StructBody::Opaque => None,
            },
            _ => {
                let stored = layout.store_size(context, ty)?;
                let align = layout.abi_align(context, self.layout, ty)?.max(1);
                let stride = stored.checked_next_multiple_of(align)?;
                Some(Extent { stride, stored, align, offsets: None })
            }
        }
    }

    fn structure(&self, packed: bool, fields: &[Type]) -> Option<Extent> {
        let (mut at, mut align) = (0u64, 1);
        if !packed {
            align = u64::from(self.layout.layout.aggregate_alignment().abi).max(1);
        }
        let mut offsets = Vec::with_capacity(fields.len());
        for field in fields {
            let field = self.known.get(field)?.as_ref()?;
            if !packed {
                at = at.checked_next_multiple_of(field.align)?;
                align = align.max(field.align);
            }
            offsets.push(at);
            at = at.checked_add(field.stride)?;
        }
        let size = at.checked_next_multiple_of(align)?;
        Some(Extent { stride: size, stored: size, align, offsets: Some(offsets.into()) })
    }

    /// How far a `getelementptr` moves its base, if all its indices are constants.
    pub fn gep_offset(&mut self, body: &Body, gep: InstId) -> Option<i64> {
        let indices = body.operands(gep).get(1..)?;
        let data = body.inst(gep);
        self.offset(data.ty, data.element_type(), indices.iter().map(|index| index.as_const()))
    }

    /// How far indices into a type move an address of type `pointer`, in the arithmetic of its
    /// space: a signed number with as many bits as an index has there. None stands for an index
    /// that is no constant.
    pub fn offset(
        &mut self,
        pointer: Type,
        ty: Type,
        indices: impl Iterator<Item = Option<Const>>,
    ) -> Option<i64> {
        let bits = self.index_bits(pointer)?;
        Some(cut(self.steps(ty, indices, |_, _| false)?, bits))
    }

    /// How far the constant indices into a type move an address. For each other index, `variable`
    /// is called with its position and with how far each unit of it moves the address; it returns
    /// whether to go on.
    pub(crate) fn steps(
        &mut self,
        mut ty: Type,
        indices: impl Iterator<Item = Option<Const>>,
        mut variable: impl FnMut(usize, i64) -> bool,
    ) -> Option<i64> {
        let mut offset = 0i64;
        for (position, index) in indices.enumerate() {
            let stride = if position == 0 {
                self.signed_stride(ty)?
            } else {
                match self.context.type_kind(ty) {
                    TypeKind::Array { elem, .. } => {
                        ty = *elem;
                        self.signed_stride(ty)?
                    }
                    TypeKind::Vector { elem, .. } => {
                        ty = *elem;
                        i64::try_from(self.lane_size(ty)?).ok()?
                    }
                    TypeKind::Struct { .. } | TypeKind::Named(_) => {
                        let field = usize::try_from(self.integer(index?)?).ok()?;
                        let extent = self.extent(ty)?;
                        ty = *self.inside(ty).get(field)?;
                        let step = i64::try_from(*extent.offsets.as_ref()?.get(field)?).ok()?;
                        offset = offset.wrapping_add(step);
                        continue;
                    }
                    _ => return None,
                }
            };
            match index {
                Some(index) => {
                    let step = self.integer(index)?.wrapping_mul(stride);
                    offset = offset.wrapping_add(step);
                }
                None if !variable(position, stride) => return None,
                None => {}
            }
        }
        Some(offset)
    }

    /// How many bits an index has in the space of an address, or of a vector of addresses; address
    /// arithmetic drops higher bits. None for other types, and if there are more than 64.
    #[must_use]
    pub fn index_bits(&self, pointer: Type) -> Option<u32> {
        let scalar = match *self.context.type_kind(pointer) {
            TypeKind::Vector { elem, .. } => elem,
            _ => pointer,
        };
        let space = self.context.type_kind(scalar).address_space()?;
        let bits = self.layout.layout.pointer(space).index_size;
        (bits <= i64::BITS).then_some(bits)
    }

    fn signed_stride(&mut self, ty: Type) -> Option<i64> {
        i64::try_from(self.stride(ty)?).ok()
    }

    /// A constant integer with its sign.
    #[must_use]
    pub fn integer(&self, constant: Const) -> Option<i64> {
        let data = self.context.const_data(constant);
        let TypeKind::Int(bits) = *self.context.type_kind(data.ty) else { return None };
        match &data.kind {
            ConstKind::Zero => Some(0),
            ConstKind::Int(int) if bits <= 64 => Some(cut(int.to_u64()? as i64, bits)),
            _ => None,
        }
    }

    /// The value of an operand that is a constant integer.
    #[must_use]
    pub fn integer_operand(&self, operand: Value) -> Option<i64> {
        operand.as_const().and_then(|constant| self.integer(constant))
    }
}

/// See [`TypeSizes::lane_size`].
pub(crate) fn lane_size(context: &Context, layout: &DataLayout, ty: Type) -> Option<u64> {
    layout.bits(context, ty).filter(|bits| bits % 8 == 0).map(|bits| bits / 8)
}

/// The low bits of a number, at most 64, as a signed one.
#[must_use]
pub(crate) fn cut(value: i64, bits: u32) -> i64 {
    let shift = i64::BITS.saturating_sub(bits);
    value.checked_shl(shift).map_or(0, |high| high >> shift)
}
