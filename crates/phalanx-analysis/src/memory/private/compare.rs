//! Compares the private memories of a function before and after an edit.
//!
//! # What
//!
//! Each private memory numbers its own slots, touches and phis, so an edit changes the numbers. An
//! analysis with a fact per version calls [`PrivateMemory::renumbered`]. The result maps new
//! numbers of versions to old ones. It also lists what the analysis has to examine again:
//! instructions that touch other slots or are reached by other versions than before, and phis with
//! other incoming versions.
//!
//! # How
//!
//! A slot is identified by its object and bytes, a touch by instruction, slot and effect (and by
//! order, if there are several), and a phi by block and slot. Two definitions with the same
//! identity count as the same version. Whether the version still has the same content is for the
//! calling analysis to determine.
//!
//! **Complexity.** O(touches + entries of phis), of both.

use phalanx_graph::Node;
use phalanx_ir::InstId;
use rustc_hash::FxHashMap;

use super::{PrivateMemory, Slot, Touch};
use crate::memory::ssa::{LEFT_OUT, Version};

/// The mapping of versions, and what has changed. See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renumbered {
    /// By the new [number](PrivateMemory::number_of) of a version: its old number, if it existed.
    versions: Vec<u32>,
    /// Changed instructions, including those that no longer touch anything. Each once.
    pub(crate) insts: Vec<InstId>,
    /// Numbers of changed phis.
    pub(crate) phis: Vec<u32>,
}

impl Renumbered {
    /// The old and the new number of each version that existed before.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let numbered = self.versions.iter().copied().zip(0..);
        numbered.filter(|(old, _)| *old != LEFT_OUT)
    }
}

impl PrivateMemory {
    /// The number of versions. Definitions have the numbers of their events, and phis come behind.
    pub(crate) fn version_count(&self) -> usize {
        self.events.len() + self.ssa.phis().len()
    }

    /// The number of a version. `None` for the content at function entry.
    pub(crate) fn number_of(&self, version: Version) -> Option<usize> {
        match version {
            Version::Entry => None,
            Version::Def(event) => Some(event as usize),
            Version::Phi(phi) => Some(self.events.len() + phi as usize),
        }
    }

    /// Compares with `before`, the private memory of the same function before an edit of
    /// instructions.
    pub(crate) fn renumbered(&self, before: &Self) -> Renumbered {
        let versions = vec![LEFT_OUT; self.version_count()];
        let mut compared = Compared { now: self, before, slots: self.old_slots(before), versions };
        let pairs = compared.touches();
        compared.phis();
        let others = pairs.iter().filter(|(now, old)| !compared.is_same_access(now, old));
        let insts = others.filter_map(|(now, old)| now.first().or(old.first()));
        let insts = insts.map(|touch| touch.inst).collect();
        let phis = (0..self.ssa.phis().len() as u32).filter(|&at| !compared.is_same_phi(at));
        let phis = phis.collect();
        Renumbered { versions: compared.versions, insts, phis }
    }

    /// By slot: its old number.
    fn old_slots(&self, before: &Self) -> Vec<u32> {
        let key = |slot: &Slot| (slot.alloca, slot.range);
        let old: FxHashMap<_, u32> = before.slots.iter().map(key).zip(0..).collect();
        self.slots.iter().map(|slot| old.get(&key(slot)).copied().unwrap_or(LEFT_OUT)).collect()
    }
}

/// The touches of one instruction now and before.
type Pair<'a> = (&'a [Touch], &'a [Touch]);

/// A comparison in progress.
struct Compared<'a> {
    now: &'a PrivateMemory,
    before: &'a PrivateMemory,
    slots: Vec<u32>,
    /// As in [`Renumbered`].
    versions: Vec<u32>,
}

