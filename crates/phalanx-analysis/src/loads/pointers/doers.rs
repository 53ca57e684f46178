//! Who does what with which objects, of a function that is edited.
//!
//! A [`PointerFlow`](super::PointerFlow) tells of each thing that is done with an object only who
//! is the first to do it, by number. Here are all, so that the next is found when the first has
//! gone. O(log of instructions) for what an instruction does, and O(instructions that do the same
//! to others) where a first has gone.

use std::collections::BTreeMap;
use std::ops::Bound;

use phalanx_fixpoint::Bits;
use phalanx_ir::InstId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::flow::{First, Objects, Sink};
use crate::memory::origins::number;

/// What one instruction does: each thing once, in order.
pub(super) type Done = SmallVec<[(Objects, Sink); 2]>;

/// What an instruction does, with what is said of one thing in one place.
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

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct Doers {
    /// By what is done, and by number of the instruction.
    by_sink: FxHashMap<Sink, BTreeMap<usize, (InstId, Objects)>>,
    by_inst: FxHashMap<InstId, SmallVec<[Sink; 2]>>,
}

impl Doers {
    /// Notes what an instruction does of which nothing was noted.
    pub(super) fn note(&mut self, inst: InstId, done: &[(Objects, Sink)]) {
        for &(objects, sink) in done {
            self.by_sink.entry(sink).or_default().insert(number(inst), (inst, objects));
        }
        if !done.is_empty() {
            self.by_inst.insert(inst, done.iter().map(|(_, sink)| *sink).collect());
        }
    }

    /// Forgets an instruction that was not the first to do anything.
    pub(super) fn forget(&mut self, inst: InstId) {
        for sink in self.by_inst.remove(&inst).unwrap_or_default() {
            if let Some(all) = self.by_sink.get_mut(&sink) {
                all.remove(&number(inst));
            }
        }
    }

    /// Notes what an instruction does now, and brings up to date who is the first. Whether somebody
    /// else is, of something.
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

/// Gives what an instruction was the first to do to the next one that does it. Whether it was.
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

/// Makes an instruction the first to do something with those objects with which none before it
/// does. Whether there are any of which it was not.
fn take(inst: InstId, objects: Objects, sink: Sink, firsts: &mut Vec<First>) -> bool {
    let mut own = objects;
    for (by, of, _) in firsts.iter_mut().filter(|(_, _, other)| *other == sink) {
        match number(*by) <= number(inst) {
            // Those before it, and what it has already.
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

    /// Against all that is done, gone through from the first instruction on.
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
