//! Uses with temporal divergence, in a list that is cheap to copy and to compare with what it was.
//!
//! A list from scratch is a flat vector. A repaired list shares parts with the one before, which
//! may still be in use: it consists of groups of pages. A copy of a list copies references to
//! groups, and a change copies the group and the page that it touches. A comparison of two lists
//! skips groups and pages that both share.
//!
//! Copying: O(1); the first change of a copy O(groups). Finding a use: O(log uses).

use std::sync::Arc;

use crate::affect::{User, Value};
use crate::divergence::result::TemporalUse;

/// Pages of a group.
const GROUP: usize = 32;

/// Some pages.
type Group = Arc<Vec<Arc<Vec<TemporalUse>>>>;
/// All of them.
type Groups = Arc<Vec<Group>>;

fn each(groups: &[Group]) -> impl DoubleEndedIterator<Item = &TemporalUse> + Clone {
    groups.iter().flat_map(|group| group.iter()).flat_map(|page| page.iter())
}

/// Whether two lists have the same pages.
fn is_same(a: &Groups, b: &Groups) -> bool {
    let page = |(a, b): (&Arc<Vec<_>>, &Arc<Vec<_>>)| Arc::ptr_eq(a, b) || a == b;
    let group = |(a, b): (&Group, &Group)| {
        Arc::ptr_eq(a, b) || a.len() == b.len() && a.iter().zip(b.iter()).all(page)
    };
    Arc::ptr_eq(a, b) || a.len() == b.len() && a.iter().zip(b.iter()).all(group)
}

/// Uses with temporal divergence, sorted by value, user and cycle.
#[derive(Clone, Debug)]
pub struct TemporalUses(Uses);

#[derive(Clone, Debug)]
enum Uses {
    Flat(Vec<TemporalUse>),
    /// No group or page is empty. There is one entry of each use.
    Shared(Groups),
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
        let (flat, groups): (&[TemporalUse], &[Group]) = match &self.0 {
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
                let page =
                    |group: &Group| group.partition_point(|page| page.last().map(key) < Some(of));
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
            let page = |uses: &[TemporalUse]| Arc::new(uses.to_vec());
            let group =
                |uses: &[TemporalUse]| Arc::new(uses.chunks(Self::PAGE).map(page).collect());
            self.0 = Uses::Shared(Arc::new(uses.chunks(Self::PAGE * GROUP).map(group).collect()));
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
fn is_before(group: &Group, of: (Value, User)) -> bool {
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
        if let (Uses::Shared(a), Uses::Shared(b)) = (&self.0, &other.0) {
            if is_same(a, b) {
                return true;
            }
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

    use crate::SourceSet;
    use phalanx_graph::CycleId;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;

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
