//! Sources by number, in a table that is cheap to copy and to compare with what it was.
//!
//! A table from scratch is a flat vector. A repaired table shares parts with the one before, which
//! may still be in use: its entries are in pages, the pages in groups, and these in blocks. A copy
//! of a table copies references to blocks, and a change copies one part on each level. A comparison
//! of two tables skips blocks, groups and pages that both share. Empty parts are not stored, and
//! neither are those behind the end: to grow a table only changes its length.
//!
//! Each level is small, since to copy it counts one more owner of each of its parts, and those are
//! far from each other in memory.
//!
//! Reading: a comparison more than a vector when flat, four indirections more when shared. Copying:
//! O(1); the first change of a copy O(blocks), 62 of them for a million values.

use std::ops::Index;
use std::sync::Arc;

use crate::SourceSet;

/// Entries of a page.
const PAGE: usize = 256;
/// Pages of a group, and groups of a block.
const FAN: usize = 8;

type Page = [SourceSet; PAGE];
/// A level of the tree: what is not there is empty.
type Level<T> = [Option<Arc<T>>; FAN];
type Block = Level<Level<Page>>;

static NOTHING: Page = [SourceSet::EMPTY; PAGE];

/// Sources by number.
#[derive(Clone, Debug)]
pub struct SourceSets(Sets);

#[derive(Clone, Debug)]
enum Sets {
    Flat(Vec<SourceSet>),
    Shared(Shared),
}

#[derive(Clone, Debug, Default)]
struct Shared {
    /// Behind the last one all is empty.
    blocks: Arc<Vec<Option<Arc<Block>>>>,
    /// Entries that count. All others are empty.
    len: usize,
}

/// The parts of two levels that are not shared, with their numbers.
fn apart<'a, T>(
    a: &'a [Option<Arc<T>>],
    b: &'a [Option<Arc<T>>],
) -> impl Iterator<Item = (usize, Option<&'a T>, Option<&'a T>)> {
    let at = |level: &'a [Option<Arc<T>>], i: usize| level.get(i).and_then(Option::as_deref);
    let both = (0..a.len().max(b.len())).map(move |i| (i, at(a, i), at(b, i)));
    both.filter(|(_, a, b)| a.map(std::ptr::from_ref) != b.map(std::ptr::from_ref))
}

fn parts<T>(level: Option<&Level<T>>) -> &[Option<Arc<T>>] {
    level.map_or(&[], |level| level)
}

/// What is to be changed, empty at first.
fn part_mut<T: Clone>(part: &mut Option<Arc<T>>, empty: impl FnOnce() -> T) -> &mut T {
    Arc::make_mut(part.get_or_insert_with(|| Arc::new(empty())))
}

impl Shared {
    fn new(sets: &[SourceSet]) -> Self {
        let page = |entries: &[SourceSet]| {
            let mut page = NOTHING;
            page[..entries.len()].copy_from_slice(entries);
            (page != NOTHING).then(|| Arc::new(page))
        };
        Shared { blocks: Arc::new(grouped(grouped(sets.chunks(PAGE).map(page)))), len: sets.len() }
    }

    /// The page of an entry.
    fn page(&self, i: usize) -> &Page {
        let page = i / PAGE;
        let block = || self.blocks.get(page / (FAN * FAN))?.as_ref();
        let group = || block()?[page / FAN % FAN].as_ref();
        let page = || group()?[page % FAN].as_deref();
        page().unwrap_or(&NOTHING)
    }

    fn pages(&self) -> impl DoubleEndedIterator<Item = &[SourceSet]> + Clone {
        let entries = |at: usize| &self.page(at * PAGE)[..PAGE.min(self.len - at * PAGE)];
        (0..self.len.div_ceil(PAGE)).map(entries)
    }

