//! What two private memories of one function have in common: that of before an edit, and that of
//! behind it.
//!
//! # What
//!
//! Numbers of slots, touches and phis are those of the memory that they are in, so an edit moves
//! them. Who has found something for each version asks [`PrivateMemory::renumbered`] which version
//! was which, and of what it has to think again: instructions that touch something else than they
//! did, or the same where other versions reach, and phis in which other versions meet.
//!
//! # How
//!
//! A slot is known by its object and bytes, a touch by instruction, slot and what it does there (if
//! there are several such, by which of them), and a phi by block and slot. What is known by the
//! same is the same version, if it is one in both; whether it holds the same is for the asker to
//! find.
//!
//! **Complexity.** O(touches + entries of phis), of both.

use phalanx_graph::Node;
use phalanx_ir::InstId;
use rustc_hash::FxHashMap;

use super::{PrivateMemory, Slot, Touch};
use crate::memory::ssa::{LEFT_OUT, Version};

/// Which version was which, and what is otherwise. See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Renumbered {
    /// By [number](PrivateMemory::number_of) of a version as it is now: the number that it had, if
    /// it was there.
    versions: Vec<u32>,
    /// Instructions, also those that touch nothing any longer. Each once.
    pub(crate) insts: Vec<InstId>,
    /// Numbers of phis.
    pub(crate) phis: Vec<u32>,
}

impl Renumbered {
    /// A table by number of versions, of what was known of each; what was not there has the
    /// default.
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

    /// What has become of the versions of another one, which was that of the same function before
    /// an edit of instructions.
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

    /// By slot: which it was.
    fn old_slots(&self, before: &Self) -> Vec<u32> {
        let key = |slot: &Slot| (slot.alloca, slot.range);
        let old: FxHashMap<_, u32> = before.slots.iter().map(key).zip(0..).collect();
        self.slots.iter().map(|slot| old.get(&key(slot)).copied().unwrap_or(LEFT_OUT)).collect()
    }
}

/// What one instruction touches now, and what it touched before.
type Pair<'a> = (&'a [Touch], &'a [Touch]);

/// Two memories that are compared.
struct Compared<'a> {
    now: &'a PrivateMemory,
    before: &'a PrivateMemory,
    slots: Vec<u32>,
    /// As in [`Renumbered`].
    versions: Vec<u32>,
}

impl<'a> Compared<'a> {
    /// Finds which touch was which: of each instruction that touches something, or did.
    fn touches(&mut self) -> Vec<Pair<'a>> {
        let groups = |memory: &'a PrivateMemory| -> Vec<&'a [Touch]> {
            memory.touches.chunk_by(|a, b| a.inst == b.inst).collect()
        };
        let (now, old) = (groups(self.now), groups(self.before));
        let is_same = |(now, old): &(&&[Touch], &&[Touch])| now[0].inst == old[0].inst;
        // Most stand where they stood.
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

    /// Finds which phi was which.
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
    fn what_was_not_there_is_given_the_default() {
        let renumbered = Renumbered { versions: vec![2, LEFT_OUT, 0], ..Renumbered::default() };
        assert_eq!(renumbered.table(&[5, 6, 7]), [7, 0, 5]);
        assert_eq!(renumbered.pairs().collect::<Vec<_>>(), [(2, 0), (0, 2)]);
    }
}
