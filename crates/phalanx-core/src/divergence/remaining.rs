//! Which edges out of cycles are not known to be divergent yet, per source.
//!
//! A consequence can say "every edge in this range that leaves cycles of that depth". Ranges of
//! different branches overlap, so what is known must be skipped without looking at it: a tree of
//! minima over the depths, in which an edge is struck out once it is known.

/// Numbers with keys, from which the ones with small keys in a range can be taken out.
#[derive(Clone, Debug)]
pub(crate) struct Remaining {
    /// A complete binary tree of minima; the keys are the leaves, from `leaves` on.
    least: Vec<u32>,
    leaves: usize,
}

impl Remaining {
    /// Numbers `0..keys.len()` with these keys.
    pub(crate) fn new(keys: impl ExactSizeIterator<Item = u32>) -> Self {
        let leaves = keys.len().next_power_of_two();
        let mut least = vec![u32::MAX; 2 * leaves];
        for (i, key) in keys.enumerate() {
            least[leaves + i] = key;
        }
        for i in (1..leaves).rev() {
            least[i] = least[2 * i].min(least[2 * i + 1]);
        }
        Self { least, leaves }
    }

    /// Takes out the least number in `from..end` whose key is below the bound.
    pub(crate) fn take(&mut self, from: u32, end: u32, bound: u32) -> Option<u32> {
        let found = self.next(from as usize, end as usize, bound)?;
        let mut i = self.leaves + found;
        self.least[i] = u32::MAX;
        while i > 1 {
            i /= 2;
            self.least[i] = self.least[2 * i].min(self.least[2 * i + 1]);
        }
        Some(found as u32)
    }

    fn next(&self, from: usize, end: usize, bound: u32) -> Option<usize> {
        if from >= end || from >= self.leaves {
            return None;
        }
        // Up and to the right until a subtree holds one, then down to its first.
        let mut i = self.leaves + from;
        while self.least[i] >= bound {
            while i & 1 == 1 {
                i /= 2;
            }
            if i == 0 {
                return None;
            }
            i += 1;
        }
        while i < self.leaves {
            i *= 2;
            if self.least[i] >= bound {
                i += 1;
            }
        }
        let found = i - self.leaves;
        (found < end).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::Remaining;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn takes_each_number_once_in_order() {
        for seed in 0..200 {
            let mut rng = SmallRng::seed_from_u64(seed);
            let len = rng.random_range(1..40);
            let mut keys: Vec<u32> = (0..len).map(|_| rng.random_range(0..6)).collect();
            let mut remaining = Remaining::new(keys.iter().copied());
            for _ in 0..60 {
                let (from, end) = (rng.random_range(0..len), rng.random_range(0..=len));
                let bound = rng.random_range(0..7);
                let expected = (from..end).find(|&i| keys[i as usize] < bound);
                assert_eq!(remaining.take(from, end, bound), expected);
                if let Some(i) = expected {
                    keys[i as usize] = u32::MAX;
                }
            }
        }
    }
}
