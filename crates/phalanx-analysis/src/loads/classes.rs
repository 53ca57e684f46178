//! The answer: the classes of each load of a function, and why a load is not of the others.

use std::sync::Arc;

use phalanx_ir::InstId;

use super::refusal::Refusal;

/// A cheaper way to load. See the [module documentation](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadClass {
    /// Once for a wave, from memory that is as it was when the launch began.
    Scalar,
    /// From memory that no thread writes while the kernel runs.
    NonCoherent,
    /// Once for a wave, from memory that no thread writes while the kernel runs.
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

/// The classes of one load: for each class, `None` if the load is of it, or why it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The load.
    pub inst: InstId,
    pub(super) refusals: [Option<Refusal>; 3],
}

impl Load {
    /// Why the load is not of a class; none if it is.
    #[must_use]
    pub const fn refusal(&self, class: LoadClass) -> Option<Refusal> {
        self.refusals[class as usize]
    }

    /// Whether the load is of a class.
    #[must_use]
    pub const fn is(&self, class: LoadClass) -> bool {
        self.refusals[class as usize].is_none()
    }

    /// The classes that the load is of.
    pub fn classes(&self) -> impl Iterator<Item = LoadClass> + use<> {
        let load = *self;
        LoadClass::ALL.into_iter().filter(move |&class| load.is(class))
    }
}

/// The classes of all loads of a function, in the order of its blocks. They are shared, so copying
/// them and comparing them with a copy is cheap.
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
