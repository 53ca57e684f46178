//! The graph as sync dependence sees it: reducible, acyclic at each level, with subtrees as
//! intervals.
//!
//! **Contraction.** Walking down the cycle hierarchy, everything is the same for every depth-first
//! search until the first irreducible cycle. Each such outermost irreducible cycle (a *region*)
//! becomes a single node, represented by its header. What is left is reducible; its cycles are
//! called *canonical*.
//!
//! **Levels.** A node belongs to the level of the smallest canonical cycle around it; the header of
//! a cycle also stands for the whole cycle one level further out, which is where labels treat it as
//! a node. Within a level, without the edges back to the level's own header, the graph is acyclic.
//!
//! **Level tree.** The dominator tree with one change: when the immediate dominator of `x` lies in
//! a cycle that does not contain `x`, the parent of `x` is the header of the outermost such cycle
//! instead.
//!
//! ```text
//!   dominator tree      level tree      loop {H, A, B}, exit X taken from A
//!        H                  H
//!        |                 / \          In the loop, A dominates A and B: its subtree in the level
//!        A                A   X         tree. X is no part of that level.
//!       / \               |
//!      B   X              B
//! ```
//!
//! Among the children of a header, those in its cycle come before those behind it.
//!
//! So for a node `n` and anything `p` in the same level or nested in it, `n` dominates `p` exactly
//! when `p` lies in the subtree of `n`: an interval of positions. All tables below are sorted by
//! position, so "the edges from what `n` dominates to `x`" and "the edges from there out of the
//! level" are intervals too.
//!
//! **Size.** `O(n + m)`, except for the dominance frontiers within levels; these share common
//! parts, see [`fringe`](crate::sync::fringe). They exclude edges that leave the level, which make
//! ordinary frontiers quadratic in nested loops and in loops with many exits.

mod contraction;
mod leaving;
mod rows;
mod update;

use std::cell::Cell;

use crate::cfg::Cfg;
use crate::cycles::{CycleId, Cycles};
use crate::dfs::NONE;
use crate::dom::DomTree;
use crate::node::Node;
use crate::scratch::{SCRATCH_KEPT, refill};
use crate::sync::fringe::{Fringes, Room, fringes};
use crate::threshold::Thresholds;

pub(crate) use contraction::{is_in_region, outermost_irreducible};
pub(crate) use leaving::Leaving;
pub use leaving::LeavingEdge;
pub(crate) use rows::Rows;

use contraction::Contraction;
use leaving::LeavingEnds;

/// See the [module documentation](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reduced {
    /// Representative by block; empty when there is no irreducible cycle.
    representative: Vec<u32>,
    /// Innermost canonical cycle by representative, `NONE` outside all; empty when there is no
    /// irreducible cycle, where it is the innermost cycle.
    inner: Vec<u32>,
    /// Interval of positions of the subtree in the level tree; `(NONE, 0)` for nodes without.
    interval: Vec<(u32, u32)>,
    /// Parent in the level tree by node, `NONE` for the root and nodes without; empty when there is
    /// no cycle, where it is the dominator tree.
    parent: Vec<u32>,
    /// The dominator tree of the reduced graph; none when it is the graph's own.
    dom: Option<DomTree>,
    /// Topological order of each level.
    rank: Vec<u32>,
    /// Where the dominance of each node ends within its level.
    pub(crate) frontier: Fringes,
    /// Sources of edges: those of the edges that go back to the header of each canonical cycle,
    /// then those into each node that go forward. Each row sorted by position and number.
    pub(crate) sources: Rows,
    cycle_count: u32,
    pub(crate) leaving: Leaving,
}

/// Scratch tables for making a [`Reduced`], reused by the next one: most functions are small, and
/// allocating the tables would cost more than filling them.
#[derive(Debug, Default)]
struct Scratch {
    /// By node: parent in the level tree, used where `Reduced` stores none since that is the
    /// dominator tree.
    tree_parent: Vec<u32>,
    /// The level tree in preorder.
    preorder: Vec<Node>,
    size: Vec<u32>,
    free: Vec<u32>,
    behind: Vec<u32>,
    /// Whether the parent is the header of a cycle that the node is not in.
    is_behind: Vec<bool>,
    pairs: Vec<(u32, u32)>,
    edges: Vec<LeavingEnds>,
    stack: Vec<(Node, u32)>,
    blocks: Vec<Node>,
    targets: Vec<Node>,
    fringes: Room,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    fn take() -> Box<Self> {
        SCRATCH.take().unwrap_or_default()
    }

    /// Keeps the tables unless they are large.
    fn give_back(self: Box<Self>) {
        if self.preorder.capacity() <= SCRATCH_KEPT && self.pairs.capacity() <= SCRATCH_KEPT {
            SCRATCH.set(Some(self));
        }
    }
}

