//! A set of numbers from which the next one is taken, going round in ascending order.
//!
//! Numbers of values follow the program more or less, so going round derives what is derived early
//! in the program early, whatever order the numbers came in. Ranks are given in that order, which
//! makes other supports of a fact, further up in the program, likely to have lower ranks.
//!
//! **Representation.** A bit per number, and a level above with a bit per non-zero word of the
//! level below, up to a single word. All operations touch one word per level: O(log64 n).

/// A set of numbers below a bound that can grow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    levels: Vec<Vec<u64>>,
    /// Where to go on.
    cursor: usize,
    len: usize,
}

impl Agenda {
    /// Makes room for numbers below `n`.
    pub(crate) fn grow(&mut self, n: usize) {
        let mut words = n.div_ceil(64).max(1);
        if self.levels.first().is_some_and(|bits| bits.len() >= words) {
            return;
        }
        let mut level = 0;
        loop {
            if self.levels.len() == level {
                // A new root stands for the old one, which may hold something.
                let is_used = level > 0 && self.levels[level - 1].first().is_some_and(|w| *w != 0);
                self.levels.push(vec![u64::from(is_used)]);
            }
            if self.levels[level].len() < words {
                self.levels[level].resize(words, 0);
            }
            words = self.levels[level].len();
            if words == 1 {
                break;
            }
            words = words.div_ceil(64);
            level += 1;
        }
    }

    /// Adds a number, with room for it if there is none.
    pub(crate) fn insert(&mut self, mut i: usize) {
        self.grow(i + 1);
        self.len += usize::from(self.levels[0][i / 64] >> (i % 64) & 1 == 0);
        for level in &mut self.levels {
            let word = &mut level[i / 64];
            let was_used = *word != 0;
            *word |= 1 << (i % 64);
            if was_used {
                return;
            }
            i /= 64;
        }
    }

    /// Takes out the next number after the one taken last; after the greatest comes the least.
    pub(crate) fn take(&mut self) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let found = self.at_or_after(self.cursor).or_else(|| self.at_or_after(0))?;
        self.remove(found);
        self.cursor = found + 1;
        Some(found)
    }

    /// Starts again at the least, and takes out everything.
    pub(crate) fn clear(&mut self) {
        self.cursor = 0;
        while self.take().is_some() {}
        self.cursor = 0;
    }

    fn remove(&mut self, mut i: usize) {
        self.len -= 1;
        for level in &mut self.levels {
            let word = &mut level[i / 64];
            *word &= !(1 << (i % 64));
            if *word != 0 {
                return;
            }
            i /= 64;
        }
    }

    fn at_or_after(&self, from: usize) -> Option<usize> {
        let (mut level, mut i) = (0, from);
        // Up until a word has a bit at or after the position, then down to its first.
        loop {
            let words = self.levels.get(level)?;
            let rest = words.get(i / 64).map_or(0, |w| w >> (i % 64) << (i % 64));
            if rest != 0 {
                i = i / 64 * 64 + rest.trailing_zeros() as usize;
                break;
            }
            i = i / 64 + 1;
            level += 1;
        }
        while level > 0 {
            level -= 1;
            i = i * 64 + self.levels[level][i].trailing_zeros() as usize;
        }
        Some(i)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::Agenda;

    #[test]
    fn goes_round_like_an_ordered_set() {
        for seed in 0..60 {
            let mut rng = SmallRng::seed_from_u64(seed);
            let mut bound = [1, 63, 64, 65, 4096, 5000][rng.random_range(0..6)];
            let (mut agenda, mut set, mut cursor) = (Agenda::default(), BTreeSet::new(), 0);
            agenda.grow(bound);
            for _ in 0..300 {
                match rng.random_range(0..5) {
                    0..=2 => {
                        // Beyond what there is room for, at times.
                        let i = rng.random_range(0..bound + 70);
                        agenda.insert(i);
                        set.insert(i);
                    }
                    3 => {
                        let next = set.range(cursor..).next().or_else(|| set.first()).copied();
                        assert_eq!(agenda.take(), next);
                        if let Some(next) = next {
                            set.remove(&next);
                            cursor = next + 1;
                        }
                    }
                    _ => {
                        bound += rng.random_range(0..400);
                        agenda.grow(bound);
                    }
                }
            }
        }
    }
}
