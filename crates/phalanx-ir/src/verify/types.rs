//! Questions about types that the rules and the builder ask.
//!
//! A [`Types`] knows the bodies of the module's identified structures. Answers about nested types
//! are computed with an explicit work list and cached, so that neither deep nor heavily shared
//! types cost more than their size.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::{
    constant::{Const, ConstKind},
    context::Context,
    types::{StructBody, StructName, Type, TypeKind},
};

/// Where the body of each identified structure is in [`crate::Module::structs`].
pub(crate) type StructIndex = FxHashMap<StructName, u32>;

/// The largest alignment LLVM knows, in bytes.
pub(crate) const MAX_ALIGN: u64 = 1 << 32;

/// Type questions over one module.
pub(crate) struct Types<'a> {
    pub(crate) context: &'a Context,
    structs: &'a [(StructName, StructBody)],
    index: &'a StructIndex,
    /// Answers of [`Types::is_sized`] for composite types.
    sized: RefCell<FxHashMap<Type, bool>>,
}

/// Number of lanes of a vector.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lanes {
    pub(crate) len: u32,
    pub(crate) scalable: bool,
}

impl<'a> Types<'a> {
    pub(crate) fn new(
        context: &'a Context,
        structs: &'a [(StructName, StructBody)],
        index: &'a StructIndex,
    ) -> Self {
        Types { context, structs, index, sized: RefCell::default() }
    }

