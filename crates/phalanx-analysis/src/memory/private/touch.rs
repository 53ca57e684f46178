//! What instructions do to slots of private objects, as plain data.
//!
//! ```text
//! %x = alloca i32            ; an object, and one slot: all of it
//! store i32 1, ptr %x        ; Touch { effect: Store, at: Some(0), .. }
//! call void @f(ptr %x)       ; Passed { position: 0, offset: Some(0), .. }
//! ```

use phalanx_ir::InstId;

/// What an instruction does to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A load: its result is what the slot holds.
    Load,
    /// It may read the slot and pass the content to other code.
    Read,
    /// A store of the value that it is given.
    Store,
    /// `memset`.
    Fill,
    /// The source of a copy.
    CopyFrom,
    /// The destination of a copy.
    CopyTo,
    /// It leaves unknown content in the slot. An instruction that may also read the slot has a
    /// [`Read`](Self::Read) before, since the version before a dead definition is not always
    /// recorded.
    Clobber,
    /// The callee may read it, through an address that it was [`Passed`].
    ReadByCall,
    /// The callee may write it, through an address that it was [`Passed`].
    WriteByCall,
    /// The function returns, and its caller may read the slot: a part of the object that an
    /// argument points to.
    Return,
}

impl Effect {
    /// Whether it is the effect of a callee according to its summary.
    #[must_use]
    pub const fn is_by_call(self) -> bool {
        matches!(self, Effect::ReadByCall | Effect::WriteByCall)
    }
}

/// One instruction and one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The instruction.
    pub inst: InstId,
    /// The slot.
    pub slot: u32,
    /// The effect of the instruction on the slot.
    pub effect: Effect,
    /// The number of its event in the SSA form.
    pub event: u32,
    /// Whether the touched part of the object is unknown or depends on operands of the address.
    pub is_at_variable_offset: bool,
    /// The first byte of the object that the instruction touches, if it is known.
    pub at: Option<i64>,
    /// The number of the first access of the instruction.
    pub(in crate::memory::private) access: u32,
}

/// A part of an object that is one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The object.
    pub alloca: InstId,
    /// Its bytes, counted from the start of the object. `None`: the whole object.
    pub range: Option<(i64, i64)>,
}

/// An argument of a call that is an address of a private object. The [summary](crate::summary) of
/// the callee says what it does with the object. No other argument of the call is an address of the
/// same object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The call.
    pub call: InstId,
    /// Which argument.
    pub position: u32,
    /// The object.
    pub object: InstId,
    /// The offset in the object, if it is a constant.
    pub offset: Option<i64>,
}

impl Passed {
    /// Converts a byte range relative to the argument into a byte range of the object.
    #[must_use]
    pub fn shift(&self, range: Option<(i64, i64)>) -> Option<(i64, i64)> {
        let ((at, end), offset) = (range?, self.offset?);
        Some((at.checked_add(offset)?, end.checked_add(offset)?))
    }
}
