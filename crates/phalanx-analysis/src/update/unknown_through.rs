//! The state of a function of which nothing can be told about what it does through pointers.
//!
//! All its pointers escape, or the memory behind them has too many parts. Most edits leave that as
//! it is. So this state has private memory alone, which says when something can be told. An edit of
//! the graph makes everything be found anew, unless it only split a block.
//!
//! **Complexity.** The cost of an update of private memory, and O(slots).

use phalanx_core::divergence::Flow;
use phalanx_graph::Cfg;

use super::lowering::split_since;
use super::subject::{Changes, Stamp, Subject};
use crate::memory::{InQuestion, Numbered, PrivateMemoryUpdater};
use crate::summary::Seeded;

/// Private memory, with pointees, of such a function. See the [module documentation](self).
#[derive(Debug)]
pub(super) struct UnknownThrough {
    stamp: Stamp,
    /// The graph that memory was found with.
    cfg: Cfg,
    memory: PrivateMemoryUpdater,
}

impl UnknownThrough {
    /// The state with this memory, which has pointees.
    pub(super) fn new(stamp: Stamp, cfg: Cfg, memory: PrivateMemoryUpdater) -> Self {
        UnknownThrough { stamp, cfg, memory }
    }

    /// The position of the function in its history.
    pub(super) fn position(&self) -> u64 {
        self.stamp.position
    }

    /// Brings memory up to date. Returns true if still nothing can be told, as far as that is known
    /// without looking at all of memory.
    pub(super) fn is_still(&mut self, subject: &Subject<'_>, changes: Changes<'_>) -> bool {
        let Subject { code, env, flow: Flow { cfg, dom, .. }, stamp, .. } = *subject;
        if self.stamp.env != stamp.env {
            return false;
        }
        let (memory, is_other) = (&mut self.memory, changes.flow || self.stamp.flow != stamp.flow);
        let updated = match is_other {
            true => split_since(&self.cfg, subject, changes)
                .and_then(|block| memory.update_split((code, env), dom, block, changes.insts)),
            false => {
                let graph = Numbered { cfg, dom, number: stamp.flow };
                memory.update(code, env, graph, (changes.insts, &InQuestion::default()))
            }
        };
        if is_other {
            self.cfg = cfg.clone();
        }
        self.stamp = stamp;
        updated.is_some() && !Seeded::is_known_by_updated(&self.memory)
    }
}
