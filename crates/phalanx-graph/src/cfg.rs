//! The control-flow graph: both directions in compressed sparse rows.
//!
//! Four vectors of 32-bit numbers hold the whole graph: the targets of all edges in source order
//! with an offset per source, and the sources of all edges in target order with an offset per
//! target. Successor lists keep the order of the terminator's operands and repeat a target that the
//! terminator repeats. Predecessor lists follow the *layout*: the order of blocks in the text,
//! which is that of their numbers until blocks are inserted.

mod diamond;
mod update;

use crate::bitset::BitSet;
use crate::graph::Graph;
use crate::node::Node;

pub use diamond::Diamond;

/// A control-flow graph in compressed sparse rows.
///
/// ```
/// use phalanx_graph::{Cfg, Node};
///
/// let n = Node::new;
/// // 0 branches to 1 and 2, which meet in 3.
/// let cfg = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(3)], vec![n(3)], vec![]]);
/// assert_eq!(cfg.successors(n(0)), [n(1), n(2)]);
/// assert_eq!(cfg.predecessors(n(3)), [n(1), n(2)]);
/// assert!(cfg.is_branch(n(0)) && !cfg.is_branch(n(1)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    entry: Node,
    /// Successors of `n`: `succ[succ_start[n]..succ_start[n + 1]]`.
    succ_start: Vec<u32>,
    succ: Vec<Node>,
    pred_start: Vec<u32>,
    pred: Vec<Node>,
    /// Nodes without successors, in the order of the layout; empty where that is the order of their
    /// numbers.
    exits: Vec<Node>,
    /// How many nodes without successors are not in the layout; these are the last ones.
    not_laid_out: u32,
}

impl Cfg {
    /// The graph whose node `i` has the `i`-th list as its successors.
    ///
    /// # Panics
    /// If a successor or the entry is not a node, or a count does not fit 32 bits.
    pub fn new<L>(entry: Node, lists: impl IntoIterator<Item = L>) -> Self
    where
        L: IntoIterator<Item = Node>,
    {
        Self::with_layout(entry, lists, &[])
    }

    /// As [`new`](Self::new), with the nodes laid out in another order than that of their numbers.
    /// Nodes that are not in the layout come last.
    ///
    /// # Panics
    /// As [`new`](Self::new); also if the layout names a node that the graph does not have, or
    /// names a node twice.
    pub fn with_layout<L>(entry: Node, lists: impl IntoIterator<Item = L>, layout: &[Node]) -> Self
    where
        L: IntoIterator<Item = Node>,
    {
        let lists = lists.into_iter();
        let mut succ_start = Vec::with_capacity(lists.size_hint().0 + 1);
        let mut succ = Vec::with_capacity(2 * lists.size_hint().0);
        succ_start.push(0);
        for list in lists {
            succ.extend(list);
            succ_start.push(offset(succ.len()));
        }
        Self::from_rows(entry, succ_start, succ, layout)
    }

    /// Builds the predecessor rows by counting, which leaves each row in the order of the layout.
    fn from_rows(entry: Node, succ_start: Vec<u32>, succ: Vec<Node>, layout: &[Node]) -> Self {
        let n = succ_start.len() - 1;
        assert!(n < u32::MAX as usize, "{n} nodes do not fit 32-bit node numbers");
        assert!(entry.index() < n, "the entry {entry} is not one of the {n} nodes");
        let mut pred_start = vec![0u32; n + 1];
        for &target in &succ {
            assert!(target.index() < n, "the successor {target} is not one of the {n} nodes");
            pred_start[target.index()] += 1;
        }
        // After this pass `pred_start[t]` is the end of row `t`; filling backwards makes it the
        // start.
        let mut end = 0;
        for count in &mut pred_start {
            end += *count;
            *count = end;
        }
        let mut pred = vec![Node::default(); succ.len()];
        let mut fill = |source: usize| {
            let row = succ_start[source] as usize..succ_start[source + 1] as usize;
            for &target in &succ[row] {
                let slot = &mut pred_start[target.index()];
                *slot -= 1;
                pred[*slot as usize] = Node::from_raw(source as u32);
            }
        };
        let (mut exits, mut not_laid_out) = (Vec::new(), 0);
        if layout.is_empty() {
            (0..n).rev().for_each(fill);
        } else {
            let mut others = BitSet::new(n);
            (0..n).for_each(|node| {
                others.insert(node);
            });
            for node in layout {
                assert!(others.remove(node.index()), "{node} is laid out twice, or is no node");
            }
            let order: Vec<Node> =
                layout.iter().copied().chain(others.iter().map(Node::new)).collect();
            order.iter().rev().for_each(|node| fill(node.index()));
            let is_exit = |node: &Node| succ_start[node.index()] == succ_start[node.index() + 1];
            not_laid_out = order[layout.len()..].iter().filter(|node| is_exit(node)).count() as u32;
            exits = unless_by_number(order.into_iter().filter(is_exit).collect());
        }
        Self { entry, succ_start, succ, pred_start, pred, exits, not_laid_out }
    }