/// Positions in reverse postorder of a depth-first search, `NONE` for nodes that it does not reach.
fn ranks(graph: &Cfg, stack: &mut Vec<(Node, u32)>) -> Vec<u32> {
    const OPEN: u32 = NONE - 1;
    let mut rank = vec![NONE; graph.node_count()];
    let mut reached = 1;
    rank[graph.entry().index()] = OPEN;
    stack.clear();
    stack.push((graph.entry(), 0));
    let mut left = 0;
    while let Some((node, tried)) = stack.last_mut() {
        let node = *node;
        let rest = &graph.successors(node)[*tried as usize..];
        match rest.iter().position(|s| rank[s.index()] == NONE) {
            Some(skip) => {
                *tried += skip as u32 + 1;
                let next = rest[skip];
                rank[next.index()] = OPEN;
                reached += 1;
                stack.push((next, 0));
            }
            None => {
                rank[node.index()] = left;
                left += 1;
                stack.pop();
            }
        }
    }
    // From the order in which nodes were left to its reverse.
    for rank in rank.iter_mut().filter(|rank| **rank != NONE) {
        *rank = reached - 1 - *rank;
    }
    rank
}

impl Reduced {
    pub(crate) fn new(cfg: &Cfg, dom: &DomTree, cycles: &Cycles) -> Self {
        let contraction = Contraction::new(cfg, cycles);
        let quotient = contraction.quotient(cfg);
        let own_dom = quotient.as_ref().map(DomTree::new);
        let n = cfg.node_count();
        let mut scratch = Scratch::take();
        let Contraction { representative, inner } = contraction;
        let mut reduced = Self {
            representative,
            inner,
            interval: vec![(NONE, 0); n],
            parent: Vec::new(),
            dom: None,
            rank: ranks(quotient.as_ref().unwrap_or(cfg), &mut scratch.stack),
            frontier: Fringes::default(),
            sources: Rows::default(),
            cycle_count: 0,
            leaving: Leaving::default(),
        };
        reduced.level_tree(own_dom.as_ref().unwrap_or(dom), cycles, &mut scratch);
        reduced.dom = own_dom;
        reduced.collect_edges(cfg, cycles, &mut scratch);
        reduced.far_edges(cycles, &mut scratch.pairs);
        let Scratch { tree_parent, preorder, pairs, fringes: room, .. } = &mut *scratch;
        let parent = if cycles.is_empty() { tree_parent } else { &reduced.parent };
        reduced.frontier = fringes(preorder, parent, pairs, room);
        scratch.give_back();
        reduced
    }

    /// The node that stands for a block.
    #[inline]
    pub(crate) fn representative(&self, block: Node) -> Node {
        match self.representative.get(block.index()) {
            Some(&raw) => Node::from_raw(raw),
            None => block,
        }
    }

    /// The smallest canonical cycle around a block.
    #[inline]
    pub(crate) fn inner(&self, cycles: &Cycles, block: Node) -> Option<CycleId> {
        if self.inner.is_empty() {
            return cycles.innermost(block);
        }
        let inner = self.inner[self.representative(block).index()];
        (inner != NONE).then(|| CycleId::from_raw(inner))
    }

    /// The subtree of a node in the level tree.
    #[inline]
    pub(crate) fn interval(&self, node: Node) -> (u32, u32) {
        self.interval[node.index()]
    }

    /// The subtree of a representative in the dominator tree of the reduced graph, and a position
    /// in it.
    #[inline]
    pub(crate) fn dominated(&self, dom: &DomTree, node: Node) -> (u32, u32) {
        let dom = self.dom.as_ref().unwrap_or(dom);
        (dom.tin(node).unwrap_or(NONE), dom.tout(node).unwrap_or(0))
    }

    /// Whether some node stands for an irreducible region.
    pub(crate) fn has_regions(&self) -> bool {
        !self.representative.is_empty()
    }

    /// The parent of a node in the level tree.
    #[inline]
    pub(crate) fn parent(&self, dom: &DomTree, node: Node) -> Option<Node> {
        match self.parent.get(node.index()) {
            Some(&up) => (up != NONE).then(|| Node::from_raw(up)),
            None => dom.idom(node),
        }
    }

    /// The parent of a representative in the dominator tree of the reduced graph.
    #[inline]
    pub(crate) fn idom(&self, dom: &DomTree, node: Node) -> Option<Node> {
        self.dom.as_ref().unwrap_or(dom).idom(node)
    }

    #[inline]
    pub(crate) fn rank(&self, node: Node) -> u32 {
        self.rank[node.index()]
    }

    /// The forward edges into a node, as a range of [`sources`](Self::sources).
    #[inline]
    pub(crate) fn entering(&self, node: Node) -> (u32, u32) {
        self.sources.range(self.forward_row(node))
    }

