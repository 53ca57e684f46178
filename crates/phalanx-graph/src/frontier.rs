//! Dominance frontiers, plain and iterated.
//!
//! The dominance frontier of `x` is where the dominance of `x` ends: the nodes `y` that have a
//! reachable predecessor dominated by `x` while `x` does not strictly dominate `y` (Cytron and
//! others, *Efficiently Computing Static Single Assignment Form*, 1991). The iterated frontier of a
//! set is the least set that contains the frontiers of the set and of itself: where definitions in
//! the set meet.
//!
//! ```text
//!        0
//!        |          DF(3) = DF(4) = {5}: both reach 5, neither dominates it
//!   +--> 1          DF(2) = DF(5) = {1}: they dominate 5, which goes back to 1
//!   |    |          DF(1) = {1}: a loop header is in its own frontier
//!   |    2          IDF({3}) = {5, 1}
//!   |   / \
//!   |  3   4
//!   |   \ /
//!   +--- 5
//! ```
//!
//! **Representation.** An edge `u -> y` puts `y` into the frontiers of exactly the nodes on the
//! tree path from `u` up to `idom(y)`, that one excluded; these are the nodes `x` above or at `u`
//! with `level(x) >= level(y)`. All frontiers together can have quadratic size (10,000 nested
//! loops), so only the *join edges*, those whose path is not empty, are stored, sorted by the
//! position of `u` in the tree's preorder. The frontier of `x` is then found in the contiguous
//! range of `x`'s subtree as the edges whose target's level is at most `level(x)`. `O(n + m)` to
//! build.
//!
//! **Iterated frontiers** follow Sreedhar and Gao, *A Linear Time Algorithm for Placing Phi-Nodes*
//! (1995): nodes are taken deepest first, and a subtree that was searched once is not searched
//! again. The edges that it has left lead to deeper nodes than later searches accept. `O(n + m)`
//! for a whole set, and only the subtrees of the set are touched.
//!
//! Control dependence is the same thing on the reversed graph; see [`crate::control`].

use std::cell::Cell;
use std::collections::{BTreeMap, BinaryHeap};

use rustc_hash::FxHashSet;

use crate::bitset::BitSet;
use crate::dom::DomTree;
use crate::graph::{Graph, Repeats};
use crate::node::{Node, NodeSet};
use crate::scratch::SCRATCH_KEPT;
use crate::threshold::Thresholds;

/// The dominance frontiers of all nodes, enumerated on demand.
///
/// The dominator tree is passed to the queries: it must be the one that the frontiers were made
/// with.
///
/// ```
/// use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
///
/// let n = Node::new;
/// // A loop of 1 and 2, left from 1 for 3.
/// let cfg = Cfg::new(n(0), [vec![n(1)], vec![n(2), n(3)], vec![n(1)], vec![]]);
/// let dom = DomTree::new(&cfg);
/// let frontiers = DominanceFrontier::new(&cfg, &dom);
/// assert_eq!(frontiers.frontier(&dom, n(2)), [n(1)]);
/// assert_eq!(frontiers.iterated_frontier(&dom, [n(2)]), [n(1)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DominanceFrontier {
    joins: JoinEdges,
}

impl DominanceFrontier {
    /// Computes the frontiers of the graph whose dominator tree is given.
    #[must_use]
    pub fn new<G: Graph + ?Sized>(graph: &G, dom: &DomTree) -> Self {
        Self { joins: JoinEdges::new(dom, |node| graph.successors(node), |_| true) }
    }

    /// The frontier of the node, sorted. Empty when the node is unreachable.
    ///
    /// `O(k log k + k log m)` where `k` counts the edges from what the node dominates to its
    /// frontier.
    #[must_use]
    pub fn frontier(&self, dom: &DomTree, node: Node) -> Vec<Node> {
        let mut targets: Vec<Node> = self.joins.of(dom, node).map(|(_, to)| to).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// The edges from what the node dominates to its frontier, parallel edges once.
    pub fn frontier_edges<'a>(
        &'a self,
        dom: &DomTree,
        node: Node,
    ) -> impl Iterator<Item = (Node, Node)> + use<'a> {
        self.joins.of(dom, node)
    }

    /// The least set that contains the frontiers of `nodes` and of itself, sorted.
    ///
    /// Linear in the subtrees of `nodes` and of the answer.
    #[must_use]
    pub fn iterated_frontier(
        &self,
        dom: &DomTree,
        nodes: impl IntoIterator<Item = Node>,
    ) -> Vec<Node> {
        self.joins.iterated(dom, nodes, |_| true)
    }

    /// The iterated frontier within the nodes that satisfy a condition: only they are added, and
    /// only they contribute their own frontiers.
    ///
    /// With "the variable is live on entry to this node" as the condition, this places the phis of
    /// pruned SSA.
    #[must_use]
    pub fn iterated_frontier_within(
        &self,
        dom: &DomTree,
        nodes: impl IntoIterator<Item = Node>,
        keep: impl FnMut(Node) -> bool,
    ) -> Vec<Node> {
        self.joins.iterated(dom, nodes, keep)
    }
}

