//! A function of which nothing can be told of what it does through pointers.
//!
//! All its pointers escape, or there are too many parts of what they point to. Most edits leave
//! that as it is, so its private memory alone is followed, which says when something can be told.
//! An edit of the graph finds all of it anew.
//!
//! **Complexity.** What it costs to follow private memory, and O(slots).

use phalanx_core::divergence::Flow;

use super::subject::{Changes, Stamp, Subject};
use crate::memory::{InQuestion, Numbered, SlotFollower};
use crate::summary::Seeded;

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Untold {
    stamp: Stamp,
    memory: SlotFollower,
}

impl Untold {
    /// Of memory with pointees.
    pub(super) fn new(stamp: Stamp, memory: SlotFollower) -> Self {
        Untold { stamp, memory }
    }

    /// The position of the function in its history.
    pub(super) fn position(&self) -> u64 {
        self.stamp.position
    }

    /// Brings memory up to date. Whether nothing can be told still, as far as that is known without
    /// looking at all of it.
    pub(super) fn is_still(&mut self, subject: &Subject<'_>, changes: Changes<'_>) -> bool {
        let Subject { code, around, flow: Flow { cfg, dom, .. }, stamp, .. } = *subject;
        if changes.flow || (self.stamp.flow, self.stamp.around) != (stamp.flow, stamp.around) {
            return false;
        }
        let graph = Numbered { cfg, dom, number: stamp.flow };
        self.stamp = stamp;
        let nothing = InQuestion::default();
        self.memory.follow(code, around, graph, (changes.insts, &nothing)).is_some()
            && !Seeded::is_told_by_followed(&self.memory)
    }
}
