//! All instructions with each use of each object, for a function that is edited.
//!
//! A [`PointerFlow`](super::PointerFlow) has only the first instruction, by number, for each kind
//! of use of an object. These tables have all of them, so that the next one is found when the first
//! has gone. O(log of instructions) for the uses of one instruction; O(instructions with the same
//! use of other objects) when a first one has gone.

use std::collections::BTreeMap;
use std::ops::Bound;

use phalanx_fixpoint::Bits;
use phalanx_ir::InstId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::flow::{First, Objects, Sink};
use crate::memory::origins::number;

/// The uses that one instruction makes: each kind once, in order.
pub(super) type Done = SmallVec<[(Objects, Sink); 2]>;

/// The uses of an instruction, with the objects of each kind of use merged.
pub(super) fn merged(all: impl IntoIterator<Item = (Objects, Sink)>) -> Done {
    let mut merged = Done::new();
    for (objects, sink) in all {
        match merged.iter_mut().find(|(_, other)| *other == sink) {
            Some((known, _)) => *known = known.union(objects),
            None => merged.push((objects, sink)),
        }
    }
    merged.sort_unstable_by_key(|(_, sink)| *sink);
    merged
}

/// All uses by instruction. See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct Doers {
    /// By kind of use, and by number of the instruction.
    by_sink: FxHashMap<Sink, BTreeMap<usize, (InstId, Objects)>>,
    by_inst: FxHashMap<InstId, SmallVec<[Sink; 2]>>,
}

impl Doers {
    /// Records the uses of an instruction that has no records.
    pub(super) fn note(&mut self, inst: InstId, done: &[(Objects, Sink)]) {
        for &(objects, sink) in done {
            self.by_sink.entry(sink).or_default().insert(number(inst), (inst, objects));
        }
        if !done.is_empty() {
            self.by_inst.insert(inst, done.iter().map(|(_, sink)| *sink).collect());
        }
    }

    /// Removes an instruction that was not the first with any use.
    pub(super) fn forget(&mut self, inst: InstId) {
        for sink in self.by_inst.remove(&inst).unwrap_or_default() {
            if let Some(all) = self.by_sink.get_mut(&sink) {
                all.remove(&number(inst));
            }
        }
    }

    /// Replaces the uses of an instruction, and updates the first ones. Returns whether some first
    /// one has changed.
    pub(super) fn set(
        &mut self,
        inst: InstId,
        done: &[(Objects, Sink)],
        firsts: &mut Vec<First>,
    ) -> bool {
        let mut is_other = false;
        let known = self.by_inst.remove(&inst).unwrap_or_default();
        for sink in known {
            let Some(all) = self.by_sink.get_mut(&sink) else { continue };
            let Some((_, old)) = all.remove(&number(inst)) else { continue };
            let of_same = done.iter().find(|(_, other)| *other == sink);
            let new = of_same.map_or(Objects::NONE, |(objects, _)| *objects);
            is_other |= leave(inst, old.minus(new), (sink, all), firsts);
        }
        for &(objects, sink) in done {
            is_other |= take(inst, objects, sink, firsts);
        }
        self.note(inst, done);
        is_other
    }
}

/// Passes the objects of which an instruction was the first user on to the next user. Returns
/// whether it was the first for any.
fn leave(
    inst: InstId,
    gone: Objects,
    (sink, others): (Sink, &BTreeMap<usize, (InstId, Objects)>),
    firsts: &mut Vec<First>,
) -> bool {
    let Ok(at) = place(firsts, inst, sink) else { return false };
    let mut left = firsts[at].1.common(gone);
    if left == Objects::NONE {
        return false;
    }
    firsts[at].1 = firsts[at].1.minus(left);
    if firsts[at].1 == Objects::NONE {
        firsts.remove(at);
    }
    for &(next, objects) in
        others.range((Bound::Excluded(number(inst)), Bound::Unbounded)).map(|(_, next)| next)
    {
        let found = objects.common(left);
        if found != Objects::NONE {
            add(firsts, next, found, sink);
            left = left.minus(found);
            if left == Objects::NONE {
                break;
            }
        }
    }
    true
}

/// Makes an instruction the first user of those objects that no earlier instruction uses so.
/// Returns whether it was not yet the first for some of them.
fn take(inst: InstId, objects: Objects, sink: Sink, firsts: &mut Vec<First>) -> bool {
    let mut own = objects;
    for (by, of, _) in firsts.iter_mut().filter(|(_, _, other)| *other == sink) {
        match number(*by) <= number(inst) {
            // Objects of earlier instructions, and those that it is the first for already.
            true => own = own.minus(*of),
            false => *of = of.minus(own),
        }
    }
    if own == Objects::NONE {
        return false;
    }
    firsts.retain(|(_, of, _)| *of != Objects::NONE);
    add(firsts, inst, own, sink);
    true
}

fn add(firsts: &mut Vec<First>, inst: InstId, objects: Objects, sink: Sink) {
    match place(firsts, inst, sink) {
        Ok(at) => firsts[at].1 = firsts[at].1.union(objects),
        Err(at) => firsts.insert(at, (inst, objects, sink)),
    }
}

fn place(firsts: &[First], inst: InstId, sink: Sink) -> Result<usize, usize> {
    firsts.binary_search_by_key(&(number(inst), sink), |(by, _, of)| (number(*by), *of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// Compares with a search through all uses, from the first instruction on.
    #[test]
    fn firsts_follow_what_is_done() {
        let mut rng = SmallRng::seed_from_u64(5);
        let (mut doers, mut firsts) = (Doers::default(), Vec::new());
        let mut all: BTreeMap<u32, Done> = BTreeMap::new();
        let mut others = 0;
        for _ in 0..4000 {
            let at = rng.random_range(0..40u32);
            let inst = InstId::from_raw(at.into());
            let count = rng.random_range(0..3);
            let one = |rng: &mut SmallRng| {
                let sink = [Sink::Write, Sink::Escape][rng.random_range(0..2)];
                (Objects(1 << rng.random_range(0..6)), sink)
            };
            let done = merged((0..count).map(|_| one(&mut rng)));
            let before = firsts.clone();
            let is_other = doers.set(inst, &done, &mut firsts);
            all.insert(at, done);
            let mut known: FxHashMap<Sink, Objects> = FxHashMap::default();
            let mut expected = Vec::new();
            for (&at, done) in &all {
                for &(objects, sink) in done {
                    let known = known.entry(sink).or_default();
                    let first = objects.minus(*known);
                    *known = known.union(objects);
                    if first != Objects::NONE {
                        expected.push((InstId::from_raw(at.into()), first, sink));
                    }
                }
            }
            assert_eq!(firsts, expected);
            assert_eq!(is_other, firsts != before);
            others += u32::from(is_other);
        }
        assert!((400..3600).contains(&others), "{others}");
    }
}
