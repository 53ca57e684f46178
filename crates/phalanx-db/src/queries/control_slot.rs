//! Control divergence of a function that is edited, by repair of what is kept beside the memos.
//!
//! A large function has a place for the answer of [`control_divergence`](super::control_divergence), and for a few more, one per set of
//! [`Assumptions`] that somebody asks about. What is kept is taken out while it is worked with, so work that is broken off loses it. It counts for the
//! graph only that it was found in, compared by its address; how it is repaired is told in [`follow`](phalanx_analysis::control::follow).

use std::sync::{Mutex, MutexGuard, PoisonError};

use phalanx_analysis::{
    control::{control_divergence, follow::Followed},
    divergence::SourceSets,
    stable::Assumptions,
};

use super::follow::ASSUMING;
use super::graph_slot::GraphFacts;
use crate::FunctionInput;

use salsa::Database as Db;

/// How often control divergence of a function was found in which way.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct ControlRepairs {
    /// From scratch.
    pub solved: u64,
    /// By repair.
    pub repaired: u64,
    /// Blocks that all repairs together looked at.
    pub visited: u64,
}

impl ControlRepairs {
    /// Adds those of another function.
    pub fn merge(&mut self, other: ControlRepairs) {
        self.solved += other.solved;
        self.repaired += other.repaired;
        self.visited += other.visited;
    }
}

/// Under which assumptions, if any, and what was found.
type Kept = Vec<(Option<Assumptions>, Followed)>;

/// Where the answers of a function are while nobody asks.
#[derive(Debug, Default)]
pub(super) struct ControlSlot {
    /// The one asked last comes last.
    kept: Mutex<Kept>,
    counts: Mutex<ControlRepairs>,
}

impl ControlSlot {
    /// Nothing is done under a lock but moving and counting.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> MutexGuard<'_, ControlRepairs> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, assuming: Option<Assumptions>) -> Option<Followed> {
        let mut kept = self.kept();
        let at = kept.iter().position(|(of, _)| *of == assuming)?;
        Some(kept.remove(at).1)
    }

    fn put(&self, assuming: Option<Assumptions>, followed: Followed) {
        let mut kept = self.kept();
        kept.retain(|(of, _)| *of != assuming);
        let extra = (kept.len() + 1).saturating_sub(ASSUMING + 1);
        kept.drain(..extra);
        kept.push((assuming, followed));
    }

    pub(super) fn clear(&self) {
        self.kept().clear();
    }
}

/// How the control divergence of a function was found so far, under assumptions and without; all zero for small functions, where it is always
/// found from scratch. Not a query.
pub fn control_repairs(db: &dyn Db, function: FunctionInput) -> ControlRepairs {
    function.slots(db).counted(|slots| *slots.control.counts())
}

/// Sources that the execution of each block depends on, where those of terminators are given. *Cost* of a large function, in the same graph, what
/// is controlled by branches that differ; else near-linear per source.
pub(super) fn controlled(
    db: &dyn Db,
    function: FunctionInput,
    graph: &GraphFacts,
    assuming: Option<Assumptions>,
    terminators: &SourceSets,
) -> SourceSets {
    let (cfg, postdom) = (graph.cfg(), graph.postdom_tree());
    if !function.is_large(db) {
        return control_divergence(cfg, postdom, terminators);
    }
    let slot = &function.slots(db).large().control;
    let repaired = slot.take(assuming).and_then(|kept| kept.repaired(cfg, postdom, terminators));
    let found = match repaired {
        Some((found, visited)) => {
            let mut counts = slot.counts();
            counts.repaired += 1;
            counts.visited += visited as u64;
            found
        }
        None => {
            slot.counts().solved += 1;
            Followed::new(cfg, postdom, terminators)
        }
    };
    let answer = found.answer().clone();
    slot.put(assuming, found);
    answer
}
