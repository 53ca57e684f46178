//! The [`Value`] handle: one word for any operand.

use std::fmt;

use crate::{
    constant::Const,
    function::{BlockId, InstId, LocalMetadataId},
};

/// An operand: the result of an instruction, an argument, a block, a constant or function-local
/// metadata.
///
/// Four bytes: three bits of kind and 29 bits of number. [`Value::kind`] unpacks it. A function has
/// at most [`Value::LIMIT`] entities of a kind; making one more is an error. An id beyond the limit
/// is a value that no function has. A value has no link to its function: an id taken from another
/// function names the entity with the same number in this one, if there is one.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);

/// What a [`Value`] names.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// The result of an instruction of the same function.
    Inst(InstId),
    /// The argument with this position.
    Arg(u32),
    /// A block of the same function.
    Block(BlockId),
    /// A constant of the context; globals and inline assembly included.
    Const(Const),
    /// Metadata as an argument of a call; entry of the body's table.
    Metadata(LocalMetadataId),
}

const SHIFT: u32 = 29;
const MAX: u32 = (1 << SHIFT) - 1;

impl Value {
    /// Marks a slot of an operand pool as room: it is no operand, but free for the instruction
    /// before it.
    pub(crate) const ROOM: Value = Value(u32::MAX);

    /// How many values of one kind a function (for constants: a context) can have.
    pub const LIMIT: usize = MAX as usize;

    /// Numbers that do not fit become the largest number, which no entity has.
    fn pack(tag: u32, number: u32) -> Value {
        Value(tag << SHIFT | number.min(MAX))
    }

    /// The result of an instruction.
    #[inline]
    pub fn inst(inst: InstId) -> Value {
        Self::pack(0, inst.into_raw().into_u32())
    }

    /// An argument by position.
    #[inline]
    pub fn arg(position: u32) -> Value {
        Self::pack(1, position)
    }

    /// A block.
    #[inline]
    pub fn block(block: BlockId) -> Value {
        Self::pack(2, block.into_raw().into_u32())
    }

    /// A constant.
    ///
    /// # Panics
    /// When its context has more than [`Value::LIMIT`].
    #[inline]
    pub fn constant(constant: Const) -> Value {
        assert!(constant.raw() <= MAX, "more than 2^29 constants in a context");
        Self::pack(3, constant.raw())
    }

    /// Metadata used as a value.
    pub fn metadata(id: LocalMetadataId) -> Value {
        Self::pack(4, id.into_raw().into_u32())
    }

    /// What this is.
    #[inline]
    pub fn kind(self) -> ValueKind {
        let number = self.0 & MAX;
        match self.0 >> SHIFT {
            0 => ValueKind::Inst(InstId::from_raw(number.into())),
            1 => ValueKind::Arg(number),
            2 => ValueKind::Block(BlockId::from_raw(number.into())),
            3 => ValueKind::Const(Const::from_raw(number)),
            _ => ValueKind::Metadata(LocalMetadataId::from_raw(number.into())),
        }
    }

    /// The instruction whose result this is.
    #[inline]
    pub fn as_inst(self) -> Option<InstId> {
        match self.kind() {
            ValueKind::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// The constant this is.
    #[inline]
    pub fn as_const(self) -> Option<Const> {
        match self.kind() {
            ValueKind::Const(constant) => Some(constant),
            _ => None,
        }
    }

    /// The block this is.
    #[inline]
    pub fn as_block(self) -> Option<BlockId> {
        match self.kind() {
            ValueKind::Block(block) => Some(block),
            _ => None,
        }
    }

    /// The position of the argument this is.
    #[inline]
    pub fn as_arg(self) -> Option<u32> {
        match self.kind() {
            ValueKind::Arg(position) => Some(position),
            _ => None,
        }
    }
}

impl From<Const> for Value {
    fn from(constant: Const) -> Value {
        Value::constant(constant)
    }
}

impl From<InstId> for Value {
    fn from(inst: InstId) -> Value {
        Value::inst(inst)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            ValueKind::Inst(inst) => write!(f, "%i{}", inst.into_raw().into_u32()),
            ValueKind::Arg(position) => write!(f, "%arg{position}"),
            ValueKind::Block(block) => write!(f, "%bb{}", block.into_raw().into_u32()),
            ValueKind::Const(constant) => write!(f, "const{}", constant.raw()),
            ValueKind::Metadata(id) => write!(f, "md{}", id.into_raw().into_u32()),
        }
    }
}
