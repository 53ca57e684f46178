//! The journal and the def-use lists of a body.
//!
//! Neither is part of the content of a body. Two bodies with the same instructions are equal
//! whatever their histories, and a clone starts with an empty history of its own.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

use crate::edit::{journal::Journal, uses::Uses};

/// The range of positions of one history, so that those of different bodies do not overlap.
const SPAN: u64 = 1 << 40;

/// First position of a new history. Equal positions mean equal content, whichever body they are of.
fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(SPAN)
}

/// Journal and def-use lists of a body.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) journal: Journal,
    /// Made when a use is first asked for.
    pub(crate) uses: OnceLock<Box<Uses>>,
}

impl History {
    /// Discards the history, after a change that was not recorded.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.uses.get().is_some() || !self.journal.is_new() {
            *self = History::default();
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.journal.heap_bytes() + self.uses.get().map_or(0, |uses| uses.heap_bytes())
    }
}

impl Default for History {
    fn default() -> Self {
        History { journal: Journal::new(fresh()), uses: OnceLock::new() }
    }
}

impl Clone for History {
    fn clone(&self) -> Self {
        History::default()
    }
}

impl PartialEq for History {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for History {}
