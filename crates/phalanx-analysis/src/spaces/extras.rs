//! What reaches phis around loops: for each phi, the bits that its backward inputs have and its
//! forward inputs do not have.
//!
//! [`retained`](super::retained) says why a repair keeps these apart. O(1) for each operation,
//! except for new numbers of versions, which cost O(extras).

use rustc_hash::FxHashMap;

use crate::memory::private::{compare::Renumbered, readers::ReaderNode};

/// The bits that phis have from backward inputs alone.
#[derive(Debug, Default)]
pub(super) struct Extras {
    by_phi: FxHashMap<ReaderNode, u64>,
    /// The union of all extras, now or at any time since there last were none. An edit that removes
    /// an extra does not recompute the union. The union is only used to find the paths that could
    /// have carried an extra. An outdated bit makes more paths count. So the repair may drop more
    /// extras than necessary, which it then finds again; it never keeps one that had to be dropped.
    pub(super) any: u64,
}

impl Extras {
    pub(super) fn of(&self, phi: ReaderNode) -> u64 {
        self.by_phi.get(&phi).copied().unwrap_or(0)
    }

    pub(super) fn has(&self, phi: ReaderNode) -> bool {
        self.by_phi.contains_key(&phi)
    }

    pub(super) fn add(&mut self, phi: ReaderNode, more: u64) {
        if more != 0 {
            *self.by_phi.entry(phi).or_default() |= more;
            self.any |= more;
        }
    }

    /// Applies the present numbers of versions. Returns whether a version that had an extra is
    /// gone.
    pub(super) fn renumber(&mut self, memory: &Renumbered) -> bool {
        if self.by_phi.keys().all(|place| matches!(place, ReaderNode::Value(_))) {
            return false;
        }
        let numbers: FxHashMap<u32, u32> = memory.pairs().collect();
        let mut is_lost = false;
        let of = |(place, extra): (ReaderNode, u64)| match place {
            ReaderNode::Value(_) => Some((place, extra)),
            ReaderNode::Content(old) => {
                let now = numbers.get(&old).map(|now| (ReaderNode::Content(*now), extra));
                is_lost |= now.is_none();
                now
            }
        };
        self.by_phi = std::mem::take(&mut self.by_phi).into_iter().filter_map(of).collect();
        is_lost
    }

    pub(super) fn remove(&mut self, phi: ReaderNode, less: u64) {
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