    /// How many nodes there are.
    #[inline]
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.succ_start.len() - 1
    }

    /// How many edges there are, parallel edges counted each.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.succ.len()
    }

    /// The nodes in increasing order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator + use<> {
        (0..self.node_count() as u32).map(Node::from_raw)
    }

    /// The entry node.
    #[inline]
    #[must_use]
    pub fn entry(&self) -> Node {
        self.entry
    }

    /// Targets of the edges that leave the node, in order, with multiplicity.
    #[inline]
    #[must_use]
    pub fn successors(&self, node: Node) -> &[Node] {
        let i = node.index();
        &self.succ[self.succ_start[i] as usize..self.succ_start[i + 1] as usize]
    }

    /// Nodes without successors, in the order of the layout.
    pub fn exits(&self) -> impl Iterator<Item = Node> + '_ {
        let by_number = if self.exits.is_empty() { self.node_count() } else { 0 };
        let by_number = (0..by_number).map(Node::new).filter(|n| self.successors(*n).is_empty());
        self.exits.iter().copied().chain(by_number)
    }

    /// Sources of the edges that enter the node, in the order of the layout, with multiplicity.
    #[inline]
    #[must_use]
    pub fn predecessors(&self, node: Node) -> &[Node] {
        let i = node.index();
        &self.pred[self.pred_start[i] as usize..self.pred_start[i + 1] as usize]
    }

    /// Whether control can leave the node in at least two distinct directions.
    ///
    /// A terminator whose targets all coincide is no branch.
    #[must_use]
    pub fn is_branch(&self, node: Node) -> bool {
        match self.successors(node) {
            [] => false,
            [first, rest @ ..] => rest.iter().any(|s| s != first),
        }
    }
}

/// The stored form of the list of exits: empty if the exits are in the order of their numbers.
fn unless_by_number(exits: Vec<Node>) -> Vec<Node> {
    if exits.is_sorted() { Vec::new() } else { exits }
}

fn offset(len: usize) -> u32 {
    assert!(len <= u32::MAX as usize, "{len} edges do not fit 32-bit offsets");
    len as u32
}

impl Graph for Cfg {
    #[inline]
    fn node_count(&self) -> usize {
        self.node_count()
    }
    #[inline]
    fn entry(&self) -> Node {
        self.entry
    }
    #[inline]
    fn successors(&self, node: Node) -> &[Node] {
        self.successors(node)
    }
    #[inline]
    fn predecessors(&self, node: Node) -> &[Node] {
        self.predecessors(node)
    }
}

/// Collects nodes and edges in any order, then makes a [`Cfg`].
///
/// The edges of one source keep the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct CfgBuilder {
    nodes: usize,
    edges: Vec<(Node, Node)>,
}

impl CfgBuilder {
    /// No nodes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nodes `0..nodes` and no edges yet.
    #[must_use]
    pub fn with_nodes(nodes: usize) -> Self {
        Self { nodes, edges: Vec::new() }
    }

    /// How many nodes there are so far.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes
    }

    /// Adds a node and returns it.
    pub fn add_node(&mut self) -> Node {
        self.nodes += 1;
        Node::new(self.nodes - 1)
    }

    /// Adds an edge; an edge that is there already becomes parallel.
    pub fn add_edge(&mut self, from: Node, to: Node) {
        self.edges.push((from, to));
    }

    /// The finished graph.
    ///
    /// # Panics
    /// If an end of an edge or the entry is not a node.
    #[must_use]
    pub fn build(mut self, entry: Node) -> Cfg {
        self.edges.sort_by_key(|&(from, _)| from);
        let mut succ_start = Vec::with_capacity(self.nodes + 1);
        succ_start.push(0);
        for (i, &(from, _)) in self.edges.iter().enumerate() {
            assert!(from.index() < self.nodes, "the source {from} is not a node");
            succ_start.resize(from.index() + 1, offset(i));
        }
        succ_start.resize(self.nodes + 1, offset(self.edges.len()));
        let succ = self.edges.into_iter().map(|(_, to)| to).collect();
        Cfg::from_rows(entry, succ_start, succ, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(i: usize) -> Node {
        Node::new(i)
    }

    #[test]
    fn rows_keep_order_and_multiplicity() {
        let cfg = Cfg::new(n(0), [vec![n(2), n(1), n(2)], vec![n(1), n(1)], vec![]]);
        assert_eq!(cfg.successors(n(0)), [n(2), n(1), n(2)]);
        assert_eq!(cfg.predecessors(n(1)), [n(0), n(1), n(1)]);
        assert_eq!(cfg.predecessors(n(2)), [n(0), n(0)]);
        assert!(cfg.predecessors(n(0)).is_empty());
        assert_eq!(cfg.edge_count(), 5);
        assert!(cfg.is_branch(n(0)));
        assert!(!cfg.is_branch(n(1)), "equal targets are no branch");
        assert!(!cfg.is_branch(n(2)));
    }

    #[test]
    fn predecessors_and_exits_follow_the_layout() {
        let lists = [vec![n(2), n(3)], vec![n(4)], vec![n(4)], vec![], vec![], vec![n(4)]];
        let layout = [0, 2, 4, 1, 3].map(n);
        let cfg = Cfg::with_layout(n(0), lists, &layout);
        assert_eq!(cfg.predecessors(n(4)), [n(2), n(1), n(5)]);
        assert!(cfg.exits().eq([n(4), n(3)]));
    }

    #[test]
    fn builder_sorts_edges_by_source_and_keeps_their_order() {
        let mut builder = CfgBuilder::with_nodes(3);
        let last = builder.add_node();
        builder.add_edge(n(2), n(1));
        builder.add_edge(n(0), last);
        builder.add_edge(n(0), n(1));
        builder.add_edge(n(0), n(1));
        let cfg = builder.build(n(0));
        let same = Cfg::new(n(0), [vec![n(3), n(1), n(1)], vec![], vec![n(1)], vec![]]);
        assert_eq!(cfg, same);
    }

    #[test]
    #[should_panic(expected = "is not one of the 1 nodes")]
    fn a_foreign_successor_is_refused() {
        let _ = Cfg::new(n(0), [[n(1)]]);
    }
}
