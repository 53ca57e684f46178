//! Library functions that read and write memory, as data for [`library_memory`](super), which
//! executes them.

use phalanx_ir::{Type, inst::Ordering, inst::RmwOp};

use crate::reach::Reach;

/// The memory access of a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// An atomic, and its ordering.
    Atomic(Atomic, Order),
    /// A vector at an index.
    Vector(Vector),
    /// A copy that a whole workgroup executes together.
    Copy(Copy),
    /// A copy of lines, or of planes of lines.
    CopyLines { has_planes: bool },
    /// A block of memory, in which each lane of the sub-group accesses its own places.
    Block { is_store: bool },
}

impl Access {
    /// Whether it may synchronise fewer threads than the whole device.
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
    /// Returns the value in memory.
    Load,
    /// Stores the second argument.
    Store,
    /// Combines the value in memory with the second argument, and returns the old value.
    Update(RmwOp),
    /// The same with 1.
    Step(RmwOp),
    /// Stores the third argument if memory holds the second. Returns the old value.
    Compare,
    /// Stores the third argument if memory holds the value that the second argument points to.
    /// Otherwise stores the value in memory to where the second argument points. Returns whether
    /// the values were equal.
    CompareExchange,
    /// Sets a flag, and returns whether it was set.
    TestAndSet,
    /// Clears a flag.
    Clear,
}

/// How an atomic is ordered.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Not atomic: `atomic_init`.
    Plain,
    /// This ordering, among these threads.
    Is(Ordering, Reach),
    /// As the last arguments say.
    Given,
}

/// A vector at an index, or a number that memory holds as a half.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Vector {
    /// Whether the first argument is stored; else the result is loaded.
    pub(crate) is_store: bool,
    /// How many components there are.
    pub(crate) lanes: u8,
    /// The distance between two indices, in components.
    pub(crate) stride: u8,
    /// How numbers are rounded to halves, if memory holds halves.
    pub(crate) half: Option<Rounding>,
}

/// How a number is rounded to a half.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    Nearest,
    TowardZero,
    Up,
    Down,
}

/// `async_work_group_copy`: the arguments are destination, source, number of elements, and an
/// event, which is returned.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    /// The type of a part of an element.
    pub(crate) ty: Type,
    /// How many parts an element has.
    pub(crate) parts: u8,
    /// Whether the fourth argument is the distance of elements outside of workgroup memory.
    pub(crate) is_strided: bool,
}
