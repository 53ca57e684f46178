//! The sources of a result as a function of the sources of the arguments.
//!
//! ```text
//! %r = add i32 %a, %ctaid           ; sources: block x; of %a: PLAIN
//! ```

use phalanx_target::SourceSet;

/// How the sources of one argument reach the result: a set of the four kinds below.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Dependence(pub(crate) u8);

impl Dependence {
    /// The result does not depend on the argument.
    pub const NONE: Dependence = Dependence(0);
    /// Sources that do not vary within a wave reach the result.
    pub const REST: Dependence = Dependence(1);
    /// Sources that vary within a wave reach the result.
    pub const VARYING: Dependence = Dependence(2);
    /// If a source of the argument varies within a wave, the result is unknown, but equal within
    /// the wave.
    pub const WAVE: Dependence = Dependence(4);
    /// If a source of the argument varies within a wave, the result is unknown.
    pub const THREAD: Dependence = Dependence(8);
    /// The argument is an operand of ordinary operations: all of its sources reach the result.
    pub const PLAIN: Dependence = Dependence(3);

    /// Whether the result does not depend on the argument.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The union of two dependences.
    #[must_use]
    pub const fn union(self, other: Dependence) -> Dependence {
        Dependence(self.0 | other.0)
    }

    const fn has(self, part: Dependence) -> bool {
        self.0 & part.0 != 0
    }

    /// Sources of the result, if the argument has `sources`; `wave` are those that vary within a
    /// wave.
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
    /// Sources that the function brings in by itself.
    pub sources: SourceSet,
    /// The sources that vary within a wave, as far as the function knows.
    pub wave: SourceSet,
    /// How the sources of each argument reach the result. Arguments beyond the end do not matter.
    pub arguments: Box<[Dependence]>,
}

impl Outcome {
    /// The outcome of a function that does not return.
    #[must_use]
    pub fn new(wave: SourceSet, arguments: usize) -> Outcome {
        let arguments = vec![Dependence::NONE; arguments].into();
        Outcome { sources: SourceSet::EMPTY, wave, arguments }
    }

    /// The outcome of an unknown function.
    #[must_use]
    pub fn unknown() -> Outcome {
        Outcome { sources: SourceSet::OPAQUE_THREAD, ..Outcome::default() }
    }

    /// Equal within the wave if all arguments are; otherwise unknown.
    #[must_use]
    pub fn of_uniform_arguments(wave: SourceSet, arguments: usize) -> Outcome {
        let each = Dependence::REST.union(Dependence::WAVE).union(Dependence::THREAD);
        Outcome { sources: SourceSet::OPAQUE_WAVE, wave, arguments: vec![each; arguments].into() }
    }

    /// Adds the promise that the result is equal within the wave if the arguments are.
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
