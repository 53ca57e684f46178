//! The names of one function.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::extras::Names;

/// The names of one function: values and blocks share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameSpace {
    taken: FxHashSet<Box<[u8]>>,
    /// The last number appended to each name.
    suffixes: FxHashMap<Box<[u8]>, u64>,
}

impl NameSpace {
    /// Those that are given already. O(names).
    pub(crate) fn of(names: &Names) -> Self {
        NameSpace { taken: names.all().map(Into::into).collect(), suffixes: FxHashMap::default() }
    }

    /// Lets a name be given again.
    pub(crate) fn release(&mut self, name: &[u8]) {
        self.taken.remove(name);
    }

    /// The name, or the name and the smallest number never tried that makes it new. Empty names stay empty.
    pub(crate) fn unique(&mut self, name: &[u8]) -> Vec<u8> {
        if name.is_empty() || self.taken.insert(name.into()) {
            return name.to_vec();
        }
        let suffix = self.suffixes.entry(name.into()).or_default();
        loop {
            *suffix += 1;
            let candidate = [name, suffix.to_string().as_bytes()].concat();
            if self.taken.insert(candidate.as_slice().into()) {
                return candidate;
            }
        }
    }
}
