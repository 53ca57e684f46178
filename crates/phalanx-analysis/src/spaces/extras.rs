//! What comes round loops: of each phi, what its backward inputs have and its forward inputs have
//! not.
//!
//! Why a repair keeps these apart is told in [`retained`](super::retained). O(1) each, but for the
//! numbers of versions, which are O(extras).

use rustc_hash::FxHashMap;

use crate::memory::private::{compare::Renumbered, readers::Place};

/// What phis have from backward inputs alone.
#[derive(Debug, Default)]
pub(super) struct Extras {
    by_phi: FxHashMap<Place, u64>,
    /// All that any of them has, or had since there last was none: kept as they come, so that an
    /// edit does not go through all of them. It is only asked which ways could have carried an
    /// extra. What has gone by now makes more ways count, so more extras may be forgotten than need
    /// be, and found again, and none is left that had to be forgotten.
    pub(super) any: u64,
}

impl Extras {
    pub(super) fn of(&self, phi: Place) -> u64 {
        self.by_phi.get(&phi).copied().unwrap_or(0)
    }

    pub(super) fn has(&self, phi: Place) -> bool {
        self.by_phi.contains_key(&phi)
    }

    pub(super) fn add(&mut self, phi: Place, more: u64) {
        if more != 0 {
            *self.by_phi.entry(phi).or_default() |= more;
            self.any |= more;
        }
    }

    /// The same by the numbers that versions have now. Gives whether a version is gone of which
    /// there was one.
    pub(super) fn renumber(&mut self, memory: &Renumbered) -> bool {
        if self.by_phi.keys().all(|place| matches!(place, Place::Value(_))) {
            return false;
        }
        let numbers: FxHashMap<u32, u32> = memory.pairs().collect();
        let mut is_lost = false;
        let of = |(place, extra): (Place, u64)| match place {
            Place::Value(_) => Some((place, extra)),
            Place::Content(old) => {
                let now = numbers.get(&old).map(|now| (Place::Content(*now), extra));
                is_lost |= now.is_none();
                now
            }
        };
        self.by_phi = std::mem::take(&mut self.by_phi).into_iter().filter_map(of).collect();
        is_lost
    }

    pub(super) fn remove(&mut self, phi: Place, less: u64) {
        if let Some(extra) = self.by_phi.get_mut(&phi) {
            *extra &= !less;
            if *extra == 0 {
                self.by_phi.remove(&phi);
            }
            if self.by_phi.is_empty() {
                self.any = 0;
            }
        }
    }
}
