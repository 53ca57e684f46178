//! What two private memories of one function have in common: that of before an edit, and that of behind it.
//!
//! # What
//!
//! Numbers of slots, touches and phis are those of the memory that they are in, so an edit moves them. Who has found something for each version asks
//! [`PrivateMemory::renumbered`] which version was which, and of what it has to think again: instructions that touch something else than they did, or the
//! same where other versions reach, and phis in which other versions meet.
//!
//! # How
//!
//! A slot is known by its object and bytes, a touch by instruction, slot and what it does there (if there are several such, by which of them), and a phi by block and slot. What is known by the
//! same is the same version, if it is one in both; whether it holds the same is for the asker to find.
//!
//! **Complexity.** O(touches + entries of phis), of both.

use phalanx_graph::Node;
use phalanx_ir::InstId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Effect, PrivateMemory, Touch};
use crate::memory::ssa::{LEFT_OUT, Version};

/// Which version was which, and what is otherwise. See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renumbered {
    /// By [number](PrivateMemory::number_of) of a version as it is now: the number that it had, if it was there.
    versions: Vec<u32>,
    /// Instructions, also those that touch nothing any longer. Each once.
    pub(crate) insts: Vec<InstId>,
    /// Numbers of phis.
    pub(crate) phis: Vec<u32>,
}

impl Renumbered {
    /// A table by number of versions, of what was known of each; what was not there has the default.
    pub(crate) fn table<T: Clone + Default>(&self, before: &[T]) -> Vec<T> {
        let known = |old: &u32| before.get(*old as usize).cloned().unwrap_or_default();
        self.versions.iter().map(known).collect()
    }

    /// The numbers of versions that were there: as they were, and as they are.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let numbered = self.versions.iter().copied().zip(0..);
        numbered.filter(|(old, _)| *old != LEFT_OUT)
    }
}

impl PrivateMemory {
    /// How many numbers versions have: definitions have those of their events, phis come behind.
    pub(crate) fn version_count(&self) -> usize {
        self.events.len() + self.ssa.phis().len()
    }

    /// The number of a version among all; none for what memory is at the entry.
    pub(crate) fn number_of(&self, version: Version) -> Option<usize> {
        match version {
            Version::Entry => None,
            Version::Def(event) => Some(event as usize),
            Version::Phi(phi) => Some(self.events.len() + phi as usize),
        }
    }

    /// What has become of the versions of another one, which was that of the same function before an edit of instructions.
    pub(crate) fn renumbered(&self, before: &Self) -> Renumbered {
        let mut old_slots: FxHashMap<_, u32> = FxHashMap::default();
        old_slots.extend(before.slots.iter().map(|slot| (slot.alloca, slot.range)).zip(0..));
        let slot = |slot: &super::Slot| {
            old_slots.get(&(slot.alloca, slot.range)).copied().unwrap_or(LEFT_OUT)
        };
        let slots: Vec<u32> = self.slots.iter().map(slot).collect();
        let mut versions = vec![LEFT_OUT; self.version_count()];
        let mut matched: Vec<(&[Touch], &[Touch])> = Vec::new();
        for touches in self.touches.chunk_by(|a, b| a.inst == b.inst) {
            let old = before.of(touches[0].inst);
            let mut known: SmallVec<[(u32, Effect); 8]> = SmallVec::new();
            for touch in touches {
                let what = (slots[touch.slot as usize], touch.effect);
                let nth = known.iter().filter(|other| **other == what).count();
                known.push(what);
                let mut same = old.iter().filter(|old| (old.slot, old.effect) == what);
                if let Some(old) = same.nth(nth) {
                    versions[touch.event as usize] = old.event;
                }
            }
            matched.push((touches, old));
        }
        let mut old_phis: FxHashMap<(Node, u32), u32> = FxHashMap::default();
        let phis = before.ssa.phis().iter().map(|phi| (phi.block, phi.variable));
        old_phis.extend(phis.zip(before.events.len() as u32..));
        for (phi, at) in self.ssa.phis().iter().zip(self.events.len()..) {
            let old = old_phis.get(&(phi.block, slots[phi.variable as usize]));
            versions[at] = old.copied().unwrap_or(LEFT_OUT);
        }
        let was = |version: Version| self.number_of(version).map(|at| versions[at]);
        let is_same = |version: Version, old: Version| match was(version) {
            None => old == Version::Entry,
            Some(was) => before.number_of(old) == Some(was as usize),
        };
        let is_same_touch = |touch: &Touch, old: &Touch| {
            let kind = |memory: &Self, touch: &Touch| memory.events.event(touch.event).kind;
            versions[touch.event as usize] == old.event
                && kind(self, touch) == kind(before, old)
                && touch.is_at_variable_offset == old.is_at_variable_offset
                && touch.at == old.at
                && is_same(self.reaching(touch), before.reaching(old))
        };
        let is_other = |(touches, old): &&(&[Touch], &[Touch])| {
            touches.len() != old.len()
                || !touches.iter().zip(*old).all(|(a, b)| is_same_touch(a, b))
        };
        let mut insts: Vec<InstId> =
            matched.iter().filter(is_other).map(|(touches, _)| touches[0].inst).collect();
        let were = before.touches.chunk_by(|a, b| a.inst == b.inst).map(|touches| touches[0].inst);
        insts.extend(were.filter(|&inst| self.of(inst).is_empty()));
        let is_other_phi = |at: &u32| {
            let phi = &self.ssa.phis()[*at as usize];
            let was = versions[self.events.len() + *at as usize] as usize;
            let old = was.checked_sub(before.events.len()).and_then(|at| before.ssa.phis().get(at));
            let Some(old) = old else { return true };
            let (now, were) = (self.ssa.incoming(phi), before.ssa.incoming(old));
            now.len() != were.len()
                || !now.iter().zip(were).all(|(a, b)| a.0 == b.0 && is_same(a.1, b.1))
        };
        let phis = (0..self.ssa.phis().len() as u32).filter(is_other_phi).collect();
        Renumbered { versions, insts, phis }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_there_is_given_the_default() {
        let renumbered = Renumbered { versions: vec![2, LEFT_OUT, 0], ..Renumbered::default() };
        assert_eq!(renumbered.table(&[5, 6, 7]), [7, 0, 5]);
        assert_eq!(renumbered.pairs().collect::<Vec<_>>(), [(2, 0), (0, 2)]);
    }
}