impl<'a> Compared<'a> {
    /// Matches the touches of each instruction that touches something now, or did before.
    fn touches(&mut self) -> Vec<Pair<'a>> {
        let groups = |memory: &'a PrivateMemory| -> Vec<&'a [Touch]> {
            memory.touches.chunk_by(|a, b| a.inst == b.inst).collect()
        };
        let (now, old) = (groups(self.now), groups(self.before));
        let is_same = |(now, old): &(&&[Touch], &&[Touch])| now[0].inst == old[0].inst;
        // Most touches have the same position.
        let first = now.iter().zip(&old).take_while(is_same).count();
        let rest = now[first..].iter().rev().zip(old[first..].iter().rev());
        let last = rest.take_while(is_same).count();
        let mut pairs: Vec<Pair<'a>> = Vec::with_capacity(now.len() + 4);
        let (between, were) = (first..now.len() - last, first..old.len() - last);
        pairs.extend(now.iter().copied().zip(old.iter().copied()).take(first));
        let of_before = |now: &&'a [Touch]| (*now, self.before.of(now[0].inst));
        pairs.extend(now[between.clone()].iter().map(of_before));
        let is_gone = |old: &&&[Touch]| self.now.of(old[0].inst).is_empty();
        pairs.extend(old[were.clone()].iter().filter(is_gone).map(|old| (&[][..], *old)));
        let behind = now[between.end..].iter().copied().zip(old[were.end..].iter().copied());
        pairs.extend(behind);
        for (now, old) in &pairs {
            for (at, touch) in now.iter().enumerate() {
                let what = |touch: &Touch| (self.slots[touch.slot as usize], touch.effect);
                let nth = now[..at].iter().filter(|other| what(other) == what(touch)).count();
                let mut same = old.iter().filter(|old| (old.slot, old.effect) == what(touch));
                if let Some(old) = same.nth(nth) {
                    self.versions[touch.event as usize] = old.event;
                }
            }
        }
        pairs
    }

    /// Matches phis.
    fn phis(&mut self) {
        let (events, old_events) = (self.now.events.len(), self.before.events.len() as u32);
        let mut old = self.before.ssa.phis().iter().zip(old_events..).peekable();
        let mut here: Vec<(u32, u32)> = Vec::new();
        let mut block: Option<Node> = None;
        // Both are sorted by block.
        for (phi, at) in self.now.ssa.phis().iter().zip(events..) {
            if block != Some(phi.block) {
                block = Some(phi.block);
                here.clear();
                while let Some((old, number)) = old.next_if(|(old, _)| old.block <= phi.block) {
                    if old.block == phi.block {
                        here.push((old.variable, number));
                    }
                }
            }
            let was = self.slots[phi.variable as usize];
            let known = here.iter().find(|(variable, _)| *variable == was);
            self.versions[at] = known.map_or(LEFT_OUT, |(_, number)| *number);
        }
    }

    fn is_same(&self, version: Version, old: Version) -> bool {
        match self.now.number_of(version) {
            None => old == Version::Entry,
            Some(at) => self.before.number_of(old) == Some(self.versions[at] as usize),
        }
    }

    fn is_same_access(&self, touches: &[Touch], old: &[Touch]) -> bool {
        let kind = |memory: &PrivateMemory, touch: &Touch| memory.events.event(touch.event).kind;
        let is_same = |(touch, old): (&Touch, &Touch)| {
            self.versions[touch.event as usize] == old.event
                && kind(self.now, touch) == kind(self.before, old)
                && touch.is_at_variable_offset == old.is_at_variable_offset
                && touch.at == old.at
                && self.is_same(self.now.reaching(touch), self.before.reaching(old))
        };
        touches.len() == old.len() && touches.iter().zip(old).all(is_same)
    }

    fn is_same_phi(&self, at: u32) -> bool {
        let phi = &self.now.ssa.phis()[at as usize];
        let was = self.versions[self.now.events.len() + at as usize] as usize;
        let old = was.checked_sub(self.before.events.len());
        let Some(old) = old.and_then(|at| self.before.ssa.phis().get(at)) else { return false };
        let (now, were) = (self.now.ssa.incoming(phi), self.before.ssa.incoming(old));
        let is_same =
            |(a, b): (&(Node, Version), &(Node, Version))| a.0 == b.0 && self.is_same(a.1, b.1);
        now.len() == were.len() && now.iter().zip(were).all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_there_has_no_old_number() {
        let renumbered = Renumbered { versions: vec![2, LEFT_OUT, 0], ..Renumbered::default() };
        assert_eq!(renumbered.pairs().collect::<Vec<_>>(), [(2, 0), (0, 2)]);
    }
}
