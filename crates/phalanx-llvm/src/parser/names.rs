//! A table from names to values, for one function.
//!
//! Names are most of the bytes of an unoptimised function. So an entry does not own its name but
//! refers to it: in the source, or in a buffer of names that are written with escapes. An entry
//! stores the hash of its name, so that the table grows without reading names again. O(length of
//! the name) expected per operation.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::lexer::unescape;

/// Names of one function and a value for each.
pub(crate) struct NameTable<T> {
    entries: HashTable<Entry<T>>,
    /// Names whose escapes have been replaced.
    unescaped: Vec<u8>,
}

struct Entry<T> {
    hash: u32,
    /// First byte, in the source or in the buffer.
    start: u32,
    /// Number of bytes; the highest bit is set for a name in the buffer.
    len: u32,
    value: T,
}

const IN_BUFFER: u32 = 1 << 31;

impl<T> Default for NameTable<T> {
    fn default() -> Self {
        NameTable { entries: HashTable::new(), unescaped: Vec::new() }
    }
}

/// Bits of a hash that are kept, spread over a word.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn hash_of(name: &[u8]) -> u32 {
    (FxBuildHasher.hash_one(name) >> 16) as u32
}

/// The bytes of a name that stands at `start..end` of the source, and where they begin; quotes are
/// left out.
fn inside(source: &[u8], start: u32, end: u32) -> (&[u8], u32) {
    match &source[start as usize..end as usize] {
        [b'"', name @ .., b'"'] => (name, start + 1),
        name => (name, start),
    }
}

impl<T: Copy> NameTable<T> {
    /// Forgets all names. The table is replaced when it is much larger than what was in it.
    pub(crate) fn clear(&mut self) {
        if self.entries.capacity() > 4096 && self.entries.len() < self.entries.capacity() / 16 {
            self.entries = HashTable::new();
        }
        self.entries.clear();
        self.unescaped.clear();
    }

    fn bytes<'s>(&'s self, source: &'s [u8], entry: &Entry<T>) -> &'s [u8] {
        let len = (entry.len & !IN_BUFFER) as usize;
        let from = if entry.len & IN_BUFFER == 0 { source } else { &self.unescaped };
        &from[entry.start as usize..][..len]
    }

    /// The value of the name at `start..end` of the source, quoted or not.
    #[inline]
    pub(crate) fn get(&self, source: &[u8], start: u32, end: u32) -> Option<T> {
        let (written, _) = inside(source, start, end);
        if start as usize + written.len() == end as usize {
            return self.find(source, written).map(|entry| entry.value);
        }
        self.find(source, &unescape(written)).map(|entry| entry.value)
    }

    #[inline]
    fn find(&self, source: &[u8], name: &[u8]) -> Option<&Entry<T>> {
        let hash = hash_of(name);
        self.entries
            .find(spread(hash), |entry| entry.hash == hash && self.bytes(source, entry) == name)
    }

    /// Sets the value of the name at `start..end` of the source; returns its old value.
    #[inline]
    pub(crate) fn insert(&mut self, source: &[u8], start: u32, end: u32, value: T) -> Option<T> {
        let (written, at) = inside(source, start, end);
        let name = unescape(written);
        let hash = hash_of(&name);
        let (entries, unescaped) = (&mut self.entries, &mut self.unescaped);
        let known = entries.find_mut(spread(hash), |entry| {
            let len = (entry.len & !IN_BUFFER) as usize;
            let from = if entry.len & IN_BUFFER == 0 { source } else { &unescaped[..] };
            entry.hash == hash && from[entry.start as usize..][..len] == *name
        });
        if let Some(entry) = known {
            return Some(std::mem::replace(&mut entry.value, value));
        }
        let entry = match &name {
            std::borrow::Cow::Borrowed(name) => {
                Entry { hash, start: at, len: name.len() as u32, value }
            }
            std::borrow::Cow::Owned(name) => {
                let start = unescaped.len() as u32;
                unescaped.extend_from_slice(name);
                Entry { hash, start, len: name.len() as u32 | IN_BUFFER, value }
            }
        };
        entries.insert_unique(spread(hash), entry, |entry| spread(entry.hash));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_are_one_entry() {
        let source = b"plain \"plain\" \"pl\\61in\" \"a\\5Cb\" \"a\\5cb\"";
        let names: Vec<(u32, u32)> = {
            let mut at = 0u32;
            source
                .split(|&byte| byte == b' ')
                .map(|name| {
                    let place = (at, at + name.len() as u32);
                    at = place.1 + 1;
                    place
                })
                .collect()
        };
        let mut table = NameTable::default();
        assert_eq!(table.insert(source, names[0].0, names[0].1, 1), None);
        assert_eq!(table.get(source, names[1].0, names[1].1), Some(1));
        assert_eq!(table.get(source, names[2].0, names[2].1), Some(1));
        assert_eq!(table.insert(source, names[2].0, names[2].1, 2), Some(1));
        assert_eq!(table.get(source, names[3].0, names[3].1), None);
        assert_eq!(table.insert(source, names[3].0, names[3].1, 3), None);
        assert_eq!(table.get(source, names[4].0, names[4].1), Some(3));
        table.clear();
        assert_eq!(table.get(source, names[0].0, names[0].1), None);
    }
}
