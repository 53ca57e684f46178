//! Computes the sources of a result as a function of those of the arguments: each pass solves the
//! function with some arguments as the only sources.

use phalanx_core::{
    affect::Value,
    divergence::{ValueTable, repair::EditableTable},
};
use phalanx_target::SourceSet;

use crate::code::calls::{Dependence, Outcome};

/// The largest number of passes. Parameters beyond the last one share its last slot.
const PASSES: usize = 4;

/// The encoding of parameters as sources.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// Bits per parameter: one that stands for all its sources, or one for each part of a
    /// [`Dependence`].
    width: usize,
    wave: SourceSet,
    parameters: usize,
}

/// The parameters of one pass.
#[derive(Debug)]
pub(crate) struct Pass {
    width: usize,
    parameters: std::ops::Range<usize>,
    is_open: Vec<bool>,
}

impl Tokens {
    pub(crate) fn new(table: &ValueTable, wave: SourceSet, parameters: usize) -> Tokens {
        let width = if table.images().is_empty() { 1 } else { 4 };
        Tokens { width, wave, parameters }
    }

    /// All passes, of the parameters that are `open`.
    pub(crate) fn passes(&self, open: impl Fn(usize) -> bool) -> Vec<Pass> {
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

    /// The table of the function with the sources of a pass instead of its own.
    pub(crate) fn table(&self, table: &ValueTable, seeds: &[(Value, SourceSet)]) -> ValueTable {
        let image = |image: &[SourceSet; SourceSet::COUNT]| self.image(image);
        table.with_sources(seeds, image)
    }

    /// Converts an image of sources to one of tokens.
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
                    // What other sources gain is added without condition, see `unconditional`.
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

    /// As `image`, if these tokens can express it in an incremental update. They cannot if a
    /// parameter has only one token, or if the image adds sources without condition.
    pub(crate) fn refined_image(
        &self,
        image: &[SourceSet; SourceSet::COUNT],
    ) -> Option<[SourceSet; SourceSet::COUNT]> {
        let is_told = self.width > 1 && self.gained_anyway(image).is_empty();
        is_told.then(|| self.image(image))
    }

    /// Whether these tokens give the same outcome as those that a computation from scratch would
    /// use. They do not if the table has no images any more and parameters share their four tokens,
    /// which would each have one of their own.
    pub(crate) fn are_those_of(&self, table: &EditableTable) -> bool {
        let are_shared = self.parameters > SourceSet::COUNT / self.width * PASSES;
        self.width == 1 || !are_shared || table.has_images()
    }

    /// The sources that an image adds to sources that do not vary within a wave.
    fn gained_anyway(&self, image: &[SourceSet; SourceSet::COUNT]) -> SourceSet {
        let rest = (SourceSet::ALL - self.wave).iter();
        rest.map(|s| image[s.bits().trailing_zeros() as usize] - s).collect()
    }

    /// A table in which such operations add these sources without condition. `None` if there are
    /// none, as in most functions. An example is the number of a barrier.
    pub(crate) fn unconditional(&self, table: &ValueTable) -> Option<ValueTable> {
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

    /// The open parameters of the pass, with their bits.
    pub(crate) fn seeds(
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

    /// Records the tokens that reached a result.
    pub(crate) fn note(&self, outcome: &mut Outcome, found: SourceSet) {
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
