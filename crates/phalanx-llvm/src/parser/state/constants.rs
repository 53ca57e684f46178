//! Parser state: constants.

use phalanx_ir::{Const, InstFlags, Opcode, Type};
use rustc_hash::FxHashMap;

/// Caches for reading constants: constants seen before, and reusable stacks.
#[derive(Default)]
pub(crate) struct ConstantState {
    pub(in crate::parser) ints: FxHashMap<(Type, u64), Const>,
    pub(in crate::parser) frames: Vec<Frame>,
    pub(in crate::parser) elements: Vec<(Const, Type)>,
}

/// An open bracket.
#[derive(Copy, Clone)]
pub(in crate::parser) struct Frame {
    pub(in crate::parser) kind: FrameKind,
    /// The type that the whole must have.
    pub(in crate::parser) ty: Type,
    /// Where its elements begin in the stack of elements.
    pub(in crate::parser) base: usize,
    pub(in crate::parser) start: u32,
}

#[derive(Copy, Clone)]
pub(in crate::parser) enum FrameKind {
    Struct { packed: bool },
    Array,
    Vector,
    Splat,
    PtrAuth,
    Cast(Opcode),
    Binary(Opcode, InstFlags),
    Lanes(Opcode),
    Gep { flags: InstFlags, in_range: Option<(i64, i64)>, source: Type },
}
