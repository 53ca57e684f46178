//! An array that answers "which is the next position whose key is below this bound?".
//!
//! A tree of minima with wide nodes over an immutable array of keys. It turns facts of quadratic
//! size into facts of linear size whose parts are enumerated on demand: dominance frontiers,
//! control dependence, exits and entries of nested cycles are all "the items of a contiguous range
//! whose key is below a bound". Finding the next item costs `O(log n)` at worst and a short scan
//! usually.

/// Keys per tree node.
const WIDTH: usize = 16;

/// Immutable keys with a tree of minima above them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Thresholds {
    /// All tree levels after one another, the keys first; each entry of a level is the least of up
    /// to `WIDTH` entries of the level before.
    keys: Vec<u32>,
    /// Where each level starts, and the end: entry `levels` is the last that counts.
    starts: [u32; MOST_LEVELS + 1],
    levels: u8,
}

/// The keys, and a level above for each factor of `WIDTH` in their number.
const MOST_LEVELS: usize = 9;

impl Thresholds {
    pub(crate) fn new(given: impl ExactSizeIterator<Item = u32>) -> Self {
        let len = given.len();
        if len == 0 {
            return Self::default();
        }
        let above = if len > WIDTH { len.div_ceil(WIDTH - 1) } else { 0 };
        let mut keys = Vec::with_capacity(len + above);
        keys.extend(given);
        let mut starts = [0; MOST_LEVELS + 1];
        starts[1] = len as u32;
        let mut levels = 1;
        let (mut start, mut end) = (0, len);
        while end - start > WIDTH {
            for at in (start..end).step_by(WIDTH) {
                let least = keys[at..end.min(at + WIDTH)].iter().copied().min();
                keys.push(least.unwrap_or(u32::MAX));
            }
            (start, end) = (end, keys.len());
            levels += 1;
            starts[levels] = end as u32;
        }
        Self { keys, starts, levels: levels as u8 }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.starts[1] as usize
    }

    /// The key at a position.
    #[inline]
    pub(crate) fn key(&self, at: usize) -> u32 {
        self.keys[at]
    }

    #[inline]
    fn level(&self, level: usize) -> &[u32] {
        debug_assert!(level < usize::from(self.levels));
        &self.keys[self.starts[level] as usize..self.starts[level + 1] as usize]
    }

    /// The least position in `from..end` whose key is below `bound`.
    pub(crate) fn next_below(&self, from: usize, end: usize, bound: u32) -> Option<usize> {
        let end = end.min(self.len());
        if from >= end {
            return None;
        }
        // Go up while the rest of the tree node holds nothing, then down to the leftmost hit.
        let (mut level, mut at) = (0, from);
        loop {
            let keys = self.level(level);
            let stop = keys.len().min((at / WIDTH + 1) * WIDTH);
            if let Some(skip) = keys[at..stop].iter().position(|&k| k < bound) {
                at += skip;
                break;
            }
            if stop == keys.len() {
                return None;
            }
            (level, at) = (level + 1, stop / WIDTH);
        }
        while level > 0 {
            level -= 1;
            at *= WIDTH;
            let keys = self.level(level);
            at += keys[at..].iter().take(WIDTH).position(|&k| k < bound)?;
        }
        (at < end).then_some(at)
    }

    /// All positions in `from..end` whose key is below `bound`, in increasing order.
    pub(crate) fn below(&self, from: usize, end: usize, bound: u32) -> Below<'_> {
        Below { keys: self, next: from, end, bound }
    }
}

/// Positions found by [`Thresholds::below`].
#[derive(Clone, Debug)]
pub(crate) struct Below<'a> {
    keys: &'a Thresholds,
    next: usize,
    end: usize,
    bound: u32,
}

impl Iterator for Below<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let found = self.keys.next_below(self.next, self.end, self.bound)?;
        self.next = found + 1;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn enumerates_what_a_scan_finds(
            keys in prop::collection::vec(0u32..40, 0..700),
            from in 0usize..700,
            len in 0usize..700,
            bound in 0u32..41,
        ) {
            let tree = Thresholds::new(keys.iter().copied());
            prop_assert_eq!(tree.len(), keys.len());
            let end = (from + len).min(keys.len());
            let expected: Vec<usize> =
                (from..end).filter(|&i| keys[i] < bound).collect();
            let found: Vec<usize> = tree.below(from, from + len, bound).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn empty_default_has_no_positions() {
        assert_eq!(Thresholds::default().below(0, 10, u32::MAX).next(), None);
    }
}
