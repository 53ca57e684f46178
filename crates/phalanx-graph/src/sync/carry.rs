//! Which answers of sync dependence stay true when an edit changes the graph.
//!
//! Both graphs and their facts are at hand. Blocks keep their numbers. The reduced graphs are
//! compared row by row: parents in the level tree, cycles by header, edges into each node, edges
//! out of cycles. The differences determine the *stale* nodes: those that a search for an answer
//! could meet in another state than before. An answer whose [`Footprint`] contains no stale node is
//! still true, although the numbers of cycles and edges in it may have changed.
//!
//! **Renamed edges.** When a block is split, its end moves to a new block; when a block is put on
//! an edge, the new block carries the edge on. These are no differences. Chains of new blocks with
//! one way in and one way out are skipped in the new graph, and chains of removed blocks are
//! skipped in the old one. If a block then leads to the same blocks as before, its edges count as
//! the same edges with other ends ([`Carry::tails`]).
//!
//! ```text
//! old:  a -> b        new:  a -> n -> b        a -> b is the same edge, with source n at its end
//! ```
//!
//! **Stale nodes.** A search reads these properties of a node: the edges into it, the frontier of
//! its dominance within its level, the edges back, and the edges out of the level below it. So:
//!
//! | difference | stale |
//! |---|---|
//! | edges into a node | the node; for each edge that came or went, the source and its ancestors below the node's parent |
//! | parent of a node | the node; in each tree its ancestors up to the first that is also one in the other tree; for each edge into it the source and its ancestors below the parent |
//! | edge out of a cycle, edge back | the source and its ancestors, up to and including the header |
//! | innermost cycle | the node |
//! | anything within an irreducible region: blocks, edges from and to them, cycles, dominators | the node that stands for the region |
//!
//! **Complexity.** O(nodes + edges) comparisons of contiguous memory, and a bounded number of steps
//! up the trees. If the bound is exceeded, [`Carry::new`] returns `None`.

mod compare;
mod ends;
mod regions;

use rustc_hash::FxHashMap;

use crate::bitset::BitSet;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::dom::DomTree;
use crate::node::Node;
use crate::sync::reduced::{LeavingEdge, Reduced, is_in_region};
use crate::sync::table::{Footprint, SyncView};

/// See the [module documentation](self).
#[derive(Clone, Debug)]
pub struct Carry<'a> {
    old: Side<'a>,
    new: Side<'a>,
    /// New cycle by old one, or `NONE`.
    cycles: Vec<u32>,
    has_same_cycles: bool,
    /// New number by old number of an edge out of a cycle, or `NONE`; absent when all numbers are
    /// unchanged.
    leaving: Option<Numbers>,
    stale: BitSet,
    /// Prefix counts of `stale`: entry `i` is the number of members in the words before word `i`.
    stale_before: Vec<u32>,
    /// The first stale node.
    first_stale: u32,
    /// The positions of new blocks, in order, if blocks were split and nothing else happened.
    split_at: Option<Vec<u32>>,
    /// Nodes whose incoming edges differ, and old cycles whose edges back to the header differ.
    other_rows: BitSet,
    other_back: BitSet,
    changed: Changed,
    recycled: Vec<Node>,
    redominated: Vec<(u32, u32)>,
    steps: usize,
}

#[derive(Clone, Copy, Debug)]
struct Side<'a> {
    cfg: &'a crate::cfg::Cfg,
    dom: &'a DomTree,
    cycles: &'a Cycles,
    graph: &'a Reduced,
}

impl<'a> Side<'a> {
    fn of(view: &SyncView<'a>) -> Self {
        Self { cfg: view.cfg, dom: view.dom, cycles: view.cycles, graph: &view.tables.graph }
    }

    fn is_reachable(&self, block: Node) -> bool {
        block.index() < self.dom.node_count() && self.dom.is_reachable(block)
    }

    /// Whether a node of the reduced graph is reachable.
    fn has(&self, node: Node) -> bool {
        node.index() < self.dom.node_count() && self.graph.interval(node).0 != NONE
    }

