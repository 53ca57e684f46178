//! Questions about motions, and the counted results.

use phalanx_core::legality::Refusal;

use std::{collections::BTreeMap, fmt};

/// A question of [`Legality`](phalanx_core::legality::Legality).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Question {
    /// [`hoist`](phalanx_core::legality::Legality::hoist) of an operation that may not be executed
    /// speculatively.
    Hoist,
    /// [`hoist`](phalanx_core::legality::Legality::hoist) of an operation that may.
    HoistSpeculatable,
    /// [`sink`](phalanx_core::legality::Legality::sink).
    Sink,
    /// [`cse`](phalanx_core::legality::Legality::cse).
    Reuse,
    /// [`duplicate`](phalanx_core::legality::Legality::duplicate).
    Duplicate,
    /// [`merge`](phalanx_core::legality::Legality::merge).
    Merge,
    /// [`speculate`](phalanx_core::legality::Legality::speculate).
    Speculate,
    /// [`unswitch`](phalanx_core::legality::Legality::unswitch).
    Unswitch,
    /// [`unroll`](phalanx_core::legality::Legality::unroll), exits kept.
    Unroll,
    /// [`peel`](phalanx_core::legality::Legality::peel).
    Peel,
    /// [`rotate`](phalanx_core::legality::Legality::rotate).
    Rotate,
    /// [`split_header`](phalanx_core::legality::Legality::split_header).
    SplitHeader,
}

impl Question {
    /// All.
    pub const ALL: [Question; 12] = [
        Question::Hoist,
        Question::HoistSpeculatable,
        Question::Sink,
        Question::Reuse,
        Question::Duplicate,
        Question::Merge,
        Question::Speculate,
        Question::Unswitch,
        Question::Unroll,
        Question::Peel,
        Question::Rotate,
        Question::SplitHeader,
    ];
}

/// Results for the motions of one question.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Legal motions whose probe was executed.
    pub legal: u64,
    /// Groups that were compared for these.
    pub groups: u64,
    /// Refused motions whose probe was executed.
    pub refused: u64,
    /// Refused motions that changed a group.
    pub seen: u64,
}

/// A question, and the name of the [`Refusal`] that answers it.
pub type Reason = (Question, String);

/// Only the name of the reason.
pub(super) fn name_of(refusal: Refusal) -> String {
    format!("{refusal:?}").split(' ').next().unwrap_or_default().to_owned()
}

/// Results for all motions.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By place in [`Question::ALL`].
    pub counts: [Count; Question::ALL.len()],
    /// Refused motions by reason, and how many of them changed a group.
    pub reasons: BTreeMap<Reason, (u64, u64)>,
    /// Permitted motions that changed a group, and the reason that was ignored.
    pub wrong: Vec<(Option<Reason>, String)>,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            mine.legal += theirs.legal;
            mine.groups += theirs.groups;
            mine.refused += theirs.refused;
            mine.seen += theirs.seen;
        }
        for (reason, (refused, seen)) in other.reasons {
            let mine = self.reasons.entry(reason).or_default();
            mine.0 += refused;
            mine.1 += seen;
        }
        self.wrong.extend(other.wrong);
    }

    /// The motions of a question.
    #[must_use]
    pub fn of(&self, question: Question) -> Count {
        self.counts[question as usize]
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{:>8}{:>10}{:>10}{:>12}", "", "legal", "groups", "refused", "changed")?;
        for question in Question::ALL {
            let count = self.of(question);
            let share = 100.0 * count.seen as f64 / count.refused.max(1) as f64;
            let name = format!("{question:?}");
            let Count { legal, groups, refused, .. } = count;
            writeln!(f, "{name:<20}{legal:>8}{groups:>10}{refused:>10}{share:>11.1}%")?;
            for ((of, reason), (refused, seen)) in &self.reasons {
                if *of == question {
                    writeln!(f, "  {reason:<36}{refused:>10}{seen:>12}")?;
                }
            }
        }
        write!(f, "wrong {}", self.wrong.len())
    }
}
