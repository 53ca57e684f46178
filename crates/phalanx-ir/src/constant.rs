//! Constants, by content.

use crate::{
    inst::{InstFlags, Opcode},
    symbol::{GlobalName, Symbol},
    types::Type,
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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstKind {
    /// An integer, or a splat of one where the type is a vector is [`ConstKind::Splat`].
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
    /// `blockaddress(@function, %block)`; the block is entry `slot` of [`crate::Module::block_addresses`].
    BlockAddress {
        /// Entry in the module's table.
        slot: u32,
    },
    /// `dso_local_equivalent @function`
    DsoLocalEquivalent(GlobalName),
    /// `no_cfi @function`
    NoCfi(GlobalName),
    /// `ptrauth (ptr, key, discriminator, address)`
    PtrAuth(Box<[Const]>),
    /// A constant expression.
    Expr(Box<ConstExpr>),
    /// Inline assembly, as a callee.
    InlineAsm(Box<InlineAsm>),
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
