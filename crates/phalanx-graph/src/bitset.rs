//! A dense bit set on 64-bit words with a bound.

const BITS: usize = u64::BITS as usize;

/// A set of numbers below a bound, which is fixed unless it is [raised](BitSet::raise).
///
/// Two sets are equal when they have the same bound and the same members.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BitSet {
    words: Vec<u64>,
    len: usize,
}

impl BitSet {
    /// The empty set of numbers below `len`.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(BITS)], len }
    }

    /// The bound: members are smaller.
    #[must_use]
    pub fn universe(&self) -> usize {
        self.len
    }

    /// Raises the bound, so that larger numbers can be members; a smaller bound changes nothing.
    pub fn raise(&mut self, len: usize) {
        if len > self.len {
            self.len = len;
            self.words.resize(len.div_ceil(BITS), 0);
        }
    }

    /// Whether `i` is a member. A number beyond the bound never is.
    #[inline]
    #[must_use]
    pub fn contains(&self, i: usize) -> bool {
        self.words.get(i / BITS).is_some_and(|w| w >> (i % BITS) & 1 != 0)
    }

    /// Adds `i`; true when it was absent.
    ///
    /// # Panics
    /// If `i` is not below the bound.
    #[inline]
    pub fn insert(&mut self, i: usize) -> bool {
        assert!(i < self.len, "{i} is not below the bound {}", self.len);
        let word = &mut self.words[i / BITS];
        let bit = 1 << (i % BITS);
        let absent = *word & bit == 0;
        *word |= bit;
        absent
    }

    /// Removes `i`; true when it was present.
    #[inline]
    pub fn remove(&mut self, i: usize) -> bool {
        let Some(word) = self.words.get_mut(i / BITS) else { return false };
        let bit = 1 << (i % BITS);
        let present = *word & bit != 0;
        *word &= !bit;
        present
    }

    /// Removes every member.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// How many members there are. Counts the words.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Prefix counts: entry `i` is the number of members in the words before word `i`. A last entry
    /// holds the number of all members.
    pub(crate) fn counts(&self) -> Vec<u32> {
        let mut count = 0;
        let words = self.words.iter().map(|word| {
            let before = count;
            count += word.count_ones();
            before
        });
        let mut counts: Vec<u32> = words.collect();
        counts.push(count);
        counts
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The largest member.
    #[must_use]
    pub fn last(&self) -> Option<usize> {
        let (i, word) = self.words.iter().enumerate().rfind(|(_, w)| **w != 0)?;
        Some(i * BITS + (BITS - 1 - word.leading_zeros() as usize))
    }

    /// The smallest member in `from..end`. Walks the words between.
    #[must_use]
    pub fn next_member(&self, from: usize, end: usize) -> Option<usize> {
        let end = end.min(self.len);
        if from >= end {
            return None;
        }
        let mut at = from / BITS;
        let mut word = self.words[at] & (u64::MAX << (from % BITS));
        while word == 0 {
            at += 1;
            if at * BITS >= end {
                return None;
            }
            word = self.words[at];
        }
        let found = at * BITS + word.trailing_zeros() as usize;
        (found < end).then_some(found)
    }

    /// Adds every member of `other`; true when something was added.
    ///
    /// # Panics
    /// If the bounds differ.
    pub fn union_with(&mut self, other: &Self) -> bool {
        assert_eq!(self.len, other.len, "union of sets with different bounds");
        let mut grown = 0;
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            grown |= more & !*word;
            *word |= more;
        }
        grown != 0
    }

    /// The members in increasing order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { words: &self.words, next: 0, word: self.words.first().copied().unwrap_or(0) }
    }
}

/// The members of a [`BitSet`] in increasing order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u64],
    next: usize,
    word: u64,
}

impl Iterator for Iter<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.next += 1;
            self.word = *self.words.get(self.next)?;
        }
        let i = self.next * BITS + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(i)
    }
}

impl<'a> IntoIterator for &'a BitSet {
    type Item = usize;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_beyond_the_bound_are_no_members() {
        let mut set = BitSet::new(3);
        assert!(!set.contains(3) && !set.contains(1000) && !set.remove(1000));
        assert!(BitSet::new(0).iter().next().is_none());
        assert_eq!(BitSet::new(0).last(), None);
    }

    #[test]
    fn a_raised_bound_keeps_the_members() {
        let mut set = BitSet::new(3);
        set.insert(2);
        set.raise(70);
        assert!(set.insert(69) && set.iter().eq([2, 69]));
        set.raise(5);
        assert_eq!(set.universe(), 70);
    }

    proptest! {
        #[test]
        fn behaves_as_an_ordered_set(
            ops in prop::collection::vec((any::<bool>(), 0usize..200), 0..300),
            other in prop::collection::btree_set(0usize..200, 0..50),
        ) {
            let (mut set, mut twin) = (BitSet::new(200), BTreeSet::new());
            for (add, i) in ops {
                if add {
                    prop_assert_eq!(set.insert(i), twin.insert(i));
                } else {
                    prop_assert_eq!(set.remove(i), twin.remove(&i));
                }
            }
            prop_assert!(set.iter().eq(twin.iter().copied()));
            prop_assert_eq!(set.count(), twin.len());
            prop_assert_eq!(set.last(), twin.last().copied());
            prop_assert_eq!(set.is_empty(), twin.is_empty());
            for from in 0..210 {
                let end = from + 3 * (from % 40);
                let next = twin.range(from..end.max(from)).next().copied();
                prop_assert_eq!(set.next_member(from, end), next);
            }
            prop_assert!((0..210).all(|i| set.contains(i) == twin.contains(&i)));

            let mut more = BitSet::new(200);
            for &i in &other {
                more.insert(i);
            }
            prop_assert_eq!(set.union_with(&more), !other.is_subset(&twin));
            prop_assert!(set.iter().eq(twin.union(&other).copied()));
        }
    }
}
