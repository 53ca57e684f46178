//! The SSA form of few variables in a large graph, at the price of what touches them.
//!
//! # What
//!
//! [`Ssa::sparse`] names the versions that [`Ssa::new`] names, for events in few blocks. It looks
//! at blocks with events, at those where phis are placed, and at the predecessors of the latter;
//! nothing is made per block of the graph.
//!
//! # Why that is enough
//!
//! Naming versions is one walk down the dominator tree, in which a block without events and phis
//! does nothing but hand its version on to what comes into phis of its successors. So a walk over
//! the blocks that do something, in the tree's preorder, meets the same versions: what is open when
//! a block is reached are those above it.
//!
//! **Complexity.** O((events + phis + entries of phis) log) and the parts of dominance frontiers
//! that are looked at; `frontier` is made once for a graph.

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
    /// Gives its dominance frontiers; asked if a definition needs them.
    pub frontier: &'a dyn Fn() -> &'a DominanceFrontier,
}

impl Ssa {
    /// The versions of so many variables; `by_block` are their events, in the tree's preorder of
    /// blocks and in order of execution in each, and numbered so. Phis from which no use is reached
    /// are dropped.
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
        // What cannot be reached gives the version at the entry, as it stands.
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
