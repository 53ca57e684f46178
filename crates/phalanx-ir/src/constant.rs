//! Constants, by content.

use crate::{
    context::Context,
    inst::{InstFlags, Opcode},
    symbol::{GlobalName, Symbol},
    types::{Type, TypeKind},
};

/// An interned constant. Equal ids mean equal constants, within one [`crate::Context`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Const(u32);

impl Const {
    /// The constant with this number in its context.
    pub const fn from_raw(raw: u32) -> Self {
        Const(raw)
    }

    /// The number in the context.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

/// A constant and its type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConstData {
    /// Its type.
    pub ty: Type,
    /// Its value.
    pub kind: ConstKind,
}

/// An integer of any width; bits above the width are zero.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Int {
    /// At most 64 bits.
    Small(u64),
    /// More than 64 bits: little-endian words.
    Big(Box<[u64]>),
}

impl Int {
    /// The low `bits` bits of `value`, zero-extended to a wider type.
    pub fn from_u64(bits: u32, value: u64) -> Int {
        match bits {
            0..=63 => Int::Small(value & ((1u64 << bits) - 1)),
            64 => Int::Small(value),
            _ => {
                let mut words = vec![0; bits.div_ceil(64) as usize];
                words[0] = value;
                Int::Big(words.into())
            }
        }
    }

    /// The value as `u64` when it fits.
    pub fn to_u64(&self) -> Option<u64> {
        match self {
            Int::Small(value) => Some(*value),
            Int::Big(words) => words[1..].iter().all(|&w| w == 0).then(|| words[0]),
        }
    }

    /// The words, little-endian.
    pub fn words(&self) -> &[u64] {
        match self {
            Int::Small(value) => std::slice::from_ref(value),
            Int::Big(words) => words,
        }
    }
}

/// What a constant is.
///
/// Several kinds could represent the same constant; [`crate::Context::constant`] chooses one, so
/// that equal constants have equal ids. Zero of a number or pointer is [`ConstKind::Int`],
/// [`ConstKind::Float`] or [`ConstKind::Null`]. An aggregate whose elements are all zero, undefined
/// or poison is [`ConstKind::Zero`], [`ConstKind::Undef`] or [`ConstKind::Poison`]. An array of
/// numbers of type `i8` is [`ConstKind::Bytes`]; a vector of equal elements is
/// [`ConstKind::Splat`]. [`ConstKind::PtrAuth`] has all its operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstKind {
    /// An integer. A vector of equal integers is [`ConstKind::Splat`].
    Int(Int),
    /// The bit pattern of a floating-point number in its type's own format.
    Float(u128),
    /// `null`
    Null,
    /// `none` of type token
    NoneToken,
    /// `zeroinitializer`
    Zero,
    /// `undef`
    Undef,
    /// `poison`
    Poison,
    /// Elements of an array, structure or vector.
    Aggregate(Box<[Const]>),
    /// `c"bytes"`: an array of `i8`.
    Bytes(Box<[u8]>),
    /// `splat (..)`: all lanes of a vector.
    Splat(Const),
    /// The address of a function, variable, alias or ifunc.
    Global(GlobalName),
    /// `blockaddress(@function, %block)`; the block is entry `slot` of
    /// [`crate::Module::block_addresses`].
    BlockAddress {
        /// Entry in the module's table.
        slot: u32,
    },
    /// `dso_local_equivalent @function`
    DsoLocalEquivalent(GlobalName),
    /// `no_cfi @function`
    NoCfi(GlobalName),
    /// `ptrauth (ptr, key, discriminator, address, deactivation symbol)`; omitted operands are
    /// zero.
    PtrAuth(Box<[Const]>),
    /// A constant expression.
    Expr(Box<ConstExpr>),
    /// Inline assembly, as a callee.
    InlineAsm(Box<InlineAsm>),
}

impl ConstKind {
    /// The constants that this one is made of.
    pub fn parts(&self) -> &[Const] {
        match self {
            ConstKind::Aggregate(parts) | ConstKind::PtrAuth(parts) => parts,
            ConstKind::Splat(part) => std::slice::from_ref(part),
            ConstKind::Expr(expr) => &expr.operands,
            _ => &[],
        }
    }

