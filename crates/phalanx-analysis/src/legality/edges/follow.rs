//! Sources of edges of a function that is edited, found from those before.
//!
//! They follow from the graph and the sources of its branches. Where few of these are others, the solution is
//! [repaired](crate::divergence::repair): terminators of branches with other sources are stated again, and of another graph those of
//! blocks that lead elsewhere, with the phis that they led to or lead to.
//!
//! Nothing is kept the first time. It is kept once a few branches are others, which costs what solving it three or four times does. Where more are, blocks are
//! there no more by number, or something in an irreducible region cannot be followed, it is solved from scratch.
//!
//! **Complexity.** O(blocks whose branches have other sources, and what follows from them); of another graph O(blocks + edges) besides, for a look at each.

use std::sync::Arc;

use phalanx_graph::{Cfg, Node};

use super::{EdgeDivergence, incoming, phi, seed, table};
use crate::divergence::{
    self, Definition, Flow, Rules, SourceSets,
    repair::{Outcome, Retained, Unfit},
};

/// How many branches at a time are so few that whoever edits them is likely to come back soon.
const FEW: usize = 4;

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
    Seen(Last),
    Kept(Last, Box<Retained>),
}

/// What was asked about.
#[derive(Clone, Debug)]
struct Last {
    cfg: Arc<Cfg>,
    terminators: SourceSets,
}

/// How something else differs from that.
struct Difference {
    is_other_graph: bool,
    /// Blocks that lead elsewhere, or are new.
    touched: Vec<Node>,
    /// These, and branches with other sources.
    branches: Vec<Node>,
}

impl EdgeFollower {
    /// The sources of edges of a graph, which `cfg` is as well, whose terminators depend on these sources.
    pub fn answer(
        &mut self,
        cfg: &Arc<Cfg>,
        flow: Flow<'_>,
        terminators: &SourceSets,
    ) -> (EdgeDivergence, Found) {
        let now = Last { cfg: Arc::clone(cfg), terminators: terminators.clone() };
        let mut is_worth_keeping = false;
        match std::mem::take(&mut self.state) {
            State::New => {}
            State::Seen(last) => {
                let difference = last.difference(&now);
                is_worth_keeping = difference.is_some_and(|d| d.branches.len() <= FEW);
            }
            State::Kept(last, mut retained) => {
                if let Some(difference) = last.difference(&now)
                    && let Ok(outcome) = repair(&mut retained, flow, (&last, &now), &difference)
                {
                    let found = match outcome {
                        Outcome::Repaired { .. } => Found::Repaired,
                        Outcome::Rebuilt => Found::Solved,
                    };
                    return (self.keep(now, retained), found);
                }
            }
        }
        is_worth_keeping &= !Retained::is_too_deep(flow, cfg.node_count());
        let table = || table(cfg, terminators);
        let is_sure = is_worth_keeping && Retained::is_always_possible(flow);
        if is_sure && let Ok(retained) = Retained::new(flow, table()) {
            return (self.keep(now, Box::new(retained)), Found::Solved);
        }
        let table = table();
        let answer = divergence::solve(flow, &table, Rules::Precise);
        if is_worth_keeping
            && !is_sure
            && Retained::is_possible(flow, &answer)
            && let Ok(retained) = Retained::new(flow, table)
        {
            return (self.keep(now, Box::new(retained)), Found::Solved);
        }
        self.state = State::Seen(now);
        (EdgeDivergence { sources: answer.values().clone() }, Found::Solved)
    }

    fn keep(&mut self, now: Last, retained: Box<Retained>) -> EdgeDivergence {
        let sources = retained.answer().values().clone();
        self.state = State::Kept(now, retained);
        EdgeDivergence { sources }
    }
}

impl Last {
    /// None where there is too much of it, or blocks are gone by number.
    fn difference(&self, now: &Last) -> Option<Difference> {
        let is_other_graph = !Arc::ptr_eq(&self.cfg, &now.cfg);
        if now.cfg.node_count() < self.cfg.node_count() {
            return None;
        }
        let touched = match is_other_graph {
            true => leading_elsewhere(&self.cfg, &now.cfg),
            false => Vec::new(),
        };
        let mut branches = touched.clone();
        let mut add = |block| branches.push(Node::new(block));
        now.terminators.each_that_differs(&self.terminators, &mut add);
        branches.sort_unstable();
        branches.dedup();
        let is_little = branches.len() <= 8 + now.cfg.node_count() / 16;
        is_little.then_some(Difference { is_other_graph, touched, branches })
    }

    fn successors(&self, block: Node) -> &[Node] {
        match block.index() < self.cfg.node_count() {
            true => self.cfg.successors(block),
            false => &[],
        }
    }
}

/// Brings what is kept up to date.
fn repair(
    retained: &mut Retained,
    flow: Flow<'_>,
    (last, now): (&Last, &Last),
    Difference { is_other_graph, touched, branches }: &Difference,
) -> Result<Outcome, Unfit> {
    let Last { cfg, terminators } = now;
    let edited = retained.table();
    edited.grow(cfg.node_count(), cfg.node_count());
    for &block in branches {
        edited.set_terminator(block, false, seed(cfg, terminators, block), &[]);
    }
    let led_to = touched.iter().flat_map(|&block| [last, now].map(|of| of.successors(block)));
    let mut phis: Vec<Node> = touched.iter().chain(led_to.flatten()).copied().collect();
    phis.sort_unstable();
    phis.dedup();
    for block in phis {
        edited.set_phi(phi(block), block, Definition::PURE, &incoming(cfg, block));
    }
    match is_other_graph {
        true => retained.repair_flow(flow, Some(touched)),
        false => retained.repair(flow),
    }
}

/// Blocks that lead elsewhere in a graph that has at least as many, or are new there.
fn leading_elsewhere(old: &Cfg, new: &Cfg) -> Vec<Node> {
    let is_other = |block: &Node| {
        block.index() >= old.node_count() || old.successors(*block) != new.successors(*block)
    };
    new.nodes().filter(is_other).collect()
}