/// The edges of a graph that end above where they start in its dominator tree, or beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinEdges {
    /// Source and target, sources in the tree's preorder.
    edges: Vec<(Node, Node)>,
    /// First edge of each preorder position, and the end.
    starts: Vec<u32>,
    /// Level of each edge's target.
    levels: Thresholds,
}

thread_local! {
    /// Room for the edges while it is not known how many there are.
    static EDGES: Cell<Vec<(Node, Node)>> = const { Cell::new(Vec::new()) };
}

impl JoinEdges {
    /// Collects the join edges among the edges given by target lists.
    ///
    /// Edges must be edges of the graph that the tree belongs to. Targets outside the tree, or for
    /// which `keep` fails, are left out.
    pub(crate) fn new<'a>(
        dom: &DomTree,
        targets_of: impl Fn(Node) -> &'a [Node],
        keep: impl Fn(Node) -> bool,
    ) -> Self {
        let mut edges = EDGES.take();
        edges.clear();
        let mut starts = Vec::with_capacity(dom.preorder().len() + 1);
        let mut repeats = Repeats::default();
        for &from in dom.preorder() {
            starts.push(edges.len() as u32);
            let targets = targets_of(from);
            for (i, &to) in targets.iter().enumerate() {
                if dom.idom(to) != Some(from)
                    && dom.is_reachable(to)
                    && !repeats.is_repeat(dom.node_count(), from, targets, i)
                    && keep(to)
                {
                    edges.push((from, to));
                }
            }
        }
        starts.push(edges.len() as u32);
        let levels = Thresholds::new(edges.iter().map(|&(_, to)| dom.level(to).unwrap_or(0)));
        let made = Self { edges: edges.as_slice().into(), starts, levels };
        if edges.capacity() <= SCRATCH_KEPT {
            EDGES.set(edges);
        }
        made
    }

    /// The edges below the node that start there.
    fn range(&self, dom: &DomTree, node: Node) -> (u32, u32) {
        match (dom.tin(node), dom.tout(node)) {
            (Some(tin), Some(tout)) => (self.starts[tin as usize], self.starts[tout as usize]),
            _ => (0, 0),
        }
    }

    /// The edges from the node's subtree to the node's frontier.
    pub(crate) fn of(
        &self,
        dom: &DomTree,
        node: Node,
    ) -> impl Iterator<Item = (Node, Node)> + use<'_> {
        let (first, end) = self.range(dom, node);
        let bound = dom.level(node).map_or(0, |level| level + 1);
        self.levels.below(first as usize, end as usize, bound).map(|i| self.edges[i])
    }

    /// The iterated frontier of `nodes`, sorted.
    pub(crate) fn iterated(
        &self,
        dom: &DomTree,
        nodes: impl IntoIterator<Item = Node>,
        mut keep: impl FnMut(Node) -> bool,
    ) -> Vec<Node> {
        let nodes: Vec<Node> = nodes.into_iter().collect();
        // The answer for few nodes usually covers a small part of a large graph. Then allocating
        // tables for the whole graph would be the main cost, so the search uses sparse ones.
        match nodes.len() * SPARSE < dom.node_count() {
            true => self.search::<Sparse>(dom, &nodes, &mut keep),
            false => self.search::<Dense>(dom, &nodes, &mut keep),
        }
    }

    fn search<S: Search>(
        &self,
        dom: &DomTree,
        nodes: &[Node],
        keep: &mut dyn FnMut(Node) -> bool,
    ) -> Vec<Node> {
        let mut found = Vec::new();
        // Deepest first; level and node in one word. A node enters the heap once.
        let mut heap = BinaryHeap::new();
        let word = |level: u32, node: Node| u64::from(level) << 32 | u64::from(node.raw());
        let mut search = S::new(dom.node_count(), self.edges.len());
        for &node in nodes {
            let Some(level) = dom.level(node) else { continue };
            if search.queue(node) {
                heap.push(word(level, node));
            }
        }
        let mut gaps = Vec::new();
        while let Some(top) = heap.pop() {
            let (level, root) = ((top >> 32) as u32, Node::from_raw(top as u32));
            let (first, end) = self.range(dom, root);
            search.cover(first, end, &mut gaps);
            for (first, end) in gaps.drain(..) {
                for at in self.levels.below(first as usize, end as usize, level + 1) {
                    let (_, to) = self.edges[at];
                    if !search.meet(to) || !keep(to) {
                        continue;
                    }
                    found.push(to);
                    if search.queue(to) {
                        heap.push(word(self.levels.key(at), to));
                    }
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// A [`Sparse`] search is used if the graph has more than this many nodes per start node.
const SPARSE: usize = 64;

/// The nodes and intervals of edges that a search has seen.
///
/// A new interval contains older ones or is disjoint from them; intervals never cross. So a walk
/// from left to right over a new interval finds the older ones inside it, and these need not be
/// removed.
trait Search {
    fn new(nodes: usize, edges: usize) -> Self;

    /// Adds a node to search from; true if it is new.
    fn queue(&mut self, node: Node) -> bool;

    /// Adds a node that an edge leads to; true if it is new.
    fn meet(&mut self, node: Node) -> bool;

    /// The first interval that starts in `at..end`, and the end of the longest that starts there.
    fn next(&self, at: u32, end: u32) -> Option<(u32, u32)>;

    fn insert(&mut self, first: u32, end: u32);

    /// Adds `first..end` and appends to `gaps` the parts of it that are new.
    fn cover(&mut self, first: u32, end: u32, gaps: &mut Vec<(u32, u32)>) {
        let mut at = first;
        while at < end {
            let Some((next, behind)) = self.next(at, end) else {
                gaps.push((at, end));
                break;
            };
            if at < next {
                gaps.push((at, next));
            }
            at = behind;
        }
        if first < end {
            self.insert(first, end);
        }
    }
}

/// Tables for all nodes and edges of the graph.
struct Dense {
    queued: NodeSet,
    met: NodeSet,
    starts: BitSet,
    /// End of the longest interval that starts here.
    ends: Vec<u32>,
}

impl Search for Dense {
    fn new(nodes: usize, edges: usize) -> Self {
        Self {
            queued: NodeSet::new(nodes),
            met: NodeSet::new(nodes),
            starts: BitSet::new(edges),
            ends: vec![0; edges],
        }
    }

    fn queue(&mut self, node: Node) -> bool {
        self.queued.insert(node)
    }

    fn meet(&mut self, node: Node) -> bool {
        self.met.insert(node)
    }

    fn next(&self, at: u32, end: u32) -> Option<(u32, u32)> {
        let next = self.starts.next_member(at as usize, end as usize)?;
        Some((next as u32, self.ends[next]))
    }

    fn insert(&mut self, first: u32, end: u32) {
        self.starts.insert(first as usize);
        self.ends[first as usize] = end;
    }
}

/// Hash and tree sets that grow with what the search has seen.
struct Sparse {
    queued: FxHashSet<Node>,
    met: FxHashSet<Node>,
    /// Ends by start.
    intervals: BTreeMap<u32, u32>,
}

impl Search for Sparse {
    fn new(_: usize, _: usize) -> Self {
        Self { queued: FxHashSet::default(), met: FxHashSet::default(), intervals: BTreeMap::new() }
    }

    fn queue(&mut self, node: Node) -> bool {
        self.queued.insert(node)
    }

    fn meet(&mut self, node: Node) -> bool {
        self.met.insert(node)
    }

    fn next(&self, at: u32, end: u32) -> Option<(u32, u32)> {
        self.intervals.range(at..end).next().map(|(&first, &end)| (first, end))
    }

    fn insert(&mut self, first: u32, end: u32) {
        self.intervals.insert(first, end);
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    use super::{Dense, DominanceFrontier, Node, Sparse};
    use crate::dom::DomTree;
    use crate::testing::random::{any_graph, structured};

    #[test]
    fn both_searches_find_the_same() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut found = 0;
        for seed in 0..600 {
            let cfg = match seed % 2 {
                0 => any_graph(seed, 40),
                _ => structured(seed, 200),
            };
            let dom = DomTree::new(&cfg);
            let joins = DominanceFrontier::new(&cfg, &dom).joins;
            let starts: Vec<Node> = (0..rng.random_range(1..5))
                .map(|_| Node::new(rng.random_range(0..cfg.node_count())))
                .collect();
            let odd = |node: Node| !node.index().is_multiple_of(3);
            let dense = joins.search::<Dense>(&dom, &starts, &mut |node| odd(node));
            let sparse = joins.search::<Sparse>(&dom, &starts, &mut |node| odd(node));
            assert_eq!(dense, sparse, "seed {seed}");
            let dense = joins.search::<Dense>(&dom, &starts, &mut |_| true);
            assert_eq!(dense, joins.search::<Sparse>(&dom, &starts, &mut |_| true), "seed {seed}");
            found += dense.len();
        }
        assert!(found > 1000, "{found}");
    }
}
