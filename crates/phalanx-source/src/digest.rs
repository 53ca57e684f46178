//! Digests of 128 bits, for names of cache entries and for contents of files.
//!
//! A digest is two runs of SipHash-1-3 with different prefixes. It does not protect against
//! deliberate collisions; the cache is a folder of the user's own.

use std::{
    collections::BTreeMap,
    fmt, fs,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
    sync::Mutex,
};

/// A digest.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Digest([u64; 2]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Hasher::default().with(bytes).finish()
    }

    /// Parses a digest that [`fmt::Display`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Digest> {
        let half = |range| u64::from_str_radix(text.get(range)?, 16).ok();
        (text.len() == 32).then_some(Digest([half(0..16)?, half(16..32)?]))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0[0], self.0[1])
    }
}

/// Makes a digest of parts. Where one part ends affects the digest.
#[derive(Clone, Debug)]
pub struct Hasher([DefaultHasher; 2]);

impl Default for Hasher {
    fn default() -> Self {
        let mut second = DefaultHasher::new();
        second.write_u8(1);
        Hasher([DefaultHasher::new(), second])
    }
}

impl Hasher {
    /// Adds a part.
    #[must_use]
    pub fn with(mut self, part: &[u8]) -> Self {
        for hasher in &mut self.0 {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
        self
    }

    /// The digest of all parts.
    #[must_use]
    pub fn finish(&self) -> Digest {
        Digest([self.0[0].finish(), self.0[1].finish()])
    }
}

/// A cache of digests of files: each file is read once, however many units include it.
#[derive(Default, Debug)]
pub struct FileDigests {
    known: Mutex<BTreeMap<PathBuf, Option<Digest>>>,
}

impl FileDigests {
    /// The digest of a file; none if it cannot be read.
    pub fn of(&self, path: &Path) -> Option<Digest> {
        if let Ok(known) = self.known.lock()
            && let Some(digest) = known.get(path)
        {
            return *digest;
        }
        let digest = fs::read(path).ok().map(|bytes| Digest::of(&bytes));
        if let Ok(mut known) = self.known.lock() {
            known.insert(path.to_owned(), digest);
        }
        digest
    }

    /// Clears the cache, since files may have changed.
    pub fn forget(&self) {
        if let Ok(mut known) = self.known.lock() {
            known.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        let of = |parts: &[&str]| {
            let add = |hasher: Hasher, part: &&str| hasher.with(part.as_bytes());
            parts.iter().fold(Hasher::default(), add).finish()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_eq!(Digest::parse(&of(&["x"]).to_string()), Some(of(&["x"])));
        assert_eq!(Digest::parse("12"), None);
    }
}
