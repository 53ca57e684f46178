//! Depth-first numbering.
//!
//! One iterative search from the entry gives every node its preorder number, the last preorder
//! number in its subtree (so that ancestry in the search tree is an interval test) and its
//! postorder number. Two visiting orders are offered: first successor first, which is the order
//! that people read and that dominator trees print in, and last successor first, which is the order
//! in which LLVM's cycle analysis searches. Irreducible cycle hierarchies depend on the choice.
//!
//! `O(n + m)` time, `O(n)` memory, no recursion.

use crate::graph::Graph;
use crate::node::Node;
use crate::scratch::refill;

/// Stands for "not reached" in tables of preorder numbers.
pub(crate) const NONE: u32 = u32::MAX;

/// A depth-first numbering of the nodes reachable from the entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dfs {
    preorder: Preorder,
    post: Vec<u32>,
    postorder: Vec<Node>,
}

/// The part of a depth-first numbering that says when nodes were met.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Preorder {
    /// First and last preorder number in the node's subtree; `(NONE, 0)` when unreachable.
    pub(crate) interval: Vec<(u32, u32)>,
    pub(crate) nodes: Vec<Node>,
}

/// A node on the way from the entry and how many of its edges have been tried.
pub(crate) type Frame = (Node, u32);

impl Preorder {
    /// Searches; calls for each node when the search leaves it.
    pub(crate) fn search<G: Graph + ?Sized, const LAST_FIRST: bool>(
        &mut self,
        graph: &G,
        stack: &mut Vec<Frame>,
        mut left: impl FnMut(Node),
    ) {
        let Self { interval, nodes } = self;
        refill(interval, graph.node_count(), (NONE, 0));
        nodes.clear();
        stack.clear();
        let entry = graph.entry();
        interval[entry.index()].0 = 0;
        nodes.push(entry);
        stack.push((entry, 0));
        while let Some((node, tried)) = stack.last_mut() {
            let node = *node;
            let succs = graph.successors(node);
            let mut child = None;
            while (*tried as usize) < succs.len() {
                let at = *tried as usize;
                *tried += 1;
                let s = succs[if LAST_FIRST { succs.len() - 1 - at } else { at }];
                if interval[s.index()].0 == NONE {
                    child = Some(s);
                    break;
                }
            }
            if let Some(s) = child {
                interval[s.index()].0 = nodes.len() as u32;
                nodes.push(s);
                stack.push((s, 0));
            } else {
                stack.pop();
                interval[node.index()].1 = nodes.len() as u32 - 1;
                left(node);
            }
        }
    }
}

impl Dfs {
    /// Searches with the first successor first.
    #[must_use]
    pub fn new<G: Graph + ?Sized>(graph: &G) -> Self {
        Self::search::<G, false>(graph)
    }

    /// Searches with the last successor first.
    #[must_use]
    pub fn last_successor_first<G: Graph + ?Sized>(graph: &G) -> Self {
        Self::search::<G, true>(graph)
    }

    fn search<G: Graph + ?Sized, const LAST_FIRST: bool>(graph: &G) -> Self {
        let n = graph.node_count();
        let mut post = vec![NONE; n];
        let mut postorder = Vec::with_capacity(n);
        let mut preorder = Preorder { interval: Vec::new(), nodes: Vec::with_capacity(n) };
        preorder.search::<G, LAST_FIRST>(graph, &mut Vec::new(), |node| {
            post[node.index()] = postorder.len() as u32;
            postorder.push(node);
        });
        Self { preorder, post, postorder }
    }

    /// Whether a path from the entry reaches the node.
    #[inline]
    #[must_use]
    pub fn is_reachable(&self, node: Node) -> bool {
        self.preorder.interval[node.index()].0 != NONE
    }

    /// How many nodes are reachable.
    #[must_use]
    pub fn reachable_count(&self) -> usize {
        self.preorder.nodes.len()
    }

    /// When the search first met the node, counted from 0.
    #[inline]
    #[must_use]
    pub fn pre(&self, node: Node) -> Option<u32> {
        let pre = self.preorder.interval[node.index()].0;
        (pre != NONE).then_some(pre)
    }

    /// The largest preorder number in the node's subtree of the search tree.
    #[inline]
    #[must_use]
    pub fn last_descendant(&self, node: Node) -> Option<u32> {
        let (pre, last) = self.preorder.interval[node.index()];
        (pre != NONE).then_some(last)
    }

    /// When the search left the node, counted from 0.
    #[inline]
    #[must_use]
    pub fn post(&self, node: Node) -> Option<u32> {
        let post = self.post[node.index()];
        (post != NONE).then_some(post)
    }

    /// The position in reverse postorder, counted from 0.
    #[inline]
    #[must_use]
    pub fn rpo_index(&self, node: Node) -> Option<u32> {
        self.post(node).map(|post| self.postorder.len() as u32 - 1 - post)
    }

    /// Whether `a` is `b` or an ancestor of `b` in the search tree. False when one is unreachable.
    #[inline]
    #[must_use]
    pub fn is_ancestor(&self, a: Node, b: Node) -> bool {
        let (first, last) = self.preorder.interval[a.index()];
        let pre = self.preorder.interval[b.index()].0;
        first <= pre && pre <= last
    }

    /// The reachable nodes in the order in which the search met them.
    #[must_use]
    pub fn preorder(&self) -> &[Node] {
        &self.preorder.nodes
    }

    /// The reachable nodes in the order in which the search left them.
    #[must_use]
    pub fn postorder(&self) -> &[Node] {
        &self.postorder
    }

    /// The reachable nodes in reverse postorder: a topological order but for the edges that go back
    /// to an ancestor.
    pub fn rpo(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator {
        self.postorder.iter().rev().copied()
    }

    pub(crate) fn met(&self) -> &Preorder {
        &self.preorder
    }
}
