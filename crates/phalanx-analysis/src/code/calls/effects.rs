//! What a call does besides computing a result, as plain data.

use phalanx_ir::attributes::{AttrKind, AttrSetData, MemoryEffects};
use phalanx_target::address_space::SpaceKind;

/// A set of kinds of address spaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spaces(u16);

impl Spaces {
    /// The empty set.
    pub const NONE: Spaces = Spaces(0);
    /// Every kind.
    pub const ALL: Spaces = Spaces(u16::MAX);

    /// One kind. The generic space may be any.
    #[must_use]
    pub const fn of(kind: SpaceKind) -> Spaces {
        match kind {
            SpaceKind::Generic | SpaceKind::Unknown => Spaces::ALL,
            kind => Spaces(1 << kind as u16),
        }
    }

    /// The union.
    #[must_use]
    pub const fn union(self, other: Spaces) -> Spaces {
        Spaces(self.0 | other.0)
    }

    /// Whether a kind is in the set; the generic space, if any is.
    #[must_use]
    pub const fn has(self, kind: SpaceKind) -> bool {
        self.0 & Spaces::of(kind).0 != 0
    }

    /// Whether another set has all that this one has.
    #[must_use]
    pub const fn is_within(self, other: Spaces) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a call does besides computing its result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effects {
    /// It executes an operation that communicates among the threads that execute it together.
    pub convergent: bool,
    /// One of these operations is an execution barrier.
    pub barrier: bool,
    /// Accesses of memory, as seen from the caller.
    pub memory: MemoryEffects,
    /// Kinds of address spaces that are read, as seen from the caller.
    pub reads: Spaces,
    /// Kinds of address spaces that are written.
    pub writes: Spaces,
    /// It may run for ever, end the thread, or unwind.
    pub may_not_return: bool,
    /// It may make visible what other threads wrote; see
    /// [`acquires`](crate::memory::order::acquires).
    pub acquires: bool,
}

impl Effects {
    /// No effects: the function only computes.
    pub const NONE: Effects = Effects {
        convergent: false,
        barrier: false,
        memory: MemoryEffects::NONE,
        reads: Spaces::NONE,
        writes: Spaces::NONE,
        may_not_return: false,
        acquires: false,
    };

    /// Any effect.
    pub const UNKNOWN: Effects = Effects {
        convergent: true,
        barrier: true,
        memory: MemoryEffects::UNKNOWN,
        reads: Spaces::ALL,
        writes: Spaces::ALL,
        may_not_return: true,
        acquires: true,
    };

    /// The effects of a function or a call with these attributes.
    #[must_use]
    pub fn of_attributes(attributes: &AttrSetData) -> Effects {
        let convergent = attributes.has(AttrKind::Convergent);
        let returns = attributes.has(AttrKind::WillReturn) && attributes.has(AttrKind::NoUnwind);
        // A fence counts as a write, and a barrier is convergent.
        let writes = !attributes.memory().is_some_and(|memory| memory.only_reads());
        let acquires = convergent || writes && !attributes.has(AttrKind::NoSync);
        let may_not_return = !returns;
        Effects { convergent, barrier: convergent, may_not_return, acquires, ..Effects::UNKNOWN }
            .within(attributes.memory().unwrap_or(MemoryEffects::UNKNOWN))
    }

    /// The effects, restricted to what is promised of memory.
    pub(crate) fn within(mut self, promised: MemoryEffects) -> Effects {
        self.memory = self.memory.intersect(promised);
        if self.memory.only_writes() {
            self.reads = Spaces::NONE;
        }
        if self.memory.only_reads() {
            self.writes = Spaces::NONE;
        }
        self
    }

    /// The effects of either.
    #[must_use]
    pub const fn union(self, other: Effects) -> Effects {
        Effects {
            convergent: self.convergent || other.convergent,
            barrier: self.barrier || other.barrier,
            memory: self.memory.union(other.memory),
            reads: self.reads.union(other.reads),
            writes: self.writes.union(other.writes),
            may_not_return: self.may_not_return || other.may_not_return,
            acquires: self.acquires || other.acquires,
        }
    }

    pub(crate) const fn touching(mut self, memory: MemoryEffects) -> Effects {
        self.memory = self.memory.union(memory);
        self
    }
}
