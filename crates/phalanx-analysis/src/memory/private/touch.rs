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
    /// It may read the slot and give what it read to the outside.
    Read,
    /// A store of the value that it is given.
    Store,
    /// `memset`.
    Fill,
    /// The source of a copy.
    CopyFrom,
    /// The destination of a copy.
    CopyTo,
    /// It leaves anything in the slot. What may also read it is a [`Read`](Self::Read) before: the
    /// version before a definition that nobody reads is not always known.
    Clobber,
    /// A function that is called may read it, through something that it was [`Passed`].
    ReadByCall,
    /// A function that is called may write it, through something that it was [`Passed`].
    WriteByCall,
    /// The function returns, and what is there is its caller's: a part of what an argument points
    /// to.
    Return,
}

impl Effect {
    /// Whether it is what a function that is called does, as its summary says.
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
    /// What it does.
    pub effect: Effect,
    /// Number of the event in the SSA form.
    pub event: u32,
    /// Whether which part of the object is touched is not known, or depends on operands of the
    /// address.
    pub is_at_variable_offset: bool,
    /// The first byte of the object that the instruction touches, if it is known.
    pub at: Option<i64>,
    /// The first of what the instruction does to private objects.
    pub(in crate::memory::private) access: u32,
}

/// A part of an object that is one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The object.
    pub alloca: InstId,
    /// Its bytes, counted from the start of the object; all of it if they are not known.
    pub range: Option<(i64, i64)>,
}

/// An address of a private object that is an argument of a call whose [summary](crate::summary)
/// says what becomes of the object. No other argument of the call is an address of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The call.
    pub call: InstId,
    /// Which argument.
    pub position: u32,
    /// The object.
    pub object: InstId,
    /// Where in the object it points to, if that is a constant.
    pub offset: Option<i64>,
}

impl Passed {
    /// The bytes of the object that a part is of what the argument points to.
    #[must_use]
    pub fn shift(&self, range: Option<(i64, i64)>) -> Option<(i64, i64)> {
        let ((at, end), offset) = (range?, self.offset?);
        Some((at.checked_add(offset)?, end.checked_add(offset)?))
    }
}
