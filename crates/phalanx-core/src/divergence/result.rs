//! The answer of the divergence analysis and the questions that it answers.

use std::sync::Arc;

use crate::SourceSet;
use phalanx_graph::{CycleId, Cycles, Node};

use crate::affect::{User, UserKind, Value};
use crate::divergence::{sets::SourceSets, temporal::TemporalUses};

/// A use at which a value is not what it was where it was computed.
///
/// Threads left a cycle in different iterations and met again; each holds the value of its own last
/// iteration. So the use diverges even if the value never does where it is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemporalUse {
    /// The value.
    pub value: Value,
    /// What reads it, outside the cycle.
    pub user: User,
    /// The cycle that contains the definition and that threads leave in different iterations.
    pub cycle: CycleId,
    /// What the iteration in which a thread leaves depends on.
    pub sources: SourceSet,
}

impl TemporalUse {
    /// Whether neither side of the use is a value from this number on.
    pub(crate) fn is_of(&self, values: usize) -> bool {
        let user = match self.user.kind() {
            UserKind::Value(user) => user.index() < values,
            UserKind::Terminator(_) => true,
        };
        user && self.value.index() < values
    }
}

/// Sources of divergence of everything in a function.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Divergence {
    pub(crate) values: SourceSets,
    pub(crate) terminators: SourceSets,
    /// Sorted by value, user, cycle.
    pub(crate) temporal: TemporalUses,
    /// The same for uses that LLVM knows of but does not list. Sorted likewise.
    pub(crate) unlisted: TemporalUses,
    pub(crate) assumed: Vec<(CycleId, SourceSet)>,
    /// Sorted by cycle if found by the precise rules.
    pub(crate) divergent_exits: Arc<Vec<(CycleId, SourceSet)>>,
}

impl Divergence {
    /// Makes it cheap to copy. There must be at most one entry of each use in a list.
    pub(crate) fn share(&mut self) {
        self.values.share();
        self.terminators.share();
        self.temporal.share();
        self.unlisted.share();
    }

    /// Leaves out what is said of values from a number on.
    pub(crate) fn truncate(&mut self, values: usize) {
        if self.values.len() <= values {
            return;
        }
        self.values = self.values.iter().copied().take(values).collect::<Vec<_>>().into();
        for list in [&mut self.temporal, &mut self.unlisted] {
            if !list.iter().all(|entry| entry.is_of(values)) {
                let kept = list.iter().filter(|entry| entry.is_of(values));
                *list = kept.copied().collect::<Vec<_>>().into();
            }
        }
    }

    /// Values of which another answer says something else, where they are computed or at some use;
    /// in order. O(what the answers do not share), and O(temporal uses) if these are not the same.
    #[must_use]
    pub fn values_that_differ(&self, other: &Self) -> Vec<Value> {
        let mut found = Vec::new();
        self.values.each_that_differs(&other.values, |number| found.push(Value::new(number)));
        for (a, b) in [(&self.temporal, &other.temporal), (&self.unlisted, &other.unlisted)] {
            if a != b {
                let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
                let is_same = |list: &[&TemporalUse], entry: &TemporalUse| {
                    let first = list.partition_point(|other| other.value < entry.value);
                    list[first..].iter().take_while(|o| o.value == entry.value).any(|o| *o == entry)
                };
                found.extend(a.iter().filter(|entry| !is_same(&b, entry)).map(|entry| entry.value));
                found.extend(b.iter().filter(|entry| !is_same(&a, entry)).map(|entry| entry.value));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The sources that a value depends on where it is computed. Empty: a launch constant.
    #[inline]
    #[must_use]
    pub fn value(&self, value: Value) -> SourceSet {
        self.values[value.index()]
    }

    /// The sources that the direction of a block's terminator depends on.
    #[inline]
    #[must_use]
    pub fn terminator(&self, block: Node) -> SourceSet {
        self.terminators[block.index()]
    }

    /// The sources that a value depends on where a given user reads it: those of the value itself
    /// and of the moment at which threads left the cycles around it.
    #[must_use]
    pub fn at_use(&self, value: Value, user: User) -> SourceSet {
        let listed = self.temporal_at(value, user);
        let unlisted = self.unlisted.of(value, user);
        let temporal = listed.iter().chain(unlisted);
        temporal.fold(self.value(value), |all, entry| all | entry.sources)
    }

    /// The temporal divergence of one use, per cycle.
    #[must_use]
    pub fn temporal_at(&self, value: Value, user: User) -> &[TemporalUse] {
        self.temporal.of(value, user)
    }

    /// All uses with temporal divergence, sorted by value, user and cycle. By LLVM's rules: those
    /// that LLVM lists, which are not those of phis behind a cycle that need not be entered.
    #[must_use]
    pub fn temporal_uses(&self) -> &TemporalUses {
        &self.temporal
    }

    /// Uses with temporal divergence that LLVM knows of but does not list, sorted likewise.
    #[must_use]
    pub fn unlisted_uses(&self) -> &TemporalUses {
        &self.unlisted
    }

    /// The irreducible cycles in which threads must be assumed to run apart, and why; in order, if
    /// found by the precise rules. A cycle nested in one of them is not listed for the same
    /// sources.
    #[must_use]
    pub fn assumed_divergent_cycles(&self) -> &[(CycleId, SourceSet)] {
        &self.assumed
    }

    /// The cycles that threads leave in different iterations: of each divergent exit, the outermost
    /// cycle that it leaves. By the precise rules in the order of their numbers, else in order of
    /// discovery.
    #[must_use]
    pub fn cycles_with_divergent_exit(&self) -> &[(CycleId, SourceSet)] {
        &self.divergent_exits
    }

    /// Why threads must be assumed to run apart in the cycle or one around it. Empty: they do not.
    #[must_use]
    pub fn is_assumed_divergent(&self, cycles: &Cycles, cycle: CycleId) -> SourceSet {
        let env = self.assumed.iter().filter(|(c, _)| cycles.contains_cycle(*c, cycle));
        env.fold(SourceSet::EMPTY, |all, (_, sources)| all | *sources)
    }

    /// Every value's sources, by value number.
    #[must_use]
    pub fn values(&self) -> &SourceSets {
        &self.values
    }

    /// Every terminator's sources, by block number.
    #[must_use]
    pub fn terminators(&self) -> &SourceSets {
        &self.terminators
    }

    /// Whether nothing depends on any of the given sources: "all values uniform" at the scope at
    /// which these vary.
    #[must_use]
    pub fn is_uniform(&self, varying: SourceSet) -> bool {
        let hit = |s: &SourceSet| s.intersects(varying);
        !self.values.iter().any(hit) && !self.terminators.iter().any(hit)
    }
}
