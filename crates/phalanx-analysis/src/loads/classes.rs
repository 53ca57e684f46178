//! The answer: which classes each load of a function is of, and why not of others.

use std::sync::Arc;

use phalanx_ir::InstId;

use super::refusal::Refusal;

/// A cheaper way to load. See the [module documentation](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadClass {
    /// Once for a wave, of memory as it was when the launch began.
    Scalar,
    /// Of memory that nobody writes while the kernel runs.
    NonCoherent,
    /// Once for a wave, of such memory.
    Ldu,
}

impl LoadClass {
    /// All, in order.
    pub const ALL: [LoadClass; 3] = [Self::Scalar, Self::NonCoherent, Self::Ldu];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::NonCoherent => "non-coherent",
            Self::Ldu => "ldu",
        }
    }
}

/// What is known of one load: of each class, nothing if it may be of it, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The load.
    pub inst: InstId,
    pub(super) refusals: [Option<Refusal>; 3],
}

impl Load {
    /// Why it is not of a class; nothing if it is.
    #[must_use]
    pub const fn refusal(&self, class: LoadClass) -> Option<Refusal> {
        self.refusals[class as usize]
    }

    /// Whether it may be done that way.
    #[must_use]
    pub const fn is(&self, class: LoadClass) -> bool {
        self.refusals[class as usize].is_none()
    }

    /// The classes that it is of.
    pub fn classes(&self) -> impl Iterator<Item = LoadClass> + use<> {
        let load = *self;
        LoadClass::ALL.into_iter().filter(move |&class| load.is(class))
    }
}

/// The classes of all loads of a function, in the order of its blocks. Shared: it is as cheap to
/// copy as to compare with a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadClasses {
    pub(super) loads: Arc<Vec<Load>>,
}

impl LoadClasses {
    /// All loads.
    #[must_use]
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// One load. O(loads): to ask about many, iterate over [`LoadClasses::loads`].
    #[must_use]
    pub fn of(&self, inst: InstId) -> Option<&Load> {
        self.loads.iter().find(|load| load.inst == inst)
    }

    /// Loads of a class, in order.
    pub fn that_are(&self, class: LoadClass) -> impl Iterator<Item = InstId> + '_ {
        self.loads.iter().filter(move |load| load.is(class)).map(|load| load.inst)
    }
}
