//! What has been read of constants.

use phalanx_ir::{Const, InstFlags, Opcode, Type};
use rustc_hash::FxHashMap;

/// What makes reading constants cheap: the ones seen before, and stacks that are used again.
#[derive(Default)]
pub(crate) struct ConstantState {
    pub(in crate::parser) ints: FxHashMap<(Type, u64), Const>,
    pub(in crate::parser) frames: Vec<Frame>,
    pub(in crate::parser) elements: Vec<(Const, Type)>,
}

/// A bracket that is open.
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
