//! The accesses that read each value.
//!
//! One table holds a linked list per value. An access that is recomputed adds entries for what it
//! reads now. Its old entries stay: they are safe, and at worst cause an unnecessary recomputation.
//! O(1) per entry.

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
    /// The number of entries before the first edit.
    initial: usize,
}

impl Readers {
    /// An empty table for this many values.
    pub(super) fn new(values: usize) -> Self {
        Readers { first: vec![NONE; values], entries: Vec::new(), initial: 0 }
    }

    /// Marks the end of the computation from scratch.
    pub(super) fn settle(&mut self) {
        self.initial = self.entries.len();
    }

    /// Whether so many old entries have accumulated that a new start is better.
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

    /// The accesses that read a value; some may be listed more than once.
    pub(super) fn of(&self, value: Value) -> impl Iterator<Item = InstId> + '_ {
        let mut next = self.first.get(value.index()).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let (reader, behind) = *self.entries.get(next as usize)?;
            next = behind;
            Some(reader)
        })
    }
}
