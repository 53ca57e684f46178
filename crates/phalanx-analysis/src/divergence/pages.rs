//! Tables of an answer that are cheap to copy and to compare with what they were.
//!
//! An answer from scratch is flat. One that is repaired is shared with whoever still holds the one before: it consists of
//! groups of pages, a copy takes the groups as they are, and a change copies the group and the page that it touches. Two
//! tables that share a group or a page are compared without looking into it.
//!
//! Reading: a comparison more than a vector when flat, three indirections more when shared. Copying: O(1); the first change of a copy O(groups), 122 of them for
//! a million values.

use std::ops::Index;
use std::sync::Arc;

use phalanx_target::SourceSet;

use crate::affect::{User, Value};
use crate::divergence::result::TemporalUse;

/// Entries of a page.
const PAGE: usize = 256;
/// Pages of a group.
const GROUP: usize = 32;

/// Some pages.
type Group<T> = Arc<Vec<Arc<Vec<T>>>>;
/// All of them.
type Groups<T> = Arc<Vec<Group<T>>>;

/// Groups of full pages, but for the last ones, with these items.
fn grouped<T: Clone>(items: &[T], page: usize) -> Groups<T> {
    let group = |items: &[T]| Arc::new(items.chunks(page).map(|p| Arc::new(p.to_vec())).collect());
    Arc::new(items.chunks(page * GROUP).map(group).collect())
}

fn each<T>(groups: &[Group<T>]) -> impl DoubleEndedIterator<Item = &T> + Clone {
    groups.iter().flat_map(|group| group.iter()).flat_map(|page| page.iter())
}

/// Whether two tables hold the same, given what tells that of two pages.
fn is_same<T>(a: &Groups<T>, b: &Groups<T>, same: impl Fn(&[T], &[T]) -> bool) -> bool {
    let page = |(a, b): (&Arc<Vec<T>>, &Arc<Vec<T>>)| Arc::ptr_eq(a, b) || same(a, b);
    let group = |(a, b): (&Group<T>, &Group<T>)| {
        Arc::ptr_eq(a, b) || a.len() == b.len() && a.iter().zip(b.iter()).all(page)
    };
    Arc::ptr_eq(a, b) || a.len() == b.len() && a.iter().zip(b.iter()).all(group)
}

/// Whether two pages hold the same. Some entries at a time, without a test of each.
fn is_same_page(a: &[SourceSet], b: &[SourceSet]) -> bool {
    let differ = |(a, b): (&SourceSet, &SourceSet)| a.bits() ^ b.bits();
    let same = |(a, b): (&[SourceSet], &[SourceSet])| {
        a.iter().zip(b).map(differ).fold(0, |all, bits| all | bits) == 0
    };
    a.len() == b.len() && a.chunks(64).zip(b.chunks(64)).all(same)
}

/// Sources by number.
#[derive(Clone, Debug)]
pub struct SourceSets(Sets);

#[derive(Clone, Debug)]
enum Sets {
    Flat(Vec<SourceSet>),
    /// All groups and pages but the last are full.
    Shared(Groups<SourceSet>, usize),
}