    /// The sources of the forward edges into a node.
    #[inline]
    pub(crate) fn sources_of(&self, node: Node) -> &[u32] {
        self.sources.row(self.forward_row(node))
    }

    #[inline]
    fn forward_row(&self, node: Node) -> usize {
        self.cycle_count as usize + node.index()
    }

    /// The edges back to the header of a canonical cycle, as a range of [`sources`](Self::sources).
    #[inline]
    pub(crate) fn back(&self, cycle: CycleId) -> (u32, u32) {
        self.sources.range(cycle.index())
    }

    /// The part of a row of edges whose sources are at positions `first..end`.
    #[inline]
    pub(crate) fn at_positions(&self, row: (u32, u32), first: u32, end: u32) -> (u32, u32) {
        const FEW: usize = 4;
        if row.0 == row.1 {
            return row;
        }
        let sources = &self.sources.items()[row.0 as usize..row.1 as usize];
        let count_below = |sources: &[u32], bound: u32| {
            if sources.len() <= FEW {
                sources.iter().take_while(|s| self.position(**s) < bound).count()
            } else {
                sources.partition_point(|s| self.position(*s) < bound)
            }
        };
        let low = count_below(sources, first);
        let high = low + count_below(&sources[low..], end);
        (row.0 + low as u32, row.0 + high as u32)
    }

    /// The first edge of a row that has this source.
    #[inline]
    pub(crate) fn edge_from(&self, row: (u32, u32), from: Node) -> Option<u32> {
        const FEW: usize = 8;
        let sources = &self.sources.items()[row.0 as usize..row.1 as usize];
        if sources.len() <= FEW {
            let at = sources.iter().position(|&source| source == from.raw())?;
            return Some(row.0 + at as u32);
        }
        let key = |source: u32| (self.position(source), source);
        let at = sources.partition_point(|&source| key(source) < key(from.raw()));
        (sources.get(at) == Some(&from.raw())).then_some(row.0 + at as u32)
    }

    /// The forward edge from a block into a node, where it enters at `to`.
    #[inline]
    pub(crate) fn edge_into(&self, cfg: &Cfg, node: Node, from: Node, to: Node) -> Option<u32> {
        let row = self.entering(node);
        let first = self.edge_from(row, from)?;
        let is_only = first + 1 == row.1 || self.sources.items()[first as usize + 1] != from.raw();
        if is_only {
            return Some(first);
        }
        Some(self.one_of_several(cfg, node, from, to, first))
    }

    /// As [`edge_into`](Self::edge_into), for a block with several edges into a region; the first
    /// has number `first`.
    #[cold]
    fn one_of_several(&self, cfg: &Cfg, node: Node, from: Node, to: Node, first: u32) -> u32 {
        let mut others: Vec<Node> = cfg.successors(from).to_vec();
        others.retain(|&s| s < to && self.representative(s) == node);
        others.sort_unstable();
        others.dedup();
        first + others.len() as u32
    }

    #[inline]
    fn position(&self, block: u32) -> u32 {
        self.interval[self.representative(Node::from_raw(block)).index()].0
    }

    /// The outermost canonical cycle around `inside` that does not contain `outside`.
    fn left(&self, cycles: &Cycles, inside: Node, outside: Node) -> Option<CycleId> {
        cycles.outermost_without(self.inner(cycles, inside)?, outside)
    }

    /// The nodes in preorder of the level tree. Sets the parents and the intervals.
    fn level_tree(&mut self, dom: &DomTree, cycles: &Cycles, scratch: &mut Scratch) {
        let Scratch { tree_parent, preorder, size, free, behind, is_behind, .. } = scratch;
        let (order, n) = (dom.preorder(), self.interval.len());
        preorder.clear();
        if cycles.is_empty() {
            // The level tree is the dominator tree.
            refill(tree_parent, n, NONE);
            for (at, &node) in order.iter().enumerate() {
                tree_parent[node.index()] = dom.idom(node).map_or(NONE, Node::raw);
                self.interval[node.index()] = (at as u32, dom.tout(node).unwrap_or(0));
            }
            preorder.extend_from_slice(order);
            return;
        }
        self.parent = vec![NONE; n];
        refill(is_behind, n, false);
        for &node in &order[1..] {
            let Some(up) = dom.idom(node) else { continue };
            let (up, is_out) = match self.left(cycles, up, node) {
                Some(cycle) => (cycles.header(cycle), true),
                None => (up, false),
            };
            self.parent[node.index()] = up.raw();
            is_behind[node.index()] = is_out;
        }
        // Parents dominate, so they come earlier in the dominator tree's preorder. Among children,
        // those in the cycle come before those behind it: `behind` first counts the size of those
        // in the cycle and is then the next free position behind it.
        refill(size, n, 1);
        refill(behind, n, 1);
        for node in order[1..].iter().rev() {
            let (i, up) = (node.index(), self.parent[node.index()] as usize);
            size[up] += size[i];
            if !is_behind[i] {
                behind[up] += size[i];
            }
        }
        refill(free, n, 0);
        preorder.resize(order.len(), order[0]);
        for &node in order {
            let i = node.index();
            let mut at = 0;
            let up = self.parent[i];
            if up != NONE {
                let next =
                    if is_behind[i] { &mut behind[up as usize] } else { &mut free[up as usize] };
                at = *next;
                *next += size[i];
            }
            free[i] = at + 1;
            behind[i] += at;
            self.interval[i] = (at, at + size[i]);
            preorder[at as usize] = node;
        }
    }

