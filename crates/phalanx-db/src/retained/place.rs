//! Places for the retained state of one analysis of one function, while no query uses it.
//!
//! A query takes the state out of its place, works with it, and puts it back. A cancelled query
//! loses the state, so no query sees state that is half updated. Counters record how answers were
//! found.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use phalanx_analysis::policy::ROUNDS_KEPT;
use phalanx_analysis::update::{DivergenceUpdater, Found};
use phalanx_graph::BitSet;
use phalanx_ir::InstId;

use super::layout::Layout;

/// A number that was never given out before.
pub(crate) fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Code under these locks only moves and counts, so a poisoned lock still protects valid data.
pub(crate) fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often an answer about a function was found in which way.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Ways {
    /// From scratch.
    pub solved: u64,
    /// An edit did not concern it: it is the answer of before.
    pub kept: u64,
    /// From the state that was retained.
    pub repaired: u64,
    /// The number of subjects that all repairs visited, if the analysis counts them.
    pub visited: u64,
}

impl Ways {
    /// Adds those of another function.
    pub fn merge(&mut self, other: Ways) {
        self.solved += other.solved;
        self.kept += other.kept;
        self.repaired += other.repaired;
        self.visited += other.visited;
    }

    pub(crate) fn count(&mut self, updated: Updated) {
        match updated {
            Updated::Same => self.kept += 1,
            Updated::Changed { visited } => {
                self.repaired += 1;
                self.visited += visited as u64;
            }
            Updated::Scratch => self.solved += 1,
        }
    }
}

/// What became of retained state.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Updated {
    /// The answer is the one of before.
    Same,
    /// The state was repaired. `visited` is the number of visited subjects, if the analysis counts
    /// them.
    Changed { visited: usize },
    /// The answer has to be found from scratch, or was.
    Scratch,
}

impl Updated {
    /// Repaired, and not counted how.
    pub(crate) const CHANGED: Updated = Updated::Changed { visited: 0 };
}

/// What retained state counts for.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub(crate) position: u64,
    pub(crate) layout: Arc<Layout>,
    pub(crate) environment: u64,
}

/// The place for the state of one analysis of one function. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Retained<T> {
    /// Boxed: most places of a function are never used, and what is in one is moved out and back.
    pub(crate) state: Mutex<Option<Box<(Stamp, T)>>>,
    pub(crate) ways: Mutex<Ways>,
}

impl<T> Default for Retained<T> {
    fn default() -> Self {
        Retained { state: Mutex::new(None), ways: Mutex::default() }
    }
}

/// An answer, and the instructions that it depends on.
#[derive(Debug)]
pub(crate) struct AnswerAndDependencies<T> {
    pub(crate) affected: BitSet,
    pub(crate) answer: T,
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct RetainedAnswer<T>(pub(crate) Retained<AnswerAndDependencies<T>>);

impl<T> Default for RetainedAnswer<T> {
    fn default() -> Self {
        RetainedAnswer(Retained::default())
    }
}

pub(crate) fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

/// How often the divergence of a function was found in which way.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Repairs {
    /// From scratch.
    pub solved: u64,
    /// From scratch, and kept to be repaired.
    pub kept: u64,
    /// By repair.
    pub repaired: u64,
    /// Derived again from tables that were kept.
    pub rebuilt: u64,
    /// Values, uses and branches that all repairs together looked at.
    pub visited: u64,
}

impl Repairs {
    /// Adds those of another function.
    pub fn merge(&mut self, other: Repairs) {
        self.solved += other.solved;
        self.kept += other.kept;
        self.repaired += other.repaired;
        self.rebuilt += other.rebuilt;
        self.visited += other.visited;
    }

    pub(crate) fn count(&mut self, found: Found) {
        match found {
            Found::Solved => self.solved += 1,
            Found::Kept => self.kept += 1,
            Found::Rebuilt => self.rebuilt += 1,
            Found::Repaired { visited } => {
                self.repaired += 1;
                self.visited += visited as u64;
            }
        }
    }
}

/// A place for an updater or other retained state. A query takes the state out while it works with
/// it.
#[derive(Debug, Default)]
pub(crate) enum UpdaterPlace<F = DivergenceUpdater> {
    /// No query has run.
    #[default]
    New,
    /// One query has run, at this position of the body's history. No state was retained.
    Asked(u64),
    /// Busy: a query has taken the state out. Or the state was dropped, or lost because that query
    /// was cancelled.
    Busy,
    Idle(F),
}

impl<F> UpdaterPlace<F> {
    /// Takes the state out. `None` for a first query, after which no state is retained. `seen`
    /// builds the state for the second query, from the position of the first.
    pub(crate) fn take(&mut self, position: u64, seen: impl FnOnce(u64) -> F) -> Option<F> {
        match std::mem::replace(self, UpdaterPlace::Busy) {
            UpdaterPlace::New | UpdaterPlace::Busy => {
                *self = UpdaterPlace::Asked(position);
                None
            }
            UpdaterPlace::Asked(position) => Some(seen(position)),
            UpdaterPlace::Idle(updater) => Some(updater),
        }
    }
}

/// The retained state of a function for each round of a recursion.
#[derive(Debug)]
pub(crate) struct RetainedRounds<T>(pub(crate) Mutex<Vec<Arc<T>>>);

impl<T> Default for RetainedRounds<T> {
    fn default() -> Self {
        RetainedRounds(Mutex::default())
    }
}

impl<T: Default> RetainedRounds<T> {
    /// Nothing is done under the lock but moving.
    pub(crate) fn slots(&self) -> MutexGuard<'_, Vec<Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The retained state for a round, counted from one. `None` for rounds without retained state.
    pub(crate) fn of(&self, round: usize) -> Option<Arc<T>> {
        let mut slots = self.slots();
        while slots.len() < round.min(ROUNDS_KEPT) {
            slots.push(Arc::default());
        }
        slots.get(round.checked_sub(1)?).cloned()
    }

    /// The retained state of all rounds.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.slots().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_have_slots_of_their_own_up_to_a_bound() {
        let slots: RetainedRounds<Mutex<usize>> = RetainedRounds::default();
        for round in (1..=ROUNDS_KEPT).rev() {
            let slot = slots.of(round).expect("it has one");
            *slot.lock().expect("nobody panics") += round;
        }
        let of = |round| slots.of(round).map(|slot| *slot.lock().expect("nobody panics"));
        assert_eq!(of(1), Some(1));
        assert_eq!(of(ROUNDS_KEPT), Some(ROUNDS_KEPT));
        assert_eq!(of(ROUNDS_KEPT + 1), None);
        assert_eq!(of(0), None);
        assert_eq!(slots.all().len(), ROUNDS_KEPT);
    }
}
