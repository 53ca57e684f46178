//! The state of a function of which nothing can be told about what it does through pointers.
//!
//! All its pointers escape, or the memory behind them has too many parts. Most edits leave that as
//! it is. So this state has private memory alone, which says when something can be told.
//!
//! **Complexity.** The cost of an update of private memory, and O(slots).

use phalanx_core::divergence::FlowFacts;
use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::InstId;

use super::lowering::split_since;
use super::subject::{Changes, Stamp, Subject};
use crate::memory::{Changed, InQuestion, Numbered, PrivateMemoryUpdater, ssa::Graph};
use crate::summary::Seeded;

/// Private memory, with pointees, of such a function. See the [module documentation](self).
#[derive(Debug)]
pub(super) struct UnknownThrough {
    stamp: Stamp,
    /// The graph that memory was found with.
    graph: (Cfg, DomTree),
    memory: PrivateMemoryUpdater,
}

impl UnknownThrough {
    /// The state with this memory, which has pointees.
    pub(super) fn new(subject: &Subject<'_>, memory: PrivateMemoryUpdater) -> Self {
        let Subject { flow: FlowFacts { cfg, dom, .. }, stamp, .. } = *subject;
        UnknownThrough { stamp, graph: (cfg.clone(), dom.clone()), memory }
    }

    /// The position of the function in its history.
    pub(super) fn position(&self) -> u64 {
        self.stamp.position
    }

    /// Brings memory up to date. Returns true if still nothing can be told, as far as that is known
    /// without looking at all of memory.
    pub(super) fn is_still(&mut self, subject: &Subject<'_>, changes: Changes<'_>) -> bool {
        let Subject { code, env, flow: FlowFacts { cfg, dom, .. }, stamp, .. } = *subject;
        if self.stamp.env != stamp.env {
            return false;
        }
        let is_other = changes.flow || self.stamp.flow != stamp.flow;
        let updated = match is_other {
            true => self.in_other_graph(subject, changes),
            false => {
                let graph = Numbered { cfg, dom, number: stamp.flow };
                self.memory.update(code, env, graph, (changes.insts, &InQuestion::default()))
            }
        };
        if is_other {
            self.graph = (cfg.clone(), dom.clone());
        }
        self.stamp = stamp;
        updated.is_some() && !Seeded::is_known_by_updated(&self.memory)
    }

    /// Brings memory up to date after an edit of the graph. None if that cannot be done.
    fn in_other_graph(&mut self, subject: &Subject<'_>, changes: Changes<'_>) -> Option<Changed> {
        let Subject { code, env, flow: FlowFacts { cfg, dom, .. }, stamp, .. } = *subject;
        let (before, memory) = (&self.graph, &mut self.memory);
        let split = split_since(&before.0, subject, changes)
            .and_then(|block| memory.update_split((code, env), dom, block, changes.insts));
        if split.is_some() {
            return split;
        }
        // What was only moved is in one of these blocks.
        let blocks = Some(changes.blocks).filter(|blocks| !blocks.is_empty())?;
        let within = blocks.iter().flat_map(|&block| code.body.block_insts(block));
        let insts: Vec<InstId> = changes.insts.iter().copied().chain(within).collect();
        let before = Graph { cfg: &before.0, dom: &before.1 };
        let besides = memory.in_question(code, (before, Graph { cfg, dom }))?;
        memory.update(code, env, Numbered { cfg, dom, number: stamp.flow }, (&insts, &besides))
    }
}
