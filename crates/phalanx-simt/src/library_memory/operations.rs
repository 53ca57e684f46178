//! Which functions of a library read and write memory, and how: what [`library_memory`](super)
//! executes.

use phalanx_ir::{Type, inst::Ordering, inst::RmwOp};

use crate::reach::Reach;

/// What a function does with memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// An atomic, and how ordered it is.
    Atomic(Atomic, Order),
    /// A vector at an index.
    Vector(Vector),
    /// A copy that all of a workgroup ask for together.
    Copy(Copy),
    /// One of lines, or planes of lines.
    CopyLines { has_planes: bool },
    /// A block of memory: each lane of the sub-group has places of its own in it.
    Block { is_store: bool },
}

impl Access {
    /// Whether it may order among fewer threads than all of the device.
    pub(crate) const fn is_scoped(self) -> bool {
        match self {
            Access::Atomic(_, Order::Is(_, reach)) => !matches!(reach, Reach::Device),
            Access::Atomic(_, order) => matches!(order, Order::Given),
            _ => false,
        }
    }
}

/// An atomic; its first argument is the address.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Atomic {
    /// Gives what is there.
    Load,
    /// Stores the second argument.
    Store,
    /// Combines what is there with the second argument, and gives what was there.
    Update(RmwOp),
    /// The same with 1.
    Step(RmwOp),
    /// Stores the third argument if the second is there. Gives what was there.
    Compare,
    /// Stores the third argument if what the second points to is there. If not, stores there what
    /// was found. Gives whether it was there.
    CompareExchange,
    /// Sets a flag, and gives whether it was set.
    TestAndSet,
    /// Clears a flag.
    Clear,
}

/// How an atomic is ordered.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// It is no atomic access at all: `atomic_init`.
    Plain,
    /// This, among these threads.
    Is(Ordering, Reach),
    /// As the last arguments say.
    Given,
}

/// A vector at an index, or one number that is kept as a half.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Vector {
    /// Whether the first argument is stored; else the result is loaded.
    pub(crate) is_store: bool,
    /// How many components there are.
    pub(crate) lanes: u8,
    /// How many components further the next index is.
    pub(crate) stride: u8,
    /// How numbers are made halves, where memory has these.
    pub(crate) half: Option<Rounding>,
}

/// How a number is made a half.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    Nearest,
    TowardZero,
    Up,
    Down,
}

/// `async_work_group_copy`: the arguments are where to, where from, how many elements, and an
/// event, which is given back.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    /// The type of a part of an element.
    pub(crate) ty: Type,
    /// How many parts an element has.
    pub(crate) parts: u8,
    /// Whether the fourth argument says how many elements apart those are that are not in workgroup
    /// memory.
    pub(crate) is_strided: bool,
}
