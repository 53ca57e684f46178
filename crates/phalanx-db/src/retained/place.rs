//! Where the state of one analysis of one function is, while no question is asked.
//!
//! State is taken out of its place, worked with, and put back: work that is broken off loses the
//! state and leaves nothing half done. Counters say how answers were found.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use phalanx_analysis::follow::{Follower, Found};
use phalanx_analysis::policy::ROUNDS_KEPT;
use phalanx_graph::BitSet;
use phalanx_ir::InstId;

use super::layout::Layout;

/// A number that was never given out before.
pub(crate) fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Nothing is done under these locks but moving and counting, so what a panic leaves is whole.
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
    /// Subjects that all repairs together looked at, where the analysis counts them.
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
    /// The state was repaired; so many subjects were looked at, as far as they are counted.
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
pub(crate) struct Kept<T> {
    pub(crate) concerned: BitSet,
    pub(crate) answer: T,
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct AnswerSlot<T>(pub(crate) Retained<Kept<T>>);

impl<T> Default for AnswerSlot<T> {
    fn default() -> Self {
        AnswerSlot(Retained::default())
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

/// Where a follower, or what else is taken out while it is worked with, is while nobody asks.
#[derive(Debug, Default)]
pub(crate) enum Place<F = Follower> {
    /// Never asked.
    #[default]
    New,
    /// Asked once, at this position of the body's history; nothing was kept.
    Asked(u64),
    /// Somebody is working with it, or it was dropped; lost, if work with it was broken off.
    Taken,
    Here(F),
}

impl<F> Place<F> {
    /// The follower; none for a first question after which nothing is kept. `seen` makes one of a
    /// function that was asked about at a position of its history.
    pub(crate) fn take(&mut self, position: u64, seen: impl FnOnce(u64) -> F) -> Option<F> {
        match std::mem::replace(self, Place::Taken) {
            Place::New | Place::Taken => {
                *self = Place::Asked(position);
                None
            }
            Place::Asked(position) => Some(seen(position)),
            Place::Here(follower) => Some(follower),
        }
    }
}

/// What is kept of a function for each round.
#[derive(Debug)]
pub(crate) struct RoundSlots<T>(pub(crate) Mutex<Vec<Arc<T>>>);

impl<T> Default for RoundSlots<T> {
    fn default() -> Self {
        RoundSlots(Mutex::default())
    }
}

impl<T: Default> RoundSlots<T> {
    /// Nothing is done under the lock but moving.
    pub(crate) fn slots(&self) -> MutexGuard<'_, Vec<Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept for a round from one on; none for one of those for which nothing is.
    pub(crate) fn of(&self, round: usize) -> Option<Arc<T>> {
        let mut slots = self.slots();
        while slots.len() < round.min(ROUNDS_KEPT) {
            slots.push(Arc::default());
        }
        slots.get(round.checked_sub(1)?).cloned()
    }

    /// What is kept for all rounds.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.slots().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_have_slots_of_their_own_up_to_a_bound() {
        let slots: RoundSlots<Mutex<usize>> = RoundSlots::default();
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
