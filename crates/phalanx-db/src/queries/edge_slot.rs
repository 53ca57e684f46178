//! Sources of edges of a function that is edited, by repair of what is kept beside the memos.
//!
//! A large function has a place for what [follows](EdgeFollower) the answer of [`edge_divergence`](super::edge_divergence). It is taken out while it
//! is worked with, so work that is broken off loses it.

use std::sync::Mutex;

use phalanx_analysis::{
    divergence::{Flow, SourceSets},
    legality::edges::{EdgeDivergence, EdgeFollower, Found},
};

use super::follow::locked;
use super::graph_slot::GraphFacts;
use super::memory_slot::Ways;
use crate::FunctionInput;

use salsa::Database as Db;

/// Where a follower is while nobody asks.
#[derive(Debug, Default)]
pub(super) struct EdgeSlot {
    follower: Mutex<EdgeFollower>,
    counts: Mutex<Ways>,
}

impl EdgeSlot {
    pub(super) fn clear(&self) {
        *locked(&self.follower) = EdgeFollower::default();
    }
}

/// How [`edge_divergence`](super::edge_divergence) of a function was found so far; all zero for small functions, where it is always found from
/// scratch. Not a query.
pub fn edge_repairs(db: &dyn Db, function: FunctionInput) -> Ways {
    function.slots(db).counted(|slots| *locked(&slots.edges.counts))
}

/// Sources of the edges into blocks, where those of terminators are given.
pub(super) fn told_apart(
    db: &dyn Db,
    function: FunctionInput,
    (graph, flow): (&GraphFacts, Flow<'_>),
    terminators: &SourceSets,
) -> EdgeDivergence {
    if !function.is_large(db) {
        return EdgeDivergence::new(flow, terminators);
    }
    let slot = &function.slots(db).large().edges;
    let mut follower = std::mem::take(&mut *locked(&slot.follower));
    let (answer, found) = follower.answer(graph.cfg(), flow, terminators);
    *locked(&slot.follower) = follower;
    let mut counts = locked(&slot.counts);
    match found {
        Found::Solved => counts.solved += 1,
        Found::Repaired => counts.repaired += 1,
    }
    answer
}
