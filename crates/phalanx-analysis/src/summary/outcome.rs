//! The sources of a result as a function of the sources of the arguments, and how they are found by solving.

use phalanx_target::SourceSet;

use crate::affect::Value;
use crate::divergence::ValueTable;

/// What becomes of the sources of one argument: a set of the four things below.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Dependence(u8);

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
    pub(super) fn promise_no_source(&mut self) {
        if self.sources.intersects(self.wave) {
            let promised = Outcome::of_uniform_arguments(self.wave, self.arguments.len());
            self.sources = (self.sources - self.wave) | promised.sources;
            for (known, promised) in self.arguments.iter_mut().zip(&promised.arguments) {
                *known = known.union(*promised);
            }
        }
    }
}

/// Passes are bounded: parameters beyond the last are taken as one.
const PASSES: usize = 4;

/// How parameters are told apart when a function is solved with them as the only sources.
#[derive(Debug)]
pub(super) struct Tokens {
    /// Bits per parameter: one that stands for all its sources, or one for each part of a [`Dependence`].
    width: usize,
    wave: SourceSet,
    parameters: usize,
}

/// Some of the parameters.
#[derive(Debug)]
pub(super) struct Pass {
    width: usize,
    parameters: std::ops::Range<usize>,
    is_open: Vec<bool>,
}

impl Tokens {
    pub(super) fn new(table: &ValueTable, wave: SourceSet, parameters: usize) -> Tokens {
        let width = if table.images().is_empty() { 1 } else { 4 };
        Tokens { width, wave, parameters }
    }

    /// All passes, of the parameters that are `open`.
    pub(super) fn passes(&self, open: impl Fn(usize) -> bool) -> Vec<Pass> {
        let slots = SourceSet::COUNT / self.width;
        let count = self.parameters.div_ceil(slots).min(PASSES);
        let pass = |number: usize| {
            let first = number * slots;
            let end = match number + 1 == count {
                true => self.parameters,
                false => first + slots,
            };
            let is_open = (first..end).map(&open).collect();
            Pass { width: self.width, parameters: first..end, is_open }
        };
        (0..count).map(pass).collect()
    }

    /// The function with the sources of a pass instead of its own.
    pub(super) fn table(&self, table: &ValueTable, seeds: &[(Value, SourceSet)]) -> ValueTable {
        let image = |image: &[SourceSet; SourceSet::COUNT]| self.image(image);
        table.with_sources(seeds, image)
    }

    /// What an image does to tokens.
    fn image(&self, image: &[SourceSet; SourceSet::COUNT]) -> [SourceSet; SourceSet::COUNT] {
        let of = |source: SourceSet| image[source.bits().trailing_zeros() as usize];
        let gained = |sources: SourceSet| {
            let mut part = Dependence::NONE;
            if sources.contains(SourceSet::OPAQUE_WAVE) {
                part = part.union(Dependence::WAVE);
            }
            if !(sources - SourceSet::OPAQUE_WAVE).is_empty() {
                part = part.union(Dependence::THREAD);
            }
            part
        };
        let parts = [Dependence::REST, Dependence::VARYING, Dependence::WAVE, Dependence::THREAD];
        let become_: [Dependence; 4] = parts.map(|part| match part {
            Dependence::WAVE => gained(of(SourceSet::OPAQUE_WAVE)),
            Dependence::THREAD => gained(of(SourceSet::OPAQUE_THREAD)),
            _ => {
                let is_varying = part == Dependence::VARYING;
                let sources = SourceSet::ALL.iter();
                let sources = sources.filter(|s| self.wave.contains(*s) == is_varying);
                sources.fold(Dependence::NONE, |all, source| {
                    let same = of(source).contains(source);
                    let kept = if same { part } else { Dependence::NONE };
                    // What other sources gain is unconditional, see below.
                    let more = match is_varying {
                        true => gained(of(source) - source),
                        false => Dependence::NONE,
                    };
                    all.union(kept).union(more)
                })
            }
        });
        std::array::from_fn(|bit| {
            let slot = bit / 4 * 4;
            SourceSet::from_bits(u16::from(become_[bit % 4].0) << slot)
        })
    }

    /// What an image does to tokens, if these tell it: not where there is one token for all that may become of a parameter, or where something is
    /// made of other sources without condition.
    pub(super) fn followed_image(
        &self,
        image: &[SourceSet; SourceSet::COUNT],
    ) -> Option<[SourceSet; SourceSet::COUNT]> {
        let is_told = self.width > 1 && self.gained_anyway(image).is_empty();
        is_told.then(|| self.image(image))
    }

    /// Whether parameters are told apart in the same way whatever operations there are.
    pub(super) fn is_regardless_of_images(&self) -> bool {
        self.width == 1 || self.parameters <= SourceSet::COUNT / self.width * PASSES
    }

    /// What an image makes of sources that do not vary within a wave, besides themselves.
    fn gained_anyway(&self, image: &[SourceSet; SourceSet::COUNT]) -> SourceSet {
        let rest = (SourceSet::ALL - self.wave).iter();
        rest.map(|s| image[s.bits().trailing_zeros() as usize] - s).collect()
    }

    /// Operations that make something else of sources that do not vary within a wave do so without any, if there are such
    /// operations: they are rare (the number of a barrier).
    pub(super) fn unconditional(&self, table: &ValueTable) -> Option<ValueTable> {
        let gained: Vec<SourceSet> =
            table.images().iter().map(|image| self.gained_anyway(image)).collect();
        let is_needed = gained.iter().any(|sources| !sources.is_empty());
        is_needed.then(|| table.with_more_sources(&gained))
    }
}

impl Pass {
    fn slot(&self, parameter: usize) -> usize {
        let slots = SourceSet::COUNT / self.width;
        (parameter - self.parameters.start).min(slots - 1)
    }

    /// The parameters of the pass, with their bits.
    pub(super) fn seeds(
        &self,
        value_of: impl Fn(usize) -> Value,
    ) -> impl Iterator<Item = (Value, SourceSet)> {
        let open = self.parameters.clone().zip(&self.is_open).filter(|(_, open)| **open);
        open.map(move |(parameter, _)| {
            let bits = if self.width == 1 { 1 } else { Dependence::PLAIN.0 };
            let bits = u16::from(bits) << (self.slot(parameter) * self.width);
            (value_of(parameter), SourceSet::from_bits(bits))
        })
    }

    /// What was found to reach a result.
    pub(super) fn note(&self, outcome: &mut Outcome, found: SourceSet) {
        for (parameter, is_open) in self.parameters.clone().zip(&self.is_open) {
            let bits = found.bits() >> (self.slot(parameter) * self.width);
            let dependence = match self.width {
                1 if bits & 1 == 0 => Dependence::NONE,
                1 => Dependence::PLAIN,
                _ => Dependence((bits & 15) as u8),
            };
            if *is_open {
                outcome.arguments[parameter] = outcome.arguments[parameter].union(dependence);
            }
        }
    }
}