impl SourceSets {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Sets::Flat(sets) => sets.len(),
            Sets::Shared(_, len) => *len,
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
        let (flat, groups): (&[SourceSet], &[Group<SourceSet>]) = match &self.0 {
            Sets::Flat(sets) => (sets, &[]),
            Sets::Shared(groups, _) => (&[], groups),
        };
        flat.iter().chain(each(groups))
    }

    /// Calls for each number with other sources than in another table, or that is in one of them only. O(what they do not share).
    pub(crate) fn each_that_differs(&self, other: &Self, mut call: impl FnMut(usize)) {
        let both = self.len().min(other.len());
        match (&self.0, &other.0) {
            (Sets::Shared(a, _), Sets::Shared(b, _)) => {
                for (at, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                    if Arc::ptr_eq(a, b) {
                        continue;
                    }
                    for (page, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                        if Arc::ptr_eq(a, b) {
                            continue;
                        }
                        let first = (at * GROUP + page) * PAGE;
                        let others = a.iter().zip(b.iter()).enumerate();
                        others.filter(|(_, (a, b))| a != b).for_each(|(i, _)| call(first + i));
                    }
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
            self.0 = Sets::Shared(grouped(sets, PAGE), sets.len());
        }
    }

    /// Appends empty entries up to a length.
    pub(crate) fn grow(&mut self, n: usize) {
        match &mut self.0 {
            Sets::Flat(sets) => sets.resize(sets.len().max(n), SourceSet::EMPTY),
            Sets::Shared(groups, len) if *len < n => {
                let groups = Arc::make_mut(groups);
                while *len < n {
                    if len.is_multiple_of(PAGE * GROUP) {
                        groups.push(Arc::default());
                    }
                    let Some(group) = groups.last_mut() else { return };
                    let pages = Arc::make_mut(group);
                    if len.is_multiple_of(PAGE) {
                        pages.push(Arc::default());
                    }
                    let Some(page) = pages.last_mut() else { return };
                    let filled = (page.len() + n - *len).min(PAGE);
                    *len += filled - page.len();
                    Arc::make_mut(page).resize(filled, SourceSet::EMPTY);
                }
            }
            Sets::Shared(..) => {}
        }
    }

    pub(crate) fn set(&mut self, i: usize, sources: SourceSet) {
        match &mut self.0 {
            Sets::Flat(sets) => sets[i] = sources,
            Sets::Shared(groups, _) => {
                let group = &mut Arc::make_mut(groups)[i / PAGE / GROUP];
                let page = &mut Arc::make_mut(group)[i / PAGE % GROUP];
                Arc::make_mut(page)[i % PAGE] = sources;
            }
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
            Sets::Shared(groups, _) => &groups[i / PAGE / GROUP][i / PAGE % GROUP][i % PAGE],
        }
    }
}

impl PartialEq for SourceSets {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Sets::Flat(a), Sets::Flat(b)) => a == b,
            (Sets::Shared(a, n), Sets::Shared(b, m)) => n == m && is_same(a, b, is_same_page),
            _ => self.len() == other.len() && self.iter().eq(other.iter()),
        }
    }
}

impl Eq for SourceSets {}

/// Uses with temporal divergence, sorted by value, user and cycle.
#[derive(Clone, Debug)]
pub struct TemporalUses(Uses);

#[derive(Clone, Debug)]
enum Uses {
    Flat(Vec<TemporalUse>),
    /// No group or page is empty. There is one entry of each use.
    Shared(Groups<TemporalUse>),
}

fn key(entry: &TemporalUse) -> (Value, User) {
    (entry.value, entry.user)
}

impl TemporalUses {
    /// Uses per page of a list that is made; pages are split when they have twice as many.
    const PAGE: usize = 64;

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Uses::Flat(uses) => uses.len(),
            Uses::Shared(groups) => each(groups).count(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Uses::Flat(uses) => uses.is_empty(),
            Uses::Shared(groups) => groups.is_empty(),
        }
    }

    /// All in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &TemporalUse> + Clone {
        let (flat, groups): (&[TemporalUse], &[Group<TemporalUse>]) = match &self.0 {
            Uses::Flat(uses) => (uses, &[]),
            Uses::Shared(groups) => (&[], groups),
        };
        flat.iter().chain(each(groups))
    }

    /// The entries of one use.
    #[must_use]
    pub fn of(&self, value: Value, user: User) -> &[TemporalUse] {
        let of = (value, user);
        let list: &[TemporalUse] = match &self.0 {
            Uses::Flat(uses) => uses,
            Uses::Shared(groups) => {
                let group = groups.get(groups.partition_point(|group| is_before(group, of)));
                let page = |group: &'_ Group<TemporalUse>| {
                    group.partition_point(|page| page.last().map(key) < Some(of))
                };
                group.map_or(&[], |group| &group[page(group)])
            }
        };
        let first = list.partition_point(|entry| key(entry) < of);
        let len = list[first..].partition_point(|entry| key(entry) == of);
        &list[first..first + len]
    }

    /// Makes it cheap to copy. There must be at most one entry of each use.
    pub(crate) fn share(&mut self) {
        if let Uses::Flat(uses) = &self.0 {
            self.0 = Uses::Shared(grouped(uses, Self::PAGE));
        }
    }

    /// Replaces the entry of one use in a list that is shared.
    pub(crate) fn set(&mut self, of: (Value, User), entry: Option<TemporalUse>) {
        if self.of(of.0, of.1) == entry.as_slice() {
            return;
        }
        let Uses::Shared(groups) = &mut self.0 else { return };
        let groups = Arc::make_mut(groups);
        // Where it is or belongs to: the first that ends at it or behind it, or else the last.
        let at = groups.partition_point(|group| is_before(group, of));
        let at = at.min(groups.len().saturating_sub(1));
        let Some(group) = groups.get_mut(at) else {
            groups.extend(entry.map(|entry| Arc::new(vec![Arc::new(vec![entry])])));
            return;
        };
        let pages = Arc::make_mut(group);
        let next = pages.partition_point(|page| page.last().map(key) < Some(of));
        let next = next.min(pages.len() - 1);
        let entries = Arc::make_mut(&mut pages[next]);
        match (entries.binary_search_by_key(&of, key), entry) {
            (Ok(i), Some(entry)) => entries[i] = entry,
            (Ok(i), None) => {
                entries.remove(i);
            }
            (Err(i), Some(entry)) => entries.insert(i, entry),
            (Err(_), None) => {}
        }
        if entries.is_empty() {
            pages.remove(next);
        } else if entries.len() >= 2 * Self::PAGE {
            let rest = entries.split_off(Self::PAGE);
            pages.insert(next + 1, Arc::new(rest));
        }
        if pages.is_empty() {
            groups.remove(at);
        } else if pages.len() >= 2 * GROUP {
            let rest = pages.split_off(GROUP);
            groups.insert(at + 1, Arc::new(rest));
        }
    }
}

