//! Which accesses look at a value.
//!
//! A list for each value, all in one table. An access that is looked at again adds what it reads
//! now; what it read before stays, which costs a look at it more and is never wrong. O(1) per
//! entry.

use phalanx_core::affect::Value;
use phalanx_ir::InstId;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Readers {
    /// The first entry by value.
    first: Vec<u32>,
    /// A reader, and the next entry of the value.
    entries: Vec<(InstId, u32)>,
    /// How many entries there were before the first edit.
    initial: usize,
}

impl Readers {
    /// None yet, of so many values.
    pub(super) fn new(values: usize) -> Self {
        Readers { first: vec![NONE; values], entries: Vec::new(), initial: 0 }
    }

    /// From now on accesses are looked at again.
    pub(super) fn settle(&mut self) {
        self.initial = self.entries.len();
    }

    /// Whether more is kept than is worth it.
    pub(super) fn is_crowded(&self) -> bool {
        self.entries.len() > 4 * self.initial + 4096
    }

    pub(super) fn add(&mut self, value: Value, reader: InstId) {
        let at = value.index();
        if at >= self.first.len() {
            self.first.resize(at + 1, NONE);
        }
        self.entries.push((reader, self.first[at]));
        self.first[at] = (self.entries.len() - 1) as u32;
    }

    /// Who looks at a value; some more than once.
    pub(super) fn of(&self, value: Value) -> impl Iterator<Item = InstId> + '_ {
        let mut next = self.first.get(value.index()).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let (reader, behind) = *self.entries.get(next as usize)?;
            next = behind;
            Some(reader)
        })
    }
}
