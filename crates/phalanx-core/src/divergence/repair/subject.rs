//! What facts of divergence are about.

use phalanx_fixpoint::{Fixpoint, Seen};
use smallvec::SmallVec;

use crate::affect::{User, UserKind};

/// A few subjects.
pub(super) type Subjects = SmallVec<[Subject; 16]>;

/// The sources of all subjects, and the order in which they were found.
pub(super) type Solution = Fixpoint<Subject, u16>;

/// The sources that a rule may read.
pub(super) type Known<'a> = Seen<'a, Subject, u16>;

/// What a fact is about. Consequences of control flow are drawn first, those of values last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Subject {
    /// A value, by number.
    Value(u32),
    /// The terminator of a block.
    Branch(u32),
    /// Something about control flow, by number.
    Control(u32),
}

impl Subject {
    /// The class of branches.
    pub(super) const BRANCHES: usize = 1;
    /// The class of values.
    pub(super) const VALUES: usize = 2;
}

impl phalanx_fixpoint::Subject for Subject {
    const CLASSES: usize = 3;

    #[inline]
    fn place(self) -> (usize, u32) {
        match self {
            Subject::Control(i) => (0, i),
            Subject::Branch(i) => (Self::BRANCHES, i),
            Subject::Value(i) => (Self::VALUES, i),
        }
    }

    #[inline]
    fn at(class: usize, number: u32) -> Self {
        match class {
            0 => Subject::Control(number),
            Self::BRANCHES => Subject::Branch(number),
            _ => Subject::Value(number),
        }
    }
}

/// The subject that a user is.
#[inline]
pub(super) fn subject(user: User) -> Subject {
    match user.kind() {
        UserKind::Value(value) => Subject::Value(value.raw()),
        UserKind::Terminator(block) => Subject::Branch(block.raw()),
    }
}