    /// The pages that are not shared with another table, with the numbers of their first entries.
    fn apart<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (usize, (&'a Page, &'a Page))> + 'a {
        apart(&self.blocks, &other.blocks)
            .flat_map(|(at, a, b)| {
                apart(parts(a), parts(b)).map(move |(i, a, b)| (at * FAN + i, a, b))
            })
            .flat_map(|(at, a, b)| {
                apart(parts(a), parts(b)).map(move |(i, a, b)| (at * FAN + i, a, b))
            })
            .map(|(at, a, b)| (at * PAGE, (a.unwrap_or(&NOTHING), b.unwrap_or(&NOTHING))))
    }

    fn set(&mut self, i: usize, sources: SourceSet) {
        assert!(i < self.len, "there are {} entries", self.len);
        if sources.is_empty() && self.page(i)[i % PAGE].is_empty() {
            return;
        }
        let page = i / PAGE;
        let blocks = Arc::make_mut(&mut self.blocks);
        let block = page / (FAN * FAN);
        if blocks.len() <= block {
            blocks.resize(block + 1, None);
        }
        let block = part_mut(&mut blocks[block], Level::default);
        let group = part_mut(&mut block[page / FAN % FAN], Level::default);
        part_mut(&mut group[page % FAN], || NOTHING)[i % PAGE] = sources;
    }
}

/// Parts put together as parts of the next level.
fn grouped<T>(parts: impl IntoIterator<Item = Option<Arc<T>>>) -> Vec<Option<Arc<Level<T>>>> {
    let mut parts = parts.into_iter();
    let mut groups = Vec::new();
    loop {
        let mut is_there = false;
        let group: Level<T> = std::array::from_fn(|_| {
            let part = parts.next();
            is_there |= part.is_some();
            part.flatten()
        });
        if !is_there {
            return groups;
        }
        groups.push(group.iter().any(Option::is_some).then(|| Arc::new(group)));
    }
}

/// Whether two pages hold the same. Some entries at a time, without a test of each.
fn is_same_page(a: &Page, b: &Page) -> bool {
    let differ = |(a, b): (&SourceSet, &SourceSet)| a.bits() ^ b.bits();
    let same = |(a, b): (&[SourceSet], &[SourceSet])| {
        a.iter().zip(b).map(differ).fold(0, |all, bits| all | bits) == 0
    };
    a.chunks(64).zip(b.chunks(64)).all(same)
}

impl SourceSets {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Sets::Flat(sets) => sets.len(),
            Sets::Shared(sets) => sets.len,
        }
    }

    /// An entry, if there is one.
    #[must_use]
    pub fn get(&self, i: usize) -> Option<SourceSet> {
        (i < self.len()).then(|| self[i])
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &SourceSet> + Clone {
        let (flat, shared): (&[SourceSet], _) = match &self.0 {
            Sets::Flat(sets) => (sets, None),
            Sets::Shared(sets) => (&[], Some(sets.pages())),
        };
        flat.iter().chain(shared.into_iter().flatten().flatten())
    }

    /// Calls for each number with other sources than in another table, or that is in one of them
    /// only. O(what they do not share).
    pub fn each_that_differs(&self, other: &Self, mut call: impl FnMut(usize)) {
        let both = self.len().min(other.len());
        match (&self.0, &other.0) {
            (Sets::Shared(a), Sets::Shared(b)) => {
                for (first, (a, b)) in a.apart(b) {
                    let others = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
                    others.map(|(i, _)| first + i).filter(|i| *i < both).for_each(&mut call);
                }
            }
            _ => {
                let others = self.iter().zip(other.iter()).enumerate();
                others.filter(|(_, (a, b))| a != b).for_each(|(i, _)| call(i));
            }
        }
        (both..self.len().max(other.len())).for_each(call);
    }

    /// Makes it cheap to copy.
    pub(crate) fn share(&mut self) {
        if let Sets::Flat(sets) = &self.0 {
            self.0 = Sets::Shared(Shared::new(sets));
        }
    }

    /// Appends empty entries up to a length.
    pub(crate) fn grow(&mut self, n: usize) {
        match &mut self.0 {
            Sets::Flat(sets) => sets.resize(sets.len().max(n), SourceSet::EMPTY),
            Sets::Shared(sets) => sets.len = sets.len.max(n),
        }
    }

    pub(crate) fn set(&mut self, i: usize, sources: SourceSet) {
        match &mut self.0 {
            Sets::Flat(sets) => sets[i] = sources,
            Sets::Shared(sets) => sets.set(i, sources),
        }
    }
}

