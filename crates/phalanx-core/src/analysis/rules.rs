//! What operations on lanes of a wave make of what they read, by value.
//!
//! A [`Definition`] has one rule for all operands, and an image needs a set for each source. For
//! the usual operations a [`Rule`] says both, with the positions of operands that are not like the
//! others:
//!
//! ```text
//!   s = sum over the wave of id     Rule::Collective                  one value per wave
//!   r = shuffle data, lane          Rule::Shuffle { lane: Some(1) }   equal where `lane` is
//! ```
//!
//! A rule holds in every launch. So the sources that may vary within a wave are those that do so if
//! nothing is known of the launch.

use crate::divergence::repair::Image;
use crate::divergence::{Definition, Transfer};
use crate::{LaunchFacts, Scope, SourceSet, varying};

/// What an operation makes of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A function of the operands alone.
    Pure,
    /// A load of memory that other threads may write: one value for the lanes that read one address
    /// together.
    Load,
    /// One value for the lanes of a wave, whatever they hold: a sum, a ballot.
    Collective,
    /// As [`Collective`](Self::Collective). Where the lanes hold the same, the result is a function
    /// of that: the first lane's value, the minimum, all, any.
    Agree,
    /// As [`Agree`](Self::Agree), among the lanes of each quad: a vote, a broadcast of one of its
    /// lanes.
    Quad,
    /// Which lanes hold the same as this one.
    Match,
    /// What another lane holds, which takes part and so has a value. Lanes whose operands at the
    /// position `lane` are equal read the same lane; without one, nothing is known of the choice.
    Shuffle {
        /// Position of the operand that names the lane.
        lane: Option<usize>,
    },
}

/// A rule in the terms of the table.
pub(super) struct Parts<'a, T> {
    pub(super) definition: Definition,
    pub(super) image: Option<Image>,
    pub(super) reads: &'a [T],
}

impl Rule {
    /// What the table is told.
    ///
    /// # Panics
    /// If there is no such operand as the rule names.
    pub(super) fn parts<T>(self, reads: &[T]) -> Parts<'_, T> {
        let definition = |seed| Definition { seed, transfer: Transfer::Propagate, is_pure: false };
        let one_per_wave = definition(SourceSet::OPAQUE_WAVE);
        let (definition, image, reads) = match self {
            Self::Pure => (Definition::PURE, None, reads),
            Self::Load => (one_per_wave, None, reads),
            Self::Collective => (Definition::fixed(SourceSet::OPAQUE_WAVE), None, reads),
            Self::Agree => (Definition::IMPURE, Some(within_waves()), reads),
            Self::Quad => (Definition::IMPURE, Some(within_quads()), reads),
            Self::Match => (one_per_wave, Some(spoilt_within_waves()), reads),
            // What the lanes hold does not matter: the wave and the number name one of them.
            Self::Shuffle { lane: Some(lane) } => {
                let lane = &reads[lane..=lane];
                (one_per_wave, Some(spoilt_within_waves()), lane)
            }
            // Lanes of one quad may read different ones.
            Self::Shuffle { lane: None } => {
                let unknown = SourceSet::OPAQUE_THREAD;
                (Definition::IMPURE, Some(image(unknown, Some(unknown))), reads)
            }
        };
        Parts { definition, image, reads }
    }
}

/// What becomes of each source: of those that may vary within a quad, of others that may within a
/// wave; the rest stays.
fn image(in_quad: SourceSet, in_wave: Option<SourceSet>) -> Image {
    let varies = |scope| varying(scope, &LaunchFacts::default());
    let (of_quad, of_wave) = (varies(Scope::Quad), varies(Scope::Wave));
    std::array::from_fn(|bit| {
        let source = SourceSet::from_bits(1 << bit);
        match () {
            () if source.intersects(of_quad) => in_quad,
            () if source.intersects(of_wave) => in_wave.unwrap_or(source),
            () => source,
        }
    })
}

/// All that may vary within a wave becomes one value for it.
fn within_waves() -> Image {
    image(SourceSet::OPAQUE_WAVE, Some(SourceSet::OPAQUE_WAVE))
}

/// All that may vary within a quad becomes one value for it.
fn within_quads() -> Image {
    image(SourceSet::OPAQUE_QUAD, None)
}

/// Nothing is known, but lanes of a quad that hold the same get the same.
fn spoilt_within_waves() -> Image {
    image(SourceSet::OPAQUE_THREAD, Some(SourceSet::OPAQUE_QUAD))
}