    /// Whether `above` is `node` or an ancestor of it in the level tree.
    fn is_above(&self, above: Node, node: Node) -> bool {
        if !self.has(above) {
            return false;
        }
        let (first, end) = self.graph.interval(above);
        let at = self.graph.interval(node).0;
        first <= at && at < end
    }

    /// The parent of a node in the level tree.
    fn parent(&self, node: Node) -> Option<Node> {
        self.graph.parent(self.dom, node)
    }

    /// Whether the graph has the block, and the block is in an irreducible region.
    fn is_in_region(&self, block: Node) -> bool {
        block.index() < self.dom.node_count() && is_in_region(self.cycles, block)
    }

    fn innermost(&self, block: Node) -> u32 {
        self.cycles.innermost(block).map_or(NONE, CycleId::raw)
    }
}

/// New numbers by old numbers, where most old neighbours stay neighbours.
#[derive(Clone, Debug)]
struct Numbers {
    new: Vec<u32>,
    /// By old number: how often, up to here, a new number was not the successor of the one before
    /// it.
    breaks: Vec<u32>,
}

/// New positions by old positions.
#[derive(Clone, Debug)]
pub enum Positions<'c> {
    /// Blocks were put in at these positions, which are in order.
    Inserted(&'c [u32]),
    /// By old position; `u32::MAX` for what has none.
    Listed(Vec<u32>),
}

impl Positions<'_> {
    /// The new position, or the new end of an interval of positions.
    #[inline]
    #[must_use]
    pub fn now(&self, at: u32) -> u32 {
        match self {
            Self::Inserted(all) => {
                all.iter().fold(at, |at, new| at.saturating_add(u32::from(at >= *new)))
            }
            Self::Listed(all) => all.get(at as usize).copied().unwrap_or(NONE),
        }
    }
}

/// The blocks whose successors differ.
#[derive(Clone, Debug, Default)]
struct Changed {
    blocks: BitSet,
    rewired: Vec<Node>,
    tails: Vec<(Node, Node)>,
    /// The blocks of skipped chains, without the first block of each.
    chained: Vec<Node>,
    /// Whether a block on an edge was skipped.
    skips: bool,
    /// By old source and target.
    edges: FxHashMap<(Node, Node), Renamed>,
}

/// The new ends of an edge.
#[derive(Clone, Copy, Debug)]
struct Renamed {
    /// The source of the edge into the target.
    source: Node,
    /// The edge by which it leaves cycles.
    leaves: (Node, Node),
}

impl<'a> Carry<'a> {
    /// Compares two graphs. `touched` lists the blocks whose successors may differ, new ones
    /// included, if the caller knows them.
    ///
    /// None when the graphs have too little in common.
    #[must_use]
    pub fn new(old: &SyncView<'a>, new: &SyncView<'a>, touched: Option<&[Node]>) -> Option<Self> {
        let (old, new) = (Side::of(old), Side::of(new));
        let (before, now) = (old.dom.node_count(), new.dom.node_count());
        if now < before || old.cfg.entry() != new.cfg.entry() {
            return None;
        }
        let mut carry = Self {
            old,
            new,
            cycles: Vec::new(),
            has_same_cycles: false,
            leaving: None,
            stale: BitSet::new(now),
            stale_before: Vec::new(),
            first_stale: 0,
            split_at: None,
            other_rows: BitSet::new(now),
            other_back: BitSet::new(old.cycles.len()),
            changed: Changed { blocks: BitSet::new(now), ..Changed::default() },
            recycled: Vec::new(),
            redominated: Vec::new(),
            steps: 4096 + 2 * now,
        };
        carry.compare_ends(touched);
        carry.compare_cycles();
        carry.compare_regions()?;
        if touched.is_some() && carry.is_chained() {
            carry.find_splits();
        } else {
            carry.compare_nodes()?;
            carry.compare_rows()?;
            carry.compare_back_rows()?;
            carry.compare_leaving()?;
        }
        carry.stale_before = carry.stale.counts();
        carry.first_stale = carry.stale.iter().next().map_or(NONE, |first| first as u32);
        Some(carry)
    }

