//! What an analysis states: [`Rules`] over [`Subject`]s whose facts are [`Bits`].

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::ControlFlow;

use crate::facts::Seen;

/// What facts are about: a number in a class.
///
/// Numbers of a class are dense: the engine has a table for each class, as long as the greatest
/// number that has a fact. Consequences of subjects of a lower class are drawn first: classes are
/// priorities.
pub trait Subject: Copy + Eq + Ord + Hash + Debug {
    /// How many classes there are.
    const CLASSES: usize;
    /// The class, and the number in it.
    fn place(self) -> (usize, u32);
    /// The subject with this number. The inverse of [`place`](Self::place).
    fn at(class: usize, number: u32) -> Self;
}

/// A single class: every number is a subject.
impl Subject for u32 {
    const CLASSES: usize = 1;

    #[inline]
    fn place(self) -> (usize, u32) {
        (0, self)
    }

    #[inline]
    fn at(_class: usize, number: u32) -> Self {
        number
    }
}

/// A set of bits: all that is known of one subject.
pub trait Bits: Copy + Eq + Debug {
    /// No bit.
    const NONE: Self;
    /// Every bit.
    const ALL: Self;
    /// What is in either.
    #[must_use]
    fn union(self, other: Self) -> Self;
    /// What is in both.
    #[must_use]
    fn common(self, other: Self) -> Self;
    /// What is in this and not in the other.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// One bit of it, always the same; none if there is none.
    #[must_use]
    fn first(self) -> Self;

    /// Its bits, one at a time.
    fn each(self) -> impl Iterator<Item = Self> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let bit = rest.first();
            rest = rest.minus(bit);
            (bit != Self::NONE).then_some(bit)
        })
    }
}

macro_rules! bits {
    ($($ty:ty),*) => {$(
        impl Bits for $ty {
            const NONE: Self = 0;
            const ALL: Self = <$ty>::MAX;

            #[inline]
            fn union(self, other: Self) -> Self {
                self | other
            }

            #[inline]
            fn common(self, other: Self) -> Self {
                self & other
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self & !other
            }

            #[inline]
            fn first(self) -> Self {
                self & self.wrapping_neg()
            }
        }
    )*};
}

bits!(u16, u32, u64);

/// A single bit: a fact holds or does not.
impl Bits for bool {
    const NONE: Self = false;
    const ALL: Self = true;

    #[inline]
    fn union(self, other: Self) -> Self {
        self | other
    }

    #[inline]
    fn common(self, other: Self) -> Self {
        self & other
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        self & !other
    }

    #[inline]
    fn first(self) -> Self {
        self
    }
}

/// The rules of an analysis. Its answer is the least set of facts that they allow.
///
/// The statement is [`seed`](Self::seed) and [`gives`](Self::gives). [`supported`](Self::supported)
/// says the same, asked from the other end; it serves deletion. [`twin::check`](crate::twin::check)
/// tests that the two agree.
///
/// **Laws.** A rule takes each bit by itself: what `a | b` gives is what `a` gives and what `b`
/// gives, and no bit gives nothing. What a rule gives may depend on other facts as well, read
/// through [`Seen`]: more facts must never give less.
pub trait Rules {
    /// What facts are about.
    type Subject: Subject;
    /// What is known of each.
    type Bits: Bits;
    /// A label for a step in [`explain`](crate::explain()): the operand, the branch. `()` if no
    /// explanations are needed.
    type Step: Copy;

    /// What holds of a subject whatever else does.
    fn seed(&mut self, of: Self::Subject) -> Self::Bits;

    /// What these bits of a subject give to others: tells each of them, possibly several times, and
    /// stops when told to. Where a rule rests on two facts, it must be told from either, with the
    /// other one read from `seen`.
    fn gives(
        &mut self,
        of: Self::Subject,
        bits: Self::Bits,
        seen: Seen<'_, Self::Subject, Self::Bits>,
        tell: &mut impl FnMut(Self::Subject, Self::Bits, Self::Step) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Of the bits in `want`, those that a subject has by its seed or from facts that are seen.
    fn supported(
        &mut self,
        of: Self::Subject,
        want: Self::Bits,
        seen: Seen<'_, Self::Subject, Self::Bits>,
    ) -> Self::Bits;

    /// How much the rules have been gone through, in units of their own; [`usize::MAX`] to give up.
    fn work(&self) -> usize {
        0
    }
}