    /// Sorts the edges into those that go forward or back, and picks those that leave cycles.
    fn collect_edges(&mut self, cfg: &Cfg, cycles: &Cycles, scratch: &mut Scratch) {
        let mut members = Rows::default();
        if !self.representative.is_empty() {
            let mut pairs: Vec<(u32, u32)> = Vec::new();
            for (block, &standing) in self.representative.iter().enumerate() {
                if standing as usize != block && standing != NONE {
                    pairs.push((standing, block as u32));
                }
            }
            members = Rows::from_pairs(cfg.node_count(), &pairs);
        }
        let Scratch { preorder, pairs: sources, edges, blocks, targets, .. } = scratch;
        self.cycle_count = cycles.len() as u32;
        edges.clear();
        sources.clear();
        for &standing in &*preorder {
            let position = self.interval(standing).0;
            blocks.clear();
            blocks.push(standing);
            if !self.representative.is_empty() {
                blocks.extend(members.row(standing.index()).iter().map(|&m| Node::from_raw(m)));
                blocks.sort_unstable();
            }
            for &from in &*blocks {
                let pair;
                let targets: &[Node] = match cfg.successors(from) {
                    few @ ([] | [_]) => few,
                    [a, b] if a == b => std::slice::from_ref(a),
                    &[a, b] => {
                        pair = [a.min(b), a.max(b)];
                        &pair
                    }
                    many => {
                        targets.clear();
                        targets.extend_from_slice(many);
                        targets.sort_unstable();
                        targets.dedup();
                        targets
                    }
                };
                if cycles.is_empty() {
                    sources.extend(targets.iter().map(|to| (to.raw(), from.raw())));
                    continue;
                }
                for &to in targets {
                    let node = self.representative(to);
                    if node == standing && !self.is_own_header(cycles, to) {
                        continue; // inside a region
                    }
                    if let Some(cycle) = self.goes_back_to(cycles, standing, to) {
                        sources.push((cycle.raw(), from.raw()));
                    } else {
                        // Once for each block of a region that it enters.
                        sources.push((self.cycle_count + node.raw(), from.raw()));
                    }
                    if let Some(owner) = self.left(cycles, from, to) {
                        edges.push(LeavingEnds { position, from, to, owner });
                    }
                }
            }
        }
        self.sources = Rows::from_pairs(cfg.node_count() + cycles.len(), sources);
        if !cycles.is_empty() {
            sources.clear();
            sources.extend(edges.iter().enumerate().map(|(i, edge)| (edge.owner.raw(), i as u32)));
            self.leaving = Leaving {
                edges: edges.as_slice().into(),
                depths: Thresholds::new(edges.iter().map(|edge| cycles.depth(edge.owner) - 1)),
                owned: Rows::from_pairs(cycles.len(), sources),
            };
        }
    }

    /// Whether a block is the header of a canonical cycle.
    fn is_own_header(&self, cycles: &Cycles, block: Node) -> bool {
        self.inner(cycles, block).is_some_and(|c| cycles.header(c) == block)
    }

    /// The canonical cycle to whose header an edge goes back.
    fn goes_back_to(&self, cycles: &Cycles, from: Node, to: Node) -> Option<CycleId> {
        let cycle = self.inner(cycles, to).filter(|&c| cycles.header(c) == to)?;
        cycles.contains(cycle, from).then_some(cycle)
    }

    /// The forward edges that end outside of what their source dominates: in each level, from the
    /// node that stands for the source to the target.
    fn far_edges(&self, cycles: &Cycles, edges: &mut Vec<(u32, u32)>) {
        edges.clear();
        for (node, &(first, _)) in self.interval.iter().enumerate() {
            let sources = self.sources_of(Node::new(node));
            if sources.len() < 2 || first == NONE {
                continue;
            }
            let to = Node::new(node);
            for &source in sources {
                let from = Node::from_raw(source);
                let standing = match self.left(cycles, from, to) {
                    Some(cycle) => cycles.header(cycle),
                    None => self.representative(from),
                };
                let (low, high) = self.interval(standing);
                if first < low || high <= first {
                    edges.push((standing.raw(), to.raw()));
                }
            }
        }
    }
}