    /// The new number of an old cycle, if the new graph has a cycle with the same header, the same
    /// ancestors and the same reducibility.
    #[must_use]
    pub fn cycle(&self, old: CycleId) -> Option<CycleId> {
        let new = self.cycles[old.index()];
        (new != NONE).then(|| CycleId::from_raw(new))
    }

    /// Whether a block of the old graph was in the cycles that one of the new graph is in.
    #[must_use]
    pub fn is_in_same_cycles(&self, old: Node, new: Node) -> bool {
        if old.index() >= self.old.dom.node_count() {
            return false;
        }
        match (self.old.cycles.innermost(old), self.new.cycles.innermost(new)) {
            (None, None) => true,
            (Some(was), Some(is)) => self.cycle(was) == Some(is),
            _ => false,
        }
    }

    /// The header of an old cycle.
    #[must_use]
    pub fn old_header(&self, cycle: CycleId) -> Node {
        self.old.cycles.header(cycle)
    }

    /// Whether all cycles are the same by number.
    #[must_use]
    pub fn has_same_cycles(&self) -> bool {
        self.has_same_cycles
    }

    /// Whether all edges out of cycles are the same by number, though their ends may be others.
    #[must_use]
    pub fn has_same_exits(&self) -> bool {
        self.leaving.is_none()
    }

    /// The new number of an edge out of a cycle.
    #[must_use]
    pub fn leaving(&self, edge: LeavingEdge) -> Option<LeavingEdge> {
        let Some(numbers) = &self.leaving else { return Some(edge) };
        let new = numbers.new[edge.index()];
        (new != NONE).then(|| LeavingEdge::from_raw(new))
    }

    /// The new numbers of a range of edges out of cycles, if they still follow one another.
    #[must_use]
    pub fn leaving_range(&self, first: u32, end: u32) -> Option<(u32, u32)> {
        let Some(numbers) = &self.leaving else { return Some((first, end)) };
        let last = end.checked_sub(1).filter(|last| first <= *last)? as usize;
        let low = numbers.new[first as usize];
        let is_whole = low != NONE && numbers.breaks[first as usize] == numbers.breaks[last];
        is_whole.then(|| (low, numbers.new[last] + 1))
    }

    /// The difference between the new and the old numbers of the forward edges into a node
    /// (wrapping), if these edges are the same.
    #[must_use]
    pub fn entering(&self, node: Node) -> Option<u32> {
        let is_same = self.new.has(node) && !self.other_rows.contains(node.index());
        let (was, is) = (self.old.graph, self.new.graph);
        is_same.then(|| is.entering(node).0.wrapping_sub(was.entering(node).0))
    }

    /// As [`entering`](Self::entering), for edges back to the header of an old cycle.
    #[must_use]
    pub fn back(&self, cycle: CycleId) -> Option<u32> {
        let new = self.cycle(cycle).filter(|_| !self.other_back.contains(cycle.index()))?;
        Some(self.new.graph.back(new).0.wrapping_sub(self.old.graph.back(cycle).0))
    }

    /// Whether a node of the reduced graph is reachable now.
    #[must_use]
    pub fn has(&self, node: Node) -> bool {
        self.new.has(node)
    }

    /// Whether a search could meet the node in another state than before.
    #[must_use]
    pub fn is_stale(&self, node: Node) -> bool {
        self.stale.contains(node.index())
    }

    /// Whether a search with this footprint could have another result.
    #[inline]
    #[must_use]
    pub fn touches(&self, footprint: Footprint) -> bool {
        footprint.last >= self.first_stale && self.has_stale(footprint)
    }

    fn has_stale(&self, footprint: Footprint) -> bool {
        const BITS: usize = 64;
        let Footprint { first, last } = footprint;
        if footprint == Footprint::ALL {
            return true;
        }
        let (first, end) =
            (first as usize, (last as usize).saturating_add(1).min(self.stale.universe()));
        if first >= end {
            return false;
        }
        let (low, high) = (first.div_ceil(BITS), end / BITS);
        if low >= high {
            return self.stale.next_member(first, end).is_some();
        }
        self.stale_before[low] != self.stale_before[high]
            || self.stale.next_member(first, low * BITS).is_some()
            || self.stale.next_member(high * BITS, end).is_some()
    }

