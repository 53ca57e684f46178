//! Sets by number, cheap to copy and to compare with what they were.
//!
//! A copy shares all pages, a change copies the page that it touches, and two tables that share a page are compared without a look into
//! it. Copying: O(entries / 4096).

use std::sync::Arc;

use super::set::SpaceSet;

/// Entries of a page.
const PAGE: usize = 4096;

/// Sets by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    /// All but the last are full.
    pages: Vec<Arc<Vec<SpaceSet>>>,
}

impl Pages {
    pub(super) fn new(items: &[SpaceSet]) -> Self {
        Pages { pages: items.chunks(PAGE).map(|page| Arc::new(page.to_vec())).collect() }
    }

    pub(super) fn len(&self) -> usize {
        let full = self.pages.len().saturating_sub(1) * PAGE;
        full + self.pages.last().map_or(0, |page| page.len())
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<SpaceSet> {
        self.pages.get(i / PAGE)?.get(i % PAGE).copied()
    }

    pub(super) fn set(&mut self, i: usize, set: SpaceSet) {
        if self.get(i) != Some(set) {
            Arc::make_mut(&mut self.pages[i / PAGE])[i % PAGE] = set;
        }
    }

    /// Appends entries of which nothing is known, up to a length.
    pub(super) fn grow(&mut self, n: usize) {
        while self.len() < n {
            if self.len().is_multiple_of(PAGE) {
                self.pages.push(Arc::default());
            }
            let missing = n - self.len();
            let Some(page) = self.pages.last_mut() else { return };
            let filled = (page.len() + missing).min(PAGE);
            Arc::make_mut(page).resize(filled, SpaceSet::ALL);
        }
    }
}

impl PartialEq for Pages {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Arc<Vec<SpaceSet>>, &Arc<Vec<SpaceSet>>)| Arc::ptr_eq(a, b) || a == b;
        self.pages.len() == other.pages.len() && self.pages.iter().zip(&other.pages).all(is_same)
    }
}

impl Eq for Pages {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_vector() {
        let mut plain: Vec<SpaceSet> = Vec::new();
        let mut table = Pages::default();
        for n in [1, 5, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, 3 * PAGE + 7] {
            table.grow(n);
            plain.resize(n, SpaceSet::ALL);
            let before = table.clone();
            for i in [0, n / 2, n - 1] {
                table.set(i, SpaceSet::GLOBAL);
                plain[i] = SpaceSet::GLOBAL;
            }
            assert_eq!(table.len(), n);
            assert_ne!(table, before);
            assert_eq!(table, Pages::new(&plain));
            assert!((0..n + 3).all(|i| table.get(i) == plain.get(i).copied()));
        }
    }
}
