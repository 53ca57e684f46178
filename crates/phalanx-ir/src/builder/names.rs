//! Finds free names: an index of the names of one function by content.
//!
//! Values and blocks of a function share one name space, and a text must not define a name twice.
//! [`NameSpace`] holds the names in use, so that a builder and a transaction find a free one
//! without a look at all others: `sum`, or `sum1` if `sum` is taken.
//!
//! # Cost
//!
//! O(names) once per function, when a free name is first needed. Then O(1) for a name that is free,
//! and O(log of the names with the same beginning) for one that is taken. Four bytes per name.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// The names of one function. Entries are those of [`Names`](crate::extras::Names), whose buffer is
/// an argument of each method.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameSpace {
    taken: HashTable<u32>,
}

impl NameSpace {
    /// A space with these entries. O(entries).
    pub(crate) fn of(bytes: &[u8], entries: impl Iterator<Item = u32>) -> Self {
        let mut space = NameSpace::default();
        entries.for_each(|entry| space.enter(bytes, entry));
        space
    }

    /// Adds a name.
    pub(crate) fn enter(&mut self, bytes: &[u8], entry: u32) {
        let Some(name) = name_at(bytes, entry) else { return };
        let hash_of = |&entry: &u32| hash(name_at(bytes, entry).unwrap_or_default());
        self.taken.insert_unique(hash(name), entry, hash_of);
    }

    /// Removes a name, so that it is free again.
    pub(crate) fn leave(&mut self, bytes: &[u8], entry: u32) {
        let Some(name) = name_at(bytes, entry) else { return };
        if let Ok(found) = self.taken.find_entry(hash(name), |&other| other == entry) {
            found.remove();
        }
    }

    /// The name, or the name and a number that makes it new. Empty names stay empty.
    ///
    /// The number is the smallest one, unless those in use have gaps.
    pub(crate) fn unique(&self, bytes: &[u8], name: &[u8]) -> Vec<u8> {
        if name.is_empty() || !self.is_taken(bytes, name) {
            return name.to_vec();
        }
        let numbered = |number: u64| [name, number.to_string().as_bytes()].concat();
        // Every number below `free` that was tried is taken; `taken` is the largest of them.
        let (mut taken, mut free) = (0, 1);
        while self.is_taken(bytes, &numbered(free)) {
            (taken, free) = (free, free * 2);
        }
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2;
            match self.is_taken(bytes, &numbered(middle)) {
                true => taken = middle,
                false => free = middle,
            }
        }
        numbered(free)
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.taken.capacity() * size_of::<u32>()
    }

    fn is_taken(&self, bytes: &[u8], name: &[u8]) -> bool {
        self.taken.find(hash(name), |&entry| name_at(bytes, entry) == Some(name)).is_some()
    }
}

/// The name of an entry. An entry is the offset of the name's length (LEB128), which the bytes
/// follow, plus one; 0 is "no name".
pub(crate) fn name_at(bytes: &[u8], entry: u32) -> Option<&[u8]> {
    let mut at = entry.checked_sub(1)? as usize;
    let (mut len, mut shift) = (0usize, 0);
    loop {
        let byte = bytes[at];
        at += 1;
        len |= ((byte & 0x7f) as usize) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some(&bytes[at..at + len]);
        }
    }
}

fn hash(name: &[u8]) -> u64 {
    FxBuildHasher.hash_one(name)
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
    use rustc_hash::FxHashSet;

    use crate::extras::{Named, Names};

    /// All names, found without the index.
    fn all(names: &Names) -> FxHashSet<Vec<u8>> {
        let tables = [&names.insts, &names.args, &names.blocks].into_iter().flatten();
        tables
            .filter_map(|&entry| super::name_at(&names.bytes, entry))
            .map(<[u8]>::to_vec)
            .collect()
    }

    #[test]
    fn free_names_are_those_that_a_look_at_all_names_finds_free() {
        let mut random = SmallRng::seed_from_u64(7);
        for _ in 0..200 {
            let mut names = Names::default();
            for _ in 0..random.random_range(1..80) {
                let at = random.random_range(0..20);
                let named = match random.random_range(0..3) {
                    0 => Named::Inst(at),
                    1 => Named::Arg(at),
                    _ => Named::Block(at),
                };
                names.set_entry(named, 0);
                let wanted: &[u8] = [&b"x"[..], b"x1", b"x2", b"y", b""][random.random_range(0..5)];
                let found = names.unique(wanted);
                let taken = all(&names);
                assert!(!taken.contains(&found), "{found:?} is free");
                assert_eq!(taken.contains(wanted), found != wanted, "its own name if that is free");
                assert!(found.starts_with(wanted));
                names.set(named, &found);
            }
            assert_eq!(all(&names).len(), {
                let tables = [&names.insts, &names.args, &names.blocks].into_iter().flatten();
                tables.filter(|&&entry| entry != 0).count()
            });
        }
    }

    #[test]
    fn numbers_follow_each_other() {
        let mut names = Names::default();
        for at in 0..300 {
            let name = names.unique(b"sum");
            let wanted = if at == 0 { "sum".to_owned() } else { format!("sum{at}") };
            assert_eq!(String::from_utf8_lossy(&name), wanted);
            names.set(Named::Inst(at), &name);
        }
        names.set(Named::Inst(0), b"");
        assert_eq!(names.unique(b"sum"), b"sum", "a name that is no more is free");
    }
}