    /// The entity of the module that this constant names, by its address or otherwise; none for a
    /// block address.
    pub fn entity(&self) -> Option<GlobalName> {
        match self {
            ConstKind::Global(name)
            | ConstKind::DsoLocalEquivalent(name)
            | ConstKind::NoCfi(name) => Some(*name),
            _ => None,
        }
    }
}

/// A constant expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConstExpr {
    /// Which operation.
    pub opcode: Opcode,
    /// `nuw`, `nsw`, `inbounds` ...
    pub flags: InstFlags,
    /// Operands in the order of the text.
    pub operands: Box<[Const]>,
    /// Source element type of a `getelementptr`.
    pub source_type: Option<Type>,
    /// `inrange(from, to)` of a `getelementptr`.
    pub in_range: Option<(i64, i64)>,
    /// Lanes of a `shufflevector`, `-1` being poison.
    pub mask: Box<[i32]>,
}

/// Inline assembly.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InlineAsm {
    /// The template.
    pub template: Symbol,
    /// The constraints.
    pub constraints: Symbol,
    /// Its function type.
    pub function_type: Type,
    /// `sideeffect`
    pub side_effects: bool,
    /// `alignstack`
    pub align_stack: bool,
    /// `inteldialect`
    pub intel_dialect: bool,
    /// `unwind`
    pub can_unwind: bool,
}

/// The canonical form of a constant whose elements are canonical. O(elements).
pub(crate) fn canonical(context: &Context, ty: Type, kind: ConstKind) -> ConstKind {
    let kind_of = |constant: &Const| &context.const_data(*constant).kind;
    let all = |elements: &[Const], test: fn(&ConstKind) -> bool| {
        elements.iter().all(|element| test(kind_of(element)))
    };
    match kind {
        ConstKind::Zero => zero(context.type_kind(ty)),
        ConstKind::Bytes(bytes) if bytes.iter().all(|&byte| byte == 0) => ConstKind::Zero,
        ConstKind::Splat(element) => match kind_of(&element) {
            kind if is_zero(kind) => ConstKind::Zero,
            ConstKind::Undef => ConstKind::Undef,
            ConstKind::Poison => ConstKind::Poison,
            _ => ConstKind::Splat(element),
        },
        ConstKind::Aggregate(elements) => {
            if all(&elements, is_zero) {
                ConstKind::Zero
            } else if all(&elements, |kind| *kind == ConstKind::Undef) {
                ConstKind::Undef
            } else if all(&elements, |kind| *kind == ConstKind::Poison) {
                ConstKind::Poison
            } else {
                match context.type_kind(ty) {
                    TypeKind::Array { elem: Type::I8, .. } => match bytes(context, &elements) {
                        Some(bytes) => ConstKind::Bytes(bytes),
                        None => ConstKind::Aggregate(elements),
                    },
                    TypeKind::Vector { .. } if elements.iter().all(|e| *e == elements[0]) => {
                        ConstKind::Splat(elements[0])
                    }
                    _ => ConstKind::Aggregate(elements),
                }
            }
        }
        ConstKind::Float(bits) if ty == Type::X86_FP80 => {
            ConstKind::Float(canonical_x86_fp80(bits))
        }
        ConstKind::PtrAuth(parts) if (2..5).contains(&parts.len()) => {
            let no_discriminator = context.int_const(Type::I64, 0);
            let null = context.constant(Type::PTR, ConstKind::Null);
            let rest = [no_discriminator, null, null];
            ConstKind::PtrAuth([&parts[..], &rest[parts.len() - 2..]].concat().into())
        }
        kind => kind,
    }
}

/// The bits of an `x86_fp80` in the form that LLVM stores. An invalid operand of the processor,
/// with an exponent but without the leading one bit, becomes a NaN. A denormal number with the
/// leading one bit gets the least exponent.
fn canonical_x86_fp80(bits: u128) -> u128 {
    const EXPONENT: u128 = 0x7fff << 64;
    const LEADING_ONE: u128 = 1 << 63;
    match (bits & EXPONENT, bits & LEADING_ONE) {
        (0, LEADING_ONE) => bits | 1 << 64,
        (1.., 0) => bits | EXPONENT,
        _ => bits,
    }
}