impl Default for SourceSets {
    fn default() -> Self {
        Self(Sets::Flat(Vec::new()))
    }
}

impl From<Vec<SourceSet>> for SourceSets {
    fn from(sets: Vec<SourceSet>) -> Self {
        Self(Sets::Flat(sets))
    }
}

impl Index<usize> for SourceSets {
    type Output = SourceSet;
    #[inline]
    fn index(&self, i: usize) -> &SourceSet {
        match &self.0 {
            Sets::Flat(sets) => &sets[i],
            Sets::Shared(sets) => {
                assert!(i < sets.len, "there are {} entries", sets.len);
                &sets.page(i)[i % PAGE]
            }
        }
    }
}

impl PartialEq for SourceSets {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Sets::Flat(a), Sets::Flat(b)) => a == b,
            (Sets::Shared(a), Sets::Shared(b)) => {
                a.len == b.len && a.apart(b).all(|(_, (a, b))| is_same_page(a, b))
            }
            _ => self.len() == other.len() && self.iter().eq(other.iter()),
        }
    }
}

impl Eq for SourceSets {}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn differing(a: &SourceSets, b: &SourceSets) -> Vec<usize> {
        let mut found = Vec::new();
        a.each_that_differs(b, |i| found.push(i));
        found
    }

    #[test]
    fn shared_sets_are_like_a_vector() {
        let mut rng = SmallRng::seed_from_u64(5);
        for start in [0, 1, PAGE - 1, PAGE, 3 * PAGE + 7, FAN * FAN * PAGE + 1] {
            let mut plain: Vec<SourceSet> =
                (0..start).map(|_| SourceSet::from_bits(rng.random())).collect();
            let mut sets = SourceSets::from(plain.clone());
            sets.share();
            for _ in 0..200 {
                let before = sets.clone();
                let len = plain.len();
                assert!(before == sets && sets == SourceSets::from(plain.clone()));
                if plain.is_empty() || rng.random_bool(0.2) {
                    plain.resize(len + rng.random_range(0..2 * PAGE), SourceSet::EMPTY);
                    sets.grow(plain.len());
                    let new: Vec<usize> = (len..plain.len()).collect();
                    assert_eq!(differing(&before, &sets), new);
                } else {
                    let i = rng.random_range(0..plain.len());
                    let new = SourceSet::from_bits(rng.random_range(0..4));
                    let is_same = plain[i] == new;
                    plain[i] = new;
                    sets.set(i, new);
                    assert_eq!(before == sets, is_same);
                    assert_eq!(differing(&before, &sets), if is_same { vec![] } else { vec![i] });
                }
                assert!(sets.iter().eq(&plain) && sets.len() == plain.len());
                assert!(sets.iter().rev().eq(plain.iter().rev()));
                assert_eq!(sets.get(plain.len()), None);
            }
        }
    }

    #[test]
    fn what_has_become_empty_is_what_is_not_there() {
        let n = 3 * FAN * FAN * PAGE;
        let mut sets = SourceSets::from(vec![SourceSet::EMPTY; n]);
        sets.share();
        let empty = sets.clone();
        for i in [0, PAGE - 1, FAN * PAGE, n - 1] {
            sets.set(i, SourceSet::from_bits(1));
            assert_eq!(differing(&sets, &empty), [i]);
            sets.set(i, SourceSet::EMPTY);
            assert_eq!(sets, empty);
        }
    }

    #[test]
    #[should_panic(expected = "there are 3 entries")]
    fn there_is_nothing_behind_the_end() {
        let mut sets = SourceSets::from(vec![SourceSet::EMPTY; 3]);
        sets.share();
        let _ = sets[3];
    }
}
