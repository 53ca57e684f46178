//! Tables of sets by number, which are cheap to copy and to compare with an earlier copy.
//!
//! A copy shares all pages, and two tables are compared without looking into pages that they share.
//! Copying costs O(entries / 4096).

use std::sync::Arc;

use crate::code::SpaceSet;

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

    /// Changes an entry; new entries before it get `filler`.
    pub(super) fn set(&mut self, i: usize, set: SpaceSet, filler: SpaceSet) {
        self.grow(i + 1, filler);
        if self.get(i) != Some(set) {
            Arc::make_mut(&mut self.pages[i / PAGE])[i % PAGE] = set;
        }
    }

    /// Grows the table to `count` entries.
    pub(super) fn grow(&mut self, count: usize, filler: SpaceSet) {
        loop {
            let have = match self.pages.last() {
                None => 0,
                Some(last) => (self.pages.len() - 1) * PAGE + last.len(),
            };
            if have >= count {
                return;
            }
            let room = (PAGE - have % PAGE).min(count - have);
            match self.pages.last_mut().filter(|last| last.len() < PAGE) {
                None => self.pages.push(Arc::new(vec![filler; room])),
                Some(last) => {
                    let len = last.len() + room;
                    Arc::make_mut(last).resize(len, filler);
                }
            }
        }
    }

    /// The numbers at which two tables differ; entries beyond the end are `filler`.
    pub(super) fn others(&self, other: &Pages, filler: SpaceSet) -> Vec<usize> {
        let mut found = Vec::new();
        for number in 0..self.pages.len().max(other.pages.len()) {
            let [a, b] = [self, other].map(|table| table.pages.get(number));
            if a.zip(b).is_some_and(|(a, b)| Arc::ptr_eq(a, b) || a == b) {
                continue;
            }
            let [a, b] = [a, b].map(|page| page.map_or(&[][..], |page| page));
            let common = a.len().min(b.len());
            let start = number * PAGE;
            let both = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
            found.extend(both.map(|(at, _)| start + at));
            let longer = if a.len() > common { a } else { b };
            let rest = longer.iter().enumerate().skip(common).filter(|(_, set)| **set != filler);
            found.extend(rest.map(|(at, _)| start + at));
        }
        found
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<SpaceSet> {
        self.pages.get(i / PAGE)?.get(i % PAGE).copied()
    }
}

impl PartialEq for Pages {
    fn eq(&self, other: &Self) -> bool {
        let is_same =
            |(a, b): (&Arc<Vec<SpaceSet>>, &Arc<Vec<SpaceSet>>)| Arc::ptr_eq(a, b) || a == b;
        self.pages.len() == other.pages.len() && self.pages.iter().zip(&other.pages).all(is_same)
    }
}

impl Eq for Pages {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_vector() {
        for n in [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 7] {
            let plain: Vec<SpaceSet> =
                (0..n).map(|i| SpaceSet::from_bits((i % 4096) as u16)).collect();
            let table = Pages::new(&plain);
            assert!((0..n + 3).all(|i| table.get(i) == plain.get(i).copied()));
            assert_eq!(table, table.clone());
            assert_eq!(table == Pages::new(&[]), n == 0);
            for m in [0, n / 3, n.saturating_sub(1), n, n + 1, n + PAGE] {
                let mut other = plain.clone();
                other.resize(m, SpaceSet::from_bits(1));
                assert_eq!(table == Pages::new(&other), m == n, "{m} of {n}");
                if let Some(last) = other.last_mut() {
                    *last = SpaceSet::from_bits(!last.bits());
                    assert_ne!(table, Pages::new(&other), "{m} of {n}");
                }
            }
            let mut grown = Pages::new(&plain[..n / 2]);
            grown.grow(n, SpaceSet::ALL);
            for (i, &set) in plain.iter().enumerate().rev() {
                grown.set(i, set, SpaceSet::ALL);
            }
            assert_eq!(grown, table);
        }
    }

    #[test]
    fn differences_are_found_in_any_page() {
        let plain = vec![SpaceSet::GLOBAL; 2 * PAGE + 7];
        let table = Pages::new(&plain);
        let mut other = table.clone();
        let others = |a: &Pages, b: &Pages| a.others(b, SpaceSet::ALL);
        assert_eq!(others(&table, &other), []);
        // An equal table that shares no page.
        assert_eq!(others(&table, &Pages::new(&plain)), []);
        other.set(3, SpaceSet::SHARED, SpaceSet::ALL);
        other.grow(3 * PAGE, SpaceSet::ALL);
        other.set(2 * PAGE + 9, SpaceSet::SHARED, SpaceSet::ALL);
        assert_eq!(others(&table, &other), [3, 2 * PAGE + 9]);
        assert_eq!(others(&other, &table), [3, 2 * PAGE + 9]);
    }
}