    /// Nodes that are stale, in order.
    pub fn stale(&self) -> impl Iterator<Item = Node> {
        self.stale.iter().map(Node::new)
    }

    /// Blocks whose successors differ or whose reachability differs.
    #[must_use]
    pub fn rewired(&self) -> &[Node] {
        &self.changed.rewired
    }

    /// Pairs of an old and a new block: the new one leads where the old one led.
    #[must_use]
    pub fn tails(&self) -> &[(Node, Node)] {
        &self.changed.tails
    }

    /// Old blocks whose cycles, region or reachability differ.
    #[must_use]
    pub fn recycled(&self) -> &[Node] {
        &self.recycled
    }

    /// Intervals of new positions (see [`SyncView::dominated`]) of the blocks whose dominators
    /// differ: disjoint and in order.
    #[must_use]
    pub fn redominated(&self) -> &[(u32, u32)] {
        &self.redominated
    }

    /// Whether blocks were split and nothing else happened. Then every node, cycle and edge out of
    /// a cycle has the number that it had, and no edge leads to a new block but from the block that
    /// was split.
    #[must_use]
    pub fn is_split(&self) -> bool {
        self.split_at.is_some()
    }

    /// New positions by old positions; see [`SyncView::dominated`].
    #[must_use]
    pub fn positions(&self) -> Positions<'_> {
        if let Some(at) = &self.split_at {
            return Positions::Inserted(at);
        }
        let Self { old, new, .. } = self;
        let now = |node: Node| new.graph.dominated(new.dom, new.graph.representative(node)).0;
        if !old.graph.has_regions() {
            return Positions::Listed(old.dom.preorder().iter().map(|&node| now(node)).collect());
        }
        let mut positions = vec![NONE; old.dom.node_count()];
        for node in (0..old.dom.node_count()).map(Node::new).filter(|node| old.has(*node)) {
            positions[old.graph.dominated(old.dom, node).0 as usize] = now(node);
        }
        Positions::Listed(positions)
    }

    /// Notes where new blocks are, if all that happened is that blocks were split.
    fn find_splits(&mut self) {
        let Self { old, new, .. } = *self;
        let before = old.dom.node_count();
        let is_split = self.recycled.is_empty() && !new.graph.has_regions();
        if !is_split || self.stale.iter().any(|block| block < before) {
            return;
        }
        let position = |block| new.graph.dominated(new.dom, Node::new(block)).0;
        let mut at: Vec<u32> = self.stale.iter().map(position).collect();
        at.sort_unstable();
        let positions = Positions::Inserted(&at);
        debug_assert!(old.dom.preorder().iter().all(|&node| {
            let [(first, end), (was, until)] =
                [(new, node), (old, node)].map(|(side, node)| side.graph.dominated(side.dom, node));
            (first, end) == (positions.now(was), positions.now(until))
        }));
        self.split_at = Some(at);
    }

    fn is_new(&self, block: Node) -> bool {
        self.new.is_reachable(block) && !self.old.is_reachable(block)
    }

    fn is_gone(&self, block: Node) -> bool {
        self.old.is_reachable(block) && !self.new.is_reachable(block)
    }

    fn mark(&mut self, node: Node) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        self.stale.insert(node.index());
        Some(())
    }

    /// Marks a node and its ancestors, up to the first for which a condition holds, that one
    /// excluded.
    fn climb(&mut self, side: Side<'a>, from: Node, until: impl Fn(Node) -> bool) -> Option<()> {
        let mut at = Some(side.graph.representative(from));
        while let Some(node) = at.filter(|node| !until(*node)) {
            self.mark(node)?;
            at = side.parent(node);
        }
        Some(())
    }

    /// As [`climb`](Self::climb), up to `last`, that one included.
    fn climb_to(&mut self, side: Side<'a>, from: Node, last: Node) -> Option<()> {
        self.climb(side, from, |node| node == last)?;
        self.mark(last)
    }
}