/// Whether all of a group comes before a use.
fn is_before(group: &Group<TemporalUse>, of: (Value, User)) -> bool {
    group.last().and_then(|page| page.last()).map(key) < Some(of)
}

impl Default for TemporalUses {
    fn default() -> Self {
        Self(Uses::Flat(Vec::new()))
    }
}

impl From<Vec<TemporalUse>> for TemporalUses {
    fn from(uses: Vec<TemporalUse>) -> Self {
        Self(Uses::Flat(uses))
    }
}

impl PartialEq for TemporalUses {
    fn eq(&self, other: &Self) -> bool {
        if let (Uses::Shared(a), Uses::Shared(b)) = (&self.0, &other.0)
            && is_same(a, b, |a, b| a == b)
        {
            return true;
        }
        // The same entries may be on other pages.
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for TemporalUses {}

impl<'a> IntoIterator for &'a TemporalUses {
    type Item = &'a TemporalUse;
    type IntoIter = Box<dyn Iterator<Item = &'a TemporalUse> + 'a>;
    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use phalanx_graph::CycleId;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn shared_sets_are_like_a_vector() {
        let mut rng = SmallRng::seed_from_u64(5);
        for start in [0, 1, PAGE - 1, PAGE, 3 * PAGE + 7] {
            let mut plain: Vec<SourceSet> =
                (0..start).map(|_| SourceSet::from_bits(rng.random())).collect();
            let mut sets = SourceSets::from(plain.clone());
            sets.share();
            for _ in 0..200 {
                let before = sets.clone();
                assert!(before == sets && sets == SourceSets::from(plain.clone()));
                if plain.is_empty() || rng.random_bool(0.2) {
                    plain.resize(plain.len() + rng.random_range(0..2 * PAGE), SourceSet::EMPTY);
                    sets.grow(plain.len());
                } else {
                    let i = rng.random_range(0..plain.len());
                    let new = SourceSet::from_bits(rng.random());
                    let is_same = plain[i] == new;
                    plain[i] = new;
                    sets.set(i, new);
                    assert_eq!(before == sets, is_same);
                }
                assert!(sets.iter().eq(&plain) && sets.len() == plain.len());
                if plain.len() > 20 * PAGE {
                    break;
                }
            }
        }
    }

    #[test]
    fn shared_uses_are_like_a_map() {
        let mut rng = SmallRng::seed_from_u64(6);
        for keys in [3, 40, 20_000] {
            let mut plain: BTreeMap<(Value, User), TemporalUse> = BTreeMap::new();
            let mut uses = TemporalUses::default();
            uses.share();
            for _ in 0..20_000 {
                let value = Value::from_raw(rng.random_range(0..keys));
                let user = User::value(Value::from_raw(rng.random_range(0..3)));
                let sources = SourceSet::from_bits(rng.random_range(1..4));
                let entry = TemporalUse { value, user, cycle: CycleId::from_raw(0), sources };
                let entry = rng.random_bool(0.6).then_some(entry);
                match entry {
                    Some(entry) => plain.insert((value, user), entry),
                    None => plain.remove(&(value, user)),
                };
                uses.set((value, user), entry);
                assert_eq!(uses.of(value, user), entry.as_slice());
            }
            assert!(uses.iter().eq(plain.values()) && uses.len() == plain.len());
            assert_eq!(uses, TemporalUses::from(plain.into_values().collect::<Vec<_>>()));
        }
    }
}
