//! Derived facts, if wanted with the order in which they were derived.
//!
//! A fact is a subject and one bit: value 7 has source x. The bits of a subject stand together in
//! one word. A fact may have a *rank*, which tells when it was derived; bits that came together
//! share one. A fact that is no seed has a support of lower rank: so what supports what, down the
//! ranks, has no cycle, and no facts hold one another up (Gupta, Mumick, Subrahmanian, *Maintaining
//! Views Incrementally*, 1993, for deletion and rederivation; ranks are our way to stop deleting
//! early).
//!
//! **Representation.** A table for each class of subjects. Most subjects get all their bits at
//! once: one rank per subject beside its bits, and a list aside for the others. All operations are
//! O(ranks of the subject), reading beyond the end of a table gives nothing.

use std::marker::PhantomData;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::rules::{Bits, Subject};

/// In place of a rank.
const SEVERAL: u32 = u32::MAX;

/// Ranks that are given out stay below [`SEVERAL`]: what goes beyond this is given up.
pub(crate) const LAST_RANK: u32 = 1 << 31;

/// The limit below which all ranks are.
pub(crate) const NO_LIMIT: u32 = u32::MAX;

/// The bits of one subject.
#[derive(Clone, Copy, Debug)]
struct Entry<B> {
    bits: B,
    /// The rank of all bits, or [`SEVERAL`]. Zero where no ranks are kept.
    rank: u32,
}

/// Facts about the subjects of one class.
#[derive(Clone, Debug)]
struct Table<B> {
    entries: Vec<Entry<B>>,
    /// Bits that came together, with their rank, for subjects with several ranks.
    several: FxHashMap<u32, SmallVec<[(B, u32); 4]>>,
}

impl<B: Bits> Table<B> {
    fn grow(&mut self, n: usize) {
        if self.entries.len() < n {
            self.entries.resize(n, Entry { bits: B::NONE, rank: 0 });
        }
    }

    #[inline]
    fn below(&self, i: u32, limit: u32) -> B {
        let Some(&Entry { bits, rank }) = self.entries.get(i as usize) else { return B::NONE };
        match rank {
            rank if rank < limit => bits,
            SEVERAL if bits != B::NONE => {
                let earlier = self.several[&i].iter().filter(|group| group.1 < limit);
                earlier.fold(B::NONE, |all, group| all.union(group.0))
            }
            _ => B::NONE,
        }
    }
}

/// All facts.
#[derive(Clone, Debug)]
pub(crate) struct Facts<S, B> {
    tables: Vec<Table<B>>,
    has_ranks: bool,
    subjects: PhantomData<S>,
}

impl<S: Subject, B: Bits> Facts<S, B> {
    pub(crate) fn new(has_ranks: bool) -> Self {
        let table = || Table { entries: Vec::new(), several: FxHashMap::default() };
        let tables = (0..S::CLASSES).map(|_| table()).collect();
        Self { tables, has_ranks, subjects: PhantomData }
    }

    pub(crate) fn has_ranks(&self) -> bool {
        self.has_ranks
    }

    pub(crate) fn clear(&mut self) {
        for table in &mut self.tables {
            table.entries.fill(Entry { bits: B::NONE, rank: 0 });
            table.several.clear();
        }
    }

    /// Makes room for subjects of a class.
    pub(crate) fn grow(&mut self, class: usize, n: usize) {
        self.tables[class].grow(n);
    }

    #[inline]
    pub(crate) fn get(&self, of: S) -> B {
        let (class, i) = of.place();
        self.tables[class].entries.get(i as usize).map_or(B::NONE, |entry| entry.bits)
    }

    /// The bits with a rank below the limit. Where no ranks are kept: all without a limit, and none
    /// with one.
    #[inline]
    pub(crate) fn below(&self, of: S, limit: u32) -> B {
        let (class, i) = of.place();
        match self.has_ranks || limit == NO_LIMIT {
            true => self.tables[class].below(i, limit),
            false => B::NONE,
        }
    }

    /// The `n`-th group of bits that came together, with its rank.
    #[inline]
    pub(crate) fn group(&self, of: S, n: usize) -> Option<(B, u32)> {
        let (class, i) = of.place();
        let table = &self.tables[class];
        let Entry { bits, rank } = *table.entries.get(i as usize)?;
        match rank {
            SEVERAL if bits != B::NONE => table.several[&i].get(n).copied(),
            rank => (n == 0 && bits != B::NONE).then_some((bits, rank)),
        }
    }

    /// Adds bits that the subject has not.
    pub(crate) fn add(&mut self, of: S, new: B, rank: u32) {
        let (class, i) = of.place();
        let table = &mut self.tables[class];
        table.grow(i as usize + 1);
        let entry = &mut table.entries[i as usize];
        if !self.has_ranks {
            entry.bits = entry.bits.union(new);
            return;
        }
        if entry.bits == B::NONE {
            entry.rank = rank;
        } else if entry.rank == SEVERAL {
            table.several.entry(i).or_default().push((new, rank));
        } else {
            table.several.insert(i, smallvec![(entry.bits, entry.rank), (new, rank)]);
            entry.rank = SEVERAL;
        }
        entry.bits = entry.bits.union(new);
    }

    /// Takes bits away.
    pub(crate) fn remove(&mut self, of: S, lost: B) {
        let (class, i) = of.place();
        let table = &mut self.tables[class];
        let Some(entry) = table.entries.get_mut(i as usize) else { return };
        entry.bits = entry.bits.minus(lost);
        if entry.rank != SEVERAL {
            return;
        }
        let Some(groups) = table.several.get_mut(&i) else { return };
        groups.retain_mut(|group| {
            group.0 = group.0.minus(lost);
            group.0 != B::NONE
        });
        if groups.len() < 2 {
            entry.rank = groups.first().map_or(0, |group| group.1);
            table.several.remove(&i);
        }
    }

    /// Takes everything away; returns the bits that came together, with their ranks.
    pub(crate) fn take(&mut self, of: S) -> SmallVec<[(B, u32); 4]> {
        let groups = (0..).map_while(|n| self.group(of, n)).collect();
        self.remove(of, B::ALL);
        groups
    }

    /// All bits of the subjects of a class, by number.
    pub(crate) fn all(&self, class: usize) -> impl ExactSizeIterator<Item = B> {
        self.tables[class].entries.iter().map(|entry| entry.bits)
    }
}

/// The facts that a rule may read.
///
/// While facts are being retracted these are not all: a support counts only where it was derived
/// before what it supports.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a, S, B> {
    facts: &'a Facts<S, B>,
    limit: u32,
    /// What subjects had before facts of them were added or retracted.
    before: Option<&'a FxHashMap<S, B>>,
}

impl<'a, S: Subject, B: Bits> Seen<'a, S, B> {
    /// Those with ranks below a limit.
    pub(crate) fn below(facts: &'a Facts<S, B>, limit: u32) -> Self {
        Self { facts, limit, before: None }
    }

    /// All that there are.
    pub(crate) fn all(facts: &'a Facts<S, B>) -> Self {
        Self::below(facts, NO_LIMIT)
    }

    /// All that there are and were.
    pub(crate) fn with_retracted(facts: &'a Facts<S, B>, before: &'a FxHashMap<S, B>) -> Self {
        Self { facts, limit: NO_LIMIT, before: Some(before) }
    }

    /// The bits of a subject.
    #[inline]
    #[must_use]
    pub fn get(&self, of: S) -> B {
        match self.before.and_then(|before| before.get(&of)) {
            Some(before) => before.union(self.facts.below(of, self.limit)),
            None => self.facts.below(of, self.limit),
        }
    }
}
