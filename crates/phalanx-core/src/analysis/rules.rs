//! What operations on lanes of a wave make of what they read, by value.
//!
//! A [`Definition`] has one rule for all operands, and an image needs twelve sets. For the usual
//! operations a [`Rule`] says both, with the positions of operands that are not like the others:
//!
//! ```text
//!   s = sum over the wave of id     Rule::Agree                       one value per wave
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
            Self::Agree => (Definition::IMPURE, Some(within_waves(SourceSet::OPAQUE_WAVE)), reads),
            Self::Match => (one_per_wave, Some(within_waves(SourceSet::OPAQUE_THREAD)), reads),
            // What the lanes hold does not matter: the wave and the number name one of them.
            Self::Shuffle { lane: Some(lane) } => {
                let lane = &reads[lane..=lane];
                (one_per_wave, Some(within_waves(SourceSet::OPAQUE_THREAD)), lane)
            }
            Self::Shuffle { lane: None } => {
                (Definition::IMPURE, Some(within_waves(SourceSet::OPAQUE_THREAD)), reads)
            }
        };
        Parts { definition, image, reads }
    }
}

/// Sources that may vary within a wave become `of_wave`, others stay.
fn within_waves(of_wave: SourceSet) -> Image {
    let varies = varying(Scope::Wave, &LaunchFacts::default());
    std::array::from_fn(|bit| {
        let source = SourceSet::from_bits(1 << bit);
        if source.intersects(varies) { of_wave } else { source }
    })
}
