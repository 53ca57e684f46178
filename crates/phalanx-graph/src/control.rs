//! Control dependence, plain and iterated.
//!
//! `x` is control dependent on the edge `b -> a` when `x` post-dominates `a` (or is `a`) and does
//! not strictly post-dominate `b`: taking the edge decides that `x` will run, and `b` could have
//! decided otherwise (Ferrante, Ottenstein and Warren, *The Program Dependence Graph and Its Use in
//! Optimization*, 1987). The iterated control dependences of `x` are the closure: the branches that
//! `x` depends on, those that these depend on, and so on.
//!
//! ```text
//!     0: branch          edge 0 -> 1 controls 1; edge 0 -> 2 controls 2
//!    / \                 3 post-dominates 0: nothing controls it
//!   1   2                if 3 branched back to 0, edge 3 -> 0 would control 0 and 3
//!    \ /
//!     3
//! ```
//!
//! This is the dominance frontier of the reversed graph, except that each edge is remembered.
//! [`crate::frontier`] explains how it is represented and iterated.
//!
//! Only edges from a reachable node with two distinct successors count. In an infinite loop the
//! virtual edge to the exit would make a branch of the loop's root, although the program takes no
//! decision there.
//!
//! Control dependence is no test for convergence: a block that depends on a divergent branch need
//! not be a place where its threads meet, and conversely.

use crate::cfg::Cfg;
use crate::dom::DomTree;
use crate::frontier::JoinEdges;
use crate::node::Node;
use crate::postdom::PostDomTree;

/// The control dependences of all nodes, enumerated on demand.
///
/// The post-dominator tree is passed to the queries: it must be the one that the dependences were
/// made with.
///
/// ```
/// use phalanx_graph::{Cfg, ControlDependence, DomTree, Node, PostDomTree};
///
/// let n = Node::new;
/// // A loop of 1 and 2, left from 1 for 3.
/// let cfg = Cfg::new(n(0), [vec![n(1)], vec![n(2), n(3)], vec![n(1)], vec![]]);
/// let postdom = PostDomTree::new(&cfg);
/// let control = ControlDependence::new(&cfg, &DomTree::new(&cfg), &postdom);
/// // Whether 2 runs, and 1 runs again, is decided in 1; that 3 runs is certain.
/// assert!(control.controlling_edges(&postdom, n(2)).eq([(n(1), n(2))]));
/// assert_eq!(control.controllers(&postdom, n(1)), [n(1)]);
/// assert!(control.controllers(&postdom, n(3)).is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlDependence {
    /// Edges of the reversed graph: from the target of a branch to the branch.
    joins: JoinEdges,
}

impl ControlDependence {
    /// Computes the dependences of the graph whose trees are given. `O(n + m)`.
    #[must_use]
    pub fn new(cfg: &Cfg, dom: &DomTree, postdom: &PostDomTree) -> Self {
        let exit = postdom.virtual_exit();
        let branches = |node| if node == exit { &[] } else { cfg.predecessors(node) };
        let decides = |node| dom.is_reachable(node) && cfg.is_branch(node);
        Self { joins: JoinEdges::new(postdom.as_dom_tree(), branches, decides) }
    }

    /// The edges, branch first, that the node is control dependent on. Parallel edges once.
    pub fn controlling_edges<'a>(
        &'a self,
        postdom: &PostDomTree,
        node: Node,
    ) -> impl Iterator<Item = (Node, Node)> + use<'a> {
        self.joins.of(postdom.as_dom_tree(), node).map(|(target, branch)| (branch, target))
    }

    /// The branches that the node is control dependent on, sorted.
    #[must_use]
    pub fn controllers(&self, postdom: &PostDomTree, node: Node) -> Vec<Node> {
        let mut branches: Vec<Node> =
            self.controlling_edges(postdom, node).map(|(branch, _)| branch).collect();
        branches.sort_unstable();
        branches.dedup();
        branches
    }

    /// The branches that the nodes depend on directly or through other branches, sorted.
    #[must_use]
    pub fn iterated_controllers(
        &self,
        postdom: &PostDomTree,
        nodes: impl IntoIterator<Item = Node>,
    ) -> Vec<Node> {
        self.joins.iterated(postdom.as_dom_tree(), nodes, |_| true)
    }
}

/// The nodes that are control dependent on the edge `branch -> target`, from the target up.
///
/// Linear in the answer. Empty when the target post-dominates the branch.
pub fn controlled_by_edge(
    postdom: &PostDomTree,
    branch: Node,
    target: Node,
) -> impl Iterator<Item = Node> {
    let stop = postdom.ipdom(branch);
    let first = (Some(target) != stop).then_some(target);
    std::iter::successors(first, |&node| postdom.ipdom(node))
        .take_while(move |&node| Some(node) != stop)
}
