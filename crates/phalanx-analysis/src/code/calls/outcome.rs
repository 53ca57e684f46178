//! The sources of a result as a function of the sources of the arguments.

use phalanx_target::SourceSet;

/// What becomes of the sources of one argument: a set of the four things below.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Dependence(pub(crate) u8);

impl Dependence {
    /// The result does not depend on the argument.
    pub const NONE: Dependence = Dependence(0);
    /// Sources that do not vary within a wave reach the result.
    pub const REST: Dependence = Dependence(1);
    /// Sources that vary within a wave reach the result.
    pub const VARYING: Dependence = Dependence(2);
    /// Where one of them varies within a wave, the result is unknown, but equal within the wave.
    pub const WAVE: Dependence = Dependence(4);
    /// Where one of them varies within a wave, the result is unknown.
    pub const THREAD: Dependence = Dependence(8);
    /// As an operand of ordinary operations.
    pub const PLAIN: Dependence = Dependence(3);

    /// Whether the result does not depend on the argument.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// What either does.
    #[must_use]
    pub const fn union(self, other: Dependence) -> Dependence {
        Dependence(self.0 | other.0)
    }

    const fn has(self, part: Dependence) -> bool {
        self.0 & part.0 != 0
    }

    /// Sources of the result for these of the argument; `wave` are those that vary within a wave.
    #[must_use]
    pub fn apply(self, sources: SourceSet, wave: SourceSet) -> SourceSet {
        let mut result = SourceSet::EMPTY;
        if self.has(Self::REST) {
            result |= sources - wave;
        }
        if self.has(Self::VARYING) {
            result |= sources & wave;
        }
        if sources.intersects(wave) {
            if self.has(Self::WAVE) {
                result |= SourceSet::OPAQUE_WAVE;
            }
            if self.has(Self::THREAD) {
                result |= SourceSet::OPAQUE_THREAD;
            }
        }
        result
    }
}

impl std::fmt::Debug for Dependence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (Self::REST, "rest"),
            (Self::VARYING, "varying"),
            (Self::WAVE, "wave"),
            (Self::THREAD, "thread"),
        ];
        let named = parts.into_iter().filter(|(part, _)| self.has(*part)).map(|(_, name)| name);
        match *self == Self::PLAIN {
            true => f.write_str("plain"),
            false => f.debug_set().entries(named).finish(),
        }
    }
}

/// Sources of a result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// What the function brings in by itself.
    pub sources: SourceSet,
    /// What varies within a wave, as far as the function knows.
    pub wave: SourceSet,
    /// What becomes of the sources of each argument. Arguments beyond the end do not matter.
    pub arguments: Box<[Dependence]>,
}

impl Outcome {
    /// Of a function that does not return.
    #[must_use]
    pub fn new(wave: SourceSet, arguments: usize) -> Outcome {
        let arguments = vec![Dependence::NONE; arguments].into();
        Outcome { sources: SourceSet::EMPTY, wave, arguments }
    }

    /// Anything.
    #[must_use]
    pub fn unknown() -> Outcome {
        Outcome { sources: SourceSet::OPAQUE_THREAD, ..Outcome::default() }
    }

    /// One for the wave if all arguments are, else anything.
    #[must_use]
    pub fn of_uniform_arguments(wave: SourceSet, arguments: usize) -> Outcome {
        let each = Dependence::REST.union(Dependence::WAVE).union(Dependence::THREAD);
        Outcome { sources: SourceSet::OPAQUE_WAVE, wave, arguments: vec![each; arguments].into() }
    }

    /// With the promise that the result is one for the wave when the arguments are.
    pub(crate) fn promise_no_source(&mut self) {
        if self.sources.intersects(self.wave) {
            let promised = Outcome::of_uniform_arguments(self.wave, self.arguments.len());
            self.sources = (self.sources - self.wave) | promised.sources;
            for (known, promised) in self.arguments.iter_mut().zip(&promised.arguments) {
                *known = known.union(*promised);
            }
        }
    }
}
