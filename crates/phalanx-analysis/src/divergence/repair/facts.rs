//! Derived facts with the order in which they were derived.
//!
//! A fact is a subject and one bit: value 7 has source x. The bits of a subject stand together in one word. Every fact
//! has a *rank*, the number of the derivation that brought it; bits that came together share one. A fact that is no
//! axiom has a support of lower rank: so what supports what, down the ranks, has no cycle, and no facts hold one
//! another up (Gupta, Mumick, Subrahmanian, *Maintaining Views Incrementally*, 1993, for deletion and rederivation; ranks
//! are our way to stop deleting early).
//!
//! **Representation.** Most subjects get all their bits at once: one rank per subject beside its bits, and a list aside for the others.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// A few subjects.
pub(super) type Subjects = SmallVec<[Subject; 16]>;

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Subject {
    /// A value, by number.
    Value(u32),
    /// The terminator of a block.
    Branch(u32),
    /// Something about control flow, by number.
    Control(u32),
}

/// The bits of one subject.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The rank of all bits, or [`SEVERAL`].
    rank: u32,
    bits: u16,
}

/// Facts about subjects of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    entries: Vec<Entry>,
    /// Bits that came together, with their rank, for the subjects with several ranks.
    several: FxHashMap<u32, SmallVec<[(u16, u32); 4]>>,
}

/// In place of a rank.
const SEVERAL: u32 = u32::MAX;

/// Ranks that are given out when nothing has gone beyond this stay below [`SEVERAL`]: there are fewer uses than 2^31.
pub(super) const LAST_RANK: u32 = 1 << 31;

impl Column {
    /// How many subjects there is room for.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn grow(&mut self, n: usize) {
        if self.entries.len() < n {
            self.entries.resize(n, Entry::default());
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = u16> {
        self.entries.iter().map(|entry| entry.bits)
    }

    #[inline]
    pub(super) fn get(&self, i: u32) -> u16 {
        self.entries[i as usize].bits
    }

    /// The bits that have a rank below the limit.
    #[inline]
    pub(super) fn below(&self, i: u32, limit: u32) -> u16 {
        let Entry { rank, bits } = self.entries[i as usize];
        match rank {
            _ if bits == 0 => 0,
            SEVERAL => {
                let earlier = self.several[&i].iter().filter(|group| group.1 < limit);
                earlier.fold(0, |all, group| all | group.0)
            }
            rank if rank < limit => bits,
            _ => 0,
        }
    }

    /// The `n`-th group of bits that came together, with its rank.
    #[inline]
    pub(super) fn group(&self, i: u32, n: usize) -> Option<(u16, u32)> {
        let Entry { rank, bits } = self.entries[i as usize];
        match rank {
            SEVERAL => self.several[&i].get(n).copied(),
            rank => (n == 0 && bits != 0).then_some((bits, rank)),
        }
    }

    /// Adds bits that the subject has not.
    pub(super) fn add(&mut self, i: u32, new: u16, rank: u32) {
        let entry = &mut self.entries[i as usize];
        if entry.bits == 0 {
            entry.rank = rank;
        } else if entry.rank == SEVERAL {
            self.several.entry(i).or_default().push((new, rank));
        } else {
            self.several.insert(i, smallvec![(entry.bits, entry.rank), (new, rank)]);
            entry.rank = SEVERAL;
        }
        entry.bits |= new;
    }

    /// Takes everything away; returns the bits that came together, with their ranks.
    pub(super) fn take(&mut self, i: u32) -> Vec<(u16, u32)> {
        let groups = (0..).map_while(|n| self.group(i, n)).collect();
        self.remove(i, u16::MAX);
        groups
    }

    /// Takes bits away.
    pub(super) fn remove(&mut self, i: u32, lost: u16) {
        let entry = &mut self.entries[i as usize];
        entry.bits &= !lost;
        if entry.rank != SEVERAL {
            return;
        }
        let Some(groups) = self.several.get_mut(&i) else { return };
        groups.retain_mut(|group| {
            group.0 &= !lost;
            group.0 != 0
        });
        if groups.len() < 2 {
            entry.rank = groups.first().map_or(0, |group| group.1);
            self.several.remove(&i);
        }
    }
}

/// All facts.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) values: Column,
    pub(super) branches: Column,
    pub(super) controls: Column,
}

impl Facts {
    #[inline]
    pub(super) fn column(&self, of: Subject) -> (&Column, u32) {
        match of {
            Subject::Value(i) => (&self.values, i),
            Subject::Branch(i) => (&self.branches, i),
            Subject::Control(i) => (&self.controls, i),
        }
    }

    #[inline]
    pub(super) fn column_mut(&mut self, of: Subject) -> (&mut Column, u32) {
        match of {
            Subject::Value(i) => (&mut self.values, i),
            Subject::Branch(i) => (&mut self.branches, i),
            Subject::Control(i) => (&mut self.controls, i),
        }
    }

    #[inline]
    pub(super) fn get(&self, of: Subject) -> u16 {
        let (column, i) = self.column(of);
        column.get(i)
    }

    #[inline]
    pub(super) fn below(&self, of: Subject, limit: u32) -> u16 {
        let (column, i) = self.column(of);
        column.below(i, limit)
    }
}
