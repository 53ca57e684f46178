//! The SSA form of few variables in a large graph, at a cost that depends on their events only.
//!
//! # What
//!
//! [`Ssa::sparse`] gives the same form as [`Ssa::new`], for events in few blocks. It visits blocks
//! with events, blocks with phis, and the predecessors of the latter. It allocates nothing per
//! block of the graph.
//!
//! # Why that is enough
//!
//! Renaming is one walk down the dominator tree. A block without events and phis changes no
//! version; its only effect is on the phis of its successors. So it is enough to walk over blocks
//! with events, blocks with phis, and predecessors of phis, in the preorder of the tree. The stack
//! of open blocks always has those that dominate the current one.
//!
//! **Complexity.** O((events + phis + entries of phis) log) and the visited parts of the dominance
//! frontiers. `frontier` is computed once per graph.

use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
use rustc_hash::FxHashSet;

use super::{Event, Events, Pruning, Search, Ssa, Version};

/// A graph with its dominator tree and frontiers.
#[derive(Clone, Copy)]
pub struct Frontiers<'a> {
    /// The graph.
    pub cfg: &'a Cfg,
    /// Its dominator tree.
    pub dom: &'a DomTree,
    /// Gives its dominance frontiers. Called only if a definition needs them.
    pub frontier: &'a dyn Fn() -> &'a DominanceFrontier,
}

impl Ssa {
    /// The SSA form of variables `0..variables`. `by_block` lists their events: blocks in the
    /// preorder of the dominator tree, and the order of execution within each. Events are numbered
    /// in this order. Phis from which no use is reached are dropped.
    #[must_use]
    pub fn sparse(
        graph: Frontiers<'_>,
        by_block: &[(Node, Event)],
        variables: u32,
    ) -> (Events, Self) {
        let Frontiers { cfg, dom, frontier } = graph;
        let list: Vec<Event> = by_block.iter().map(|(_, event)| *event).collect();
        let events = Events { start: Vec::new(), list };
        let mut ssa = Self { reaching: vec![Version::Entry; events.len()], ..Self::default() };
        if variables == 0 {
            return (events, ssa);
        }
        let mut blocks: Vec<(Node, std::ops::Range<u32>)> = Vec::new();
        for (number, (block, _)) in (0..).zip(by_block) {
            match blocks.last_mut() {
                Some((last, range)) if last == block => range.end = number + 1,
                _ => blocks.push((*block, number..number + 1)),
            }
        }
        let listed = blocks.iter().cloned();
        let definitions = Self::definitions(dom, &events, listed, variables, Pruning::Live);
        if !definitions.is_empty() {
            let mut search = Search::sparse();
            ssa.put_phis(cfg, dom, frontier(), &mut search, &definitions);
        }
        let known: FxHashSet<Node> = blocks.iter().map(|(block, _)| *block).collect();
        let others = ssa.phis.iter().map(|phi| phi.block);
        let others = others.chain(ssa.incoming.iter().map(|(pred, _)| *pred));
        let mut others: Vec<Node> = others.filter(|block| !known.contains(block)).collect();
        others.sort_unstable();
        others.dedup();
        blocks.extend(others.into_iter().map(|block| (block, 0..0)));
        // An unreachable predecessor keeps `Entry`, which its phi entry has from the start.
        blocks.retain(|(block, _)| dom.is_reachable(*block));
        blocks.sort_unstable_by_key(|(block, _)| dom.tin(*block));
        let phis: Vec<Node> = ssa.phis.iter().map(|phi| phi.block).collect();
        let phis_of = |block: Node| {
            let first = phis.partition_point(|of| *of < block);
            let end = phis.partition_point(|of| *of <= block);
            first as u32..end as u32
        };
        ssa.rename(cfg, dom, &events, variables, blocks.into_iter(), phis_of);
        ssa.drop_dead(&events);
        (events, ssa)
    }
}
