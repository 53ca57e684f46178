//! Sources of edges of a function that is edited, found from those before.
//!
//! They follow from the graph and the sources of its branches. Where few of these are others, the solution is
//! [repaired](crate::divergence::repair): terminators of branches with other sources are stated again, and of another graph those of
//! blocks that lead elsewhere, with the phis that they led to or lead to.
//!
//! The first time nothing is kept. Where many branches or blocks are others, blocks are there no more by number, or something in an irreducible region is divergent, it is solved from
//! scratch.
//!
//! **Complexity.** O(blocks whose branches have other sources, and what follows from them); of another graph O(blocks + edges) besides, for a look at each.

use std::sync::Arc;

use phalanx_graph::{Cfg, Node};

use super::{EdgeDivergence, incoming, phi, seed, table};
use crate::divergence::{
    self, Definition, Flow, Rules, SourceSets,
    repair::{Outcome, Retained},
};

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// From scratch.
    Solved,
    /// From the one before.
    Repaired,
}

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub struct EdgeFollower {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    /// Asked, nothing kept.
    Seen,
    Kept(Box<Kept>),
}

#[derive(Debug)]
struct Kept {
    cfg: Arc<Cfg>,
    terminators: SourceSets,
    retained: Retained,
}

impl EdgeFollower {
    /// The sources of edges of a graph, which `cfg` is as well, whose terminators depend on these sources.
    pub fn answer(
        &mut self,
        cfg: &Arc<Cfg>,
        flow: Flow<'_>,
        terminators: &SourceSets,
    ) -> (EdgeDivergence, Found) {
        let state = std::mem::take(&mut self.state);
        let is_first = matches!(state, State::New);
        if let State::Kept(kept) = state
            && let Some((kept, found)) = kept.follow(cfg, flow, terminators)
        {
            return (self.keep(kept), found);
        }
        let table = table(cfg, terminators);
        let answer = divergence::solve(flow, &table, Rules::Precise);
        if !is_first
            && Retained::is_possible(flow, &answer)
            && let Ok(retained) = Retained::new(flow, table)
        {
            let (cfg, terminators) = (Arc::clone(cfg), terminators.clone());
            return (self.keep(Box::new(Kept { cfg, terminators, retained })), Found::Solved);
        }
        // Who could not be kept is tried again after the next time.
        self.state = if is_first { State::Seen } else { State::New };
        (EdgeDivergence { sources: answer.values().clone() }, Found::Solved)
    }

    fn keep(&mut self, kept: Box<Kept>) -> EdgeDivergence {
        let sources = kept.retained.answer().values().clone();
        self.state = State::Kept(kept);
        EdgeDivergence { sources }
    }
}

impl Kept {
    /// Brings what is kept up to date. None if that is not worth it, or cannot be done.
    fn follow(
        mut self: Box<Self>,
        cfg: &Arc<Cfg>,
        flow: Flow<'_>,
        terminators: &SourceSets,
    ) -> Option<(Box<Self>, Found)> {
        let is_other_graph = !Arc::ptr_eq(&self.cfg, cfg);
        if cfg.node_count() < self.cfg.node_count() {
            return None;
        }
        let touched = match is_other_graph {
            true => leading_elsewhere(&self.cfg, cfg),
            false => Vec::new(),
        };
        let mut branches = touched.clone();
        terminators.each_that_differs(&self.terminators, |block| branches.push(Node::new(block)));
        branches.sort_unstable();
        branches.dedup();
        if branches.len() > 8 + cfg.node_count() / 16 {
            return None;
        }
        let edited = self.retained.table();
        edited.grow(cfg.node_count(), cfg.node_count());
        for &block in &branches {
            edited.set_terminator(block, false, seed(cfg, terminators, block), &[]);
        }
        let led_to = touched.iter().flat_map(|&block| {
            let was = if block.index() < self.cfg.node_count() {
                self.cfg.successors(block)
            } else {
                &[]
            };
            was.iter().chain(cfg.successors(block))
        });
        let mut phis: Vec<Node> = touched.iter().chain(led_to).copied().collect();
        phis.sort_unstable();
        phis.dedup();
        for block in phis {
            edited.set_phi(phi(block), block, Definition::PURE, &incoming(cfg, block));
        }
        let outcome = match is_other_graph {
            true => self.retained.repair_flow(flow, Some(&touched)),
            false => self.retained.repair(flow),
        };
        let found = match outcome.ok()? {
            Outcome::Repaired { .. } => Found::Repaired,
            Outcome::Rebuilt => Found::Solved,
        };
        (self.cfg, self.terminators) = (Arc::clone(cfg), terminators.clone());
        Some((self, found))
    }
}

/// Blocks that lead elsewhere in a graph that has at least as many, or are new there.
fn leading_elsewhere(old: &Cfg, new: &Cfg) -> Vec<Node> {
    let is_other = |block: &Node| {
        block.index() >= old.node_count() || old.successors(*block) != new.successors(*block)
    };
    new.nodes().filter(is_other).collect()
}