    pub(crate) fn kind(&self, ty: Type) -> &'a TypeKind {
        self.context.type_kind(ty)
    }

    /// The body of an identified structure; opaque when the module has none.
    pub(crate) fn struct_body(&self, name: StructName) -> &'a StructBody {
        self.index.get(&name).map_or(&StructBody::Opaque, |&at| &self.structs[at as usize].1)
    }

    /// The fields of a structure type, identified or not; none for other types and opaque ones.
    pub(crate) fn fields(&self, ty: Type) -> Option<&'a [Type]> {
        match self.kind(ty) {
            TypeKind::Struct { fields, .. } => Some(fields),
            TypeKind::Named(name) => match self.struct_body(*name) {
                StructBody::Fields { fields, .. } => Some(fields),
                StructBody::Opaque => None,
            },
            _ => None,
        }
    }

    /// Element type of a vector; any other type itself.
    pub(crate) fn scalar(&self, ty: Type) -> Type {
        match self.kind(ty) {
            TypeKind::Vector { elem, .. } => *elem,
            _ => ty,
        }
    }

    /// Lanes of a vector; none for other types.
    pub(crate) fn lanes(&self, ty: Type) -> Option<Lanes> {
        match self.kind(ty) {
            TypeKind::Vector { len, scalable, .. } => {
                Some(Lanes { len: *len, scalable: *scalable })
            }
            _ => None,
        }
    }

    /// The vector of `lanes` elements of type `elem`, or `elem` itself without lanes.
    pub(crate) fn with_lanes(&self, elem: Type, lanes: Option<Lanes>) -> Type {
        match lanes {
            None => elem,
            Some(Lanes { len, scalable }) => {
                self.context.type_of_kind(&TypeKind::Vector { elem, len, scalable })
            }
        }
    }

    pub(crate) fn is_int(&self, ty: Type) -> bool {
        matches!(self.kind(ty), TypeKind::Int(_))
    }

    pub(crate) fn is_float(&self, ty: Type) -> bool {
        self.kind(ty).is_float()
    }

    pub(crate) fn is_ptr(&self, ty: Type) -> bool {
        matches!(self.kind(ty), TypeKind::Ptr(_))
    }

    pub(crate) fn is_vector(&self, ty: Type) -> bool {
        matches!(self.kind(ty), TypeKind::Vector { .. })
    }

    pub(crate) fn is_int_or_vector(&self, ty: Type) -> bool {
        self.is_int(self.scalar(ty))
    }

    pub(crate) fn is_float_or_vector(&self, ty: Type) -> bool {
        self.is_float(self.scalar(ty))
    }

    pub(crate) fn is_ptr_or_vector(&self, ty: Type) -> bool {
        self.is_ptr(self.scalar(ty))
    }

    /// Address space of a pointer or of a vector of pointers.
    pub(crate) fn address_space(&self, ty: Type) -> Option<u32> {
        self.kind(self.scalar(ty)).address_space()
    }

    /// Whether values of this type can be operands and results: not `void`, functions and opaque
    /// structures.
    pub(crate) fn is_first_class(&self, ty: Type) -> bool {
        match self.kind(ty) {
            TypeKind::Void | TypeKind::Function { .. } => false,
            TypeKind::Named(name) => *self.struct_body(*name) != StructBody::Opaque,
            _ => true,
        }
    }

    /// Whether this is a structure or an array.
    pub(crate) fn is_aggregate(&self, ty: Type) -> bool {
        matches!(
            self.kind(ty),
            TypeKind::Struct { .. } | TypeKind::Named(_) | TypeKind::Array { .. }
        )
    }

    /// Whether this is the token type or a type with the rules of tokens: DirectX's handles.
    pub(crate) fn is_token_like(&self, ty: Type) -> bool {
        match self.kind(ty) {
            TypeKind::Token => true,
            TypeKind::Target { name, .. } => self.context.bytes(*name).starts_with(b"dx."),
            _ => false,
        }
    }

    /// Whether this may be the type of a parameter.
    pub(crate) fn is_param_type(&self, ty: Type) -> bool {
        self.is_first_class(ty) && ty != Type::LABEL
    }

    /// Width in bits of an integer, a floating-point number or a vector of them; none for other
    /// types.
    pub(crate) fn bits(&self, ty: Type) -> Option<u64> {
        let kind = self.kind(ty);
        if let Some(bits) = kind.number_bits() {
            return Some(bits.into());
        }
        Some(match kind {
            TypeKind::X86Amx => 8192,
            TypeKind::Vector { elem, len, .. } => self.bits_of_scalar(*elem)? * u64::from(*len),
            _ => return None,
        })
    }

    fn bits_of_scalar(&self, ty: Type) -> Option<u64> {
        if self.is_vector(ty) { None } else { self.bits(ty) }
    }

    /// Member of an aggregate by position.
    pub(crate) fn member(&self, ty: Type, index: u64) -> Option<Type> {
        match self.kind(ty) {
            TypeKind::Array { elem, len } => (index < *len).then_some(*elem),
            _ => {
                let fields = self.fields(ty)?;
                fields.get(usize::try_from(index).ok()?).copied()
            }
        }
    }

    /// Follows the indices of an `extractvalue`. None when one does not fit.
    pub(crate) fn at_indices(&self, aggregate: Type, indices: &[u32]) -> Option<Type> {
        indices.iter().try_fold(aggregate, |ty, &index| self.member(ty, u64::from(index)))
    }

    /// Whether values of this type have a size in memory.
    pub(crate) fn is_sized(&self, ty: Type) -> bool {
        let scalar = |ty: Type| match self.kind(ty) {
            TypeKind::Void
            | TypeKind::Label
            | TypeKind::Metadata
            | TypeKind::Token
            | TypeKind::Function { .. } => Some(false),
            TypeKind::Target { name, .. } => Some(target_type_is_sized(self.context.bytes(*name))),
            TypeKind::Array { .. }
            | TypeKind::Vector { .. }
            | TypeKind::Struct { .. }
            | TypeKind::Named(_) => None,
            _ => Some(true),
        };
        if let Some(known) = scalar(ty) {
            return known;
        }
        if let Some(&known) = self.sized.borrow().get(&ty) {
            return known;
        }
        // Depth-first with an explicit stack. A type is sized when all its parts are; a structure
        // that contains itself has no size, and is found as a part that is still open.
        let mut known = self.sized.borrow_mut();
        let mut open: FxHashMap<Type, ()> = FxHashMap::default();
        let mut stack = vec![(ty, 0usize)];
        open.insert(ty, ());
        while let Some(&mut (top, ref mut next)) = stack.last_mut() {
            let parts: &[Type] = match self.kind(top) {
                TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => {
                    std::slice::from_ref(elem)
                }
                _ => match self.fields(top) {
                    Some(fields) if !self.is_unsized_struct(fields) => fields,
                    _ => {
                        known.insert(top, false);
                        &[]
                    }
                },
            };
            let mut answer = known.get(&top).copied();
            while answer.is_none() {
                let Some(&part) = parts.get(*next) else {
                    answer = Some(true);
                    break;
                };
                match scalar(part).or_else(|| known.get(&part).copied()) {
                    Some(true) => *next += 1,
                    Some(false) => answer = Some(false),
                    None if open.contains_key(&part) => answer = Some(false),
                    None => {
                        open.insert(part, ());
                        stack.push((part, 0));
                        break;
                    }
                }
            }
            if let Some(answer) = answer {
                known.insert(top, answer);
                open.remove(&top);
                stack.pop();
            }
        }
        known.get(&ty).copied().unwrap_or(false)
    }

    /// Whether the size of a type, or of the element of an array, is known only at run time:
    /// scalable vectors and some target types.
    pub(crate) fn is_scalable(&self, mut ty: Type) -> bool {
        loop {
            match self.kind(ty) {
                TypeKind::Array { elem, .. } => ty = *elem,
                TypeKind::Vector { scalable, .. } => return *scalable,
                TypeKind::Target { name, .. } => {
                    return matches!(
                        self.context.bytes(*name),
                        b"aarch64.svcount" | b"riscv.vector.tuple"
                    );
                }
                _ => return false,
            }
        }
    }

    /// Whether a structure has no size because some fields are scalable, and they are not vectors
    /// of one type.
    fn is_unsized_struct(&self, fields: &[Type]) -> bool {
        fields.iter().any(|&field| self.is_scalable(field))
            && !(self.lanes(fields[0]).is_some_and(|lanes| lanes.scalable)
                && fields.iter().all(|&field| field == fields[0]))
    }

    /// Whether a type contains `amdgcn.named.barrier`, which only variables of a workgroup can
    /// hold.
    pub(crate) fn contains_group_object(&self, ty: Type) -> bool {
        self.contains(ty, |kind| {
            let TypeKind::Target { name, .. } = kind else { return false };
            self.context.bytes(*name) == b"amdgcn.named.barrier"
        })
    }

    /// The least number of bytes of a number, a vector, or an array of these; 0 for other types.
    pub(crate) fn least_size(&self, mut ty: Type) -> u64 {
        let mut count = 1u64;
        loop {
            match self.kind(ty) {
                TypeKind::Array { elem, len } => {
                    count = count.saturating_mul(*len);
                    ty = *elem;
                }
                _ => return count.saturating_mul(self.bits(ty).unwrap_or(0).div_ceil(8)),
            }
        }
    }

    /// Whether a type of the wanted kind occurs in the type, at any depth.
    pub(crate) fn contains(&self, ty: Type, wanted: impl Fn(&TypeKind) -> bool) -> bool {
        let mut seen = FxHashMap::default();
        let mut work = vec![ty];
        while let Some(ty) = work.pop() {
            if wanted(self.kind(ty)) {
                return true;
            }
            if seen.insert(ty, ()).is_some() {
                continue;
            }
            match self.kind(ty) {
                TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => work.push(*elem),
                _ => work.extend(self.fields(ty).unwrap_or(&[]).iter().rev()),
            }
        }
        false
    }

    /// The value of an integer constant of at most 64 bits, as a signed number.
    pub(crate) fn const_signed(&self, constant: Const) -> Option<i64> {
        let bits = self
            .bits(self.context.const_data(constant).ty)
            .filter(|bits| (1..=64).contains(bits))?;
        let shift = 64 - bits;
        Some((self.const_int(constant)? << shift) as i64 >> shift)
    }

    /// Whether a constant is a scalar integer (not undefined, not an expression).
    pub(crate) fn is_plain_int(&self, constant: Const) -> bool {
        let data = self.context.const_data(constant);
        self.is_int(data.ty) && matches!(data.kind, ConstKind::Int(_) | ConstKind::Zero)
    }

    /// A key that equal scalar integers of one type share, however they are stored.
    pub(crate) fn int_key(&self, constant: Const) -> &'a [u64] {
        match &self.context.const_data(constant).kind {
            ConstKind::Int(int) if int.words().iter().any(|&word| word != 0) => int.words(),
            _ => &[],
        }
    }

    /// The integer a constant is, when it is one (or a splat of one) that fits 64 bits.
    pub(crate) fn const_int(&self, constant: Const) -> Option<u64> {
        let data = self.context.const_data(constant);
        match &data.kind {
            ConstKind::Int(int) => int.to_u64(),
            ConstKind::Zero if self.is_int_or_vector(data.ty) => Some(0),
            ConstKind::Splat(element) => match &self.context.const_data(*element).kind {
                ConstKind::Int(int) => int.to_u64(),
                _ => None,
            },
            ConstKind::Aggregate(elements) if self.is_vector(data.ty) => {
                let (&first, rest) = elements.split_first()?;
                if rest.iter().any(|&other| other != first) {
                    return None;
                }
                match &self.context.const_data(first).kind {
                    ConstKind::Int(int) => int.to_u64(),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Target types that variables may have.
pub(crate) fn target_type_may_be_global(name: &[u8]) -> bool {
    target_type_is_sized(name) && name != b"llvm.test.vectorelement"
}

/// Target types that LLVM gives a layout in memory.
fn target_type_is_sized(name: &[u8]) -> bool {
    const SIZED: &[&[u8]] = &[
        b"aarch64.svcount",
        b"riscv.vector.tuple",
        b"amdgcn.named.barrier",
        b"llvm.test.vectorelement",
    ];
    let spirv = name.starts_with(b"spirv.")
        && name != b"spirv.IntegralConstant"
        && name != b"spirv.Literal";
    spirv || name.starts_with(b"dx.") || SIZED.contains(&name)
}
