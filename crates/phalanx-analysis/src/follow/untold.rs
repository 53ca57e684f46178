//! A function of which nothing can be told of what it does through pointers.
//!
//! All its pointers escape, or there are too many parts of what they point to. Most edits leave
//! that as it is, so its private memory alone is followed, which says when something can be told.
//! An edit of the graph finds all of it anew, unless a block was split and nothing else.
//!
//! **Complexity.** What it costs to follow private memory, and O(slots).

use phalanx_core::divergence::Flow;
use phalanx_graph::Cfg;

use super::lowering::split_since;
use super::subject::{Changes, Stamp, Subject};
use crate::memory::{InQuestion, Numbered, SlotFollower};
use crate::summary::Seeded;

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Untold {
    stamp: Stamp,
    /// The graph with which memory was found.
    cfg: Cfg,
    memory: SlotFollower,
}

impl Untold {
    /// Of memory with pointees.
    pub(super) fn new(stamp: Stamp, cfg: Cfg, memory: SlotFollower) -> Self {
        Untold { stamp, cfg, memory }
    }

    /// The position of the function in its history.
    pub(super) fn position(&self) -> u64 {
        self.stamp.position
    }

    /// Brings memory up to date. Whether nothing can be told still, as far as that is known without
    /// looking at all of it.
    pub(super) fn is_still(&mut self, subject: &Subject<'_>, changes: Changes<'_>) -> bool {
        let Subject { code, around, flow: Flow { cfg, dom, .. }, stamp, .. } = *subject;
        if self.stamp.around != stamp.around {
            return false;
        }
        let (memory, is_other) = (&mut self.memory, changes.flow || self.stamp.flow != stamp.flow);
        let followed = match is_other {
            true => split_since(&self.cfg, subject, changes)
                .and_then(|block| memory.follow_split((code, around), dom, block, changes.insts)),
            false => {
                let graph = Numbered { cfg, dom, number: stamp.flow };
                memory.follow(code, around, graph, (changes.insts, &InQuestion::default()))
            }
        };
        if is_other {
            self.cfg = cfg.clone();
        }
        self.stamp = stamp;
        followed.is_some() && !Seeded::is_told_by_followed(&self.memory)
    }
}