fn zero(kind: &TypeKind) -> ConstKind {
    match kind {
        TypeKind::Int(bits) => ConstKind::Int(Int::from_u64(*bits, 0)),
        TypeKind::Ptr(_) => ConstKind::Null,
        TypeKind::Token => ConstKind::NoneToken,
        kind if kind.is_float() => ConstKind::Float(0),
        _ => ConstKind::Zero,
    }
}

fn is_zero(kind: &ConstKind) -> bool {
    match kind {
        ConstKind::Int(int) => int.words().iter().all(|&word| word == 0),
        ConstKind::Float(bits) => *bits == 0,
        ConstKind::Null | ConstKind::NoneToken | ConstKind::Zero => true,
        _ => false,
    }
}

fn bytes(context: &Context, elements: &[Const]) -> Option<Box<[u8]>> {
    let byte = |element: &Const| match &context.const_data(*element).kind {
        ConstKind::Int(Int::Small(value)) => Some(*value as u8),
        _ => None,
    };
    elements.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinds of a two-element aggregate of `ty` with elements of `elem`.
    #[track_caller]
    fn check(
        elem: Type,
        container: fn(Type) -> TypeKind,
        elements: [ConstKind; 2],
        expected: &ConstKind,
    ) {
        let context = Context::new();
        let ty = context.type_of_kind(&container(elem));
        let elements = elements.map(|kind| context.constant(elem, kind));
        let constant = context.constant(ty, ConstKind::Aggregate(elements.into()));
        assert_eq!(context.const_data(constant).kind, *expected);
    }

    fn array(elem: Type) -> TypeKind {
        TypeKind::Array { elem, len: 2 }
    }

    fn vector(elem: Type) -> TypeKind {
        TypeKind::Vector { elem, len: 2, scalable: false }
    }

    fn int(value: u64) -> ConstKind {
        ConstKind::Int(Int::Small(value))
    }

    #[test]
    fn elements_that_are_all_the_same() {
        check(Type::I32, array, [int(0), ConstKind::Zero], &ConstKind::Zero);
        check(Type::PTR, array, [ConstKind::Null, ConstKind::Zero], &ConstKind::Zero);
        check(Type::I32, array, [ConstKind::Undef, ConstKind::Undef], &ConstKind::Undef);
        check(Type::I32, vector, [ConstKind::Poison, ConstKind::Poison], &ConstKind::Poison);
        check(Type::I8, array, [int(1), int(2)], &ConstKind::Bytes([1, 2].into()));
        check(Type::FLOAT, vector, [ConstKind::Float(0), ConstKind::Zero], &ConstKind::Zero);
    }

    #[test]
    fn a_vector_of_one_element_is_a_splat() {
        let context = Context::new();
        let one = context.int_const(Type::I32, 1);
        let ty = context.type_of_kind(&vector(Type::I32));
        let splat = context.constant(ty, ConstKind::Splat(one));
        assert_eq!(splat, context.constant(ty, ConstKind::Aggregate([one, one].into())));
        assert_eq!(context.const_data(splat).kind, ConstKind::Splat(one));
    }

    #[test]
    fn negative_zero_and_mixtures_stay() {
        let context = Context::new();
        let ty = context.type_of_kind(&array(Type::FLOAT));
        let elements =
            [1 << 31, 0].map(|bits| context.constant(Type::FLOAT, ConstKind::Float(bits)));
        let kind = ConstKind::Aggregate(elements.into());
        assert_eq!(context.const_data(context.constant(ty, kind.clone())).kind, kind);
    }

    #[test]
    fn zero_of_a_scalar_is_its_number() {
        let context = Context::new();
        let kind = |ty| context.const_data(context.constant(ty, ConstKind::Zero)).kind.clone();
        assert_eq!(kind(Type::I32), int(0));
        assert_eq!(kind(Type::DOUBLE), ConstKind::Float(0));
        assert_eq!(kind(Type::PTR3), ConstKind::Null);
    }
}
