//! Post-dominator trees.
//!
//! `a` post-dominates `b` when every path from `b` to the end of the function visits `a`. The tree
//! is the dominator tree of the reversed graph, entered at a **virtual exit** that precedes every
//! root:
//!
//! ```text
//!      entry                        virtual exit            roots: ret, spin
//!      /   \                         /   |    \
//!    left  right --> spin <-+      ret entry  spin
//!      \   /           \____|       |           |
//!       ret                        left       right?  no: right also reaches ret
//! ```
//!
//! **Roots.** Every node without successors is a root. Nodes from which none of those can be
//! reached (they can only run into infinite loops) need further roots, one in each bottom strongly
//! connected component, or they would be in no tree. Which node of the component it is, is a
//! convention, and it changes the tree. The convention here is LLVM's, so that trees can be
//! compared: take the first node, in number order, that reaches no root yet; search depth-first
//! from it, visiting successors with larger numbers first; the node met last becomes a root.
//! Repeat. At the end drop each such root that reaches another root. What remains is exactly one
//! root per bottom component.
//!
//! Each repetition searches anew, which is quadratic on a long chain of infinite loops. Therefore
//! the searches share a budget that is linear in the graph; when it is spent, the searches start
//! only from nodes inside bottom components, where the choice of the remaining roots costs linear
//! time altogether. Any choice of roots is sound.
//!
//! Every node of the graph is in the tree, also those that no path from the entry reaches.

mod update;

use crate::bitset::BitSet;
use crate::cfg::Cfg;
use crate::dfs::NONE;
use crate::dom::{Children, DomTree};
use crate::graph::Graph;
use crate::node::Node;

/// The post-dominator tree of a graph, below a virtual exit.
///
/// ```
/// use phalanx_graph::{Cfg, Node, PostDomTree};
///
/// let n = Node::new;
/// // 0 branches to a return and to an endless loop.
/// let cfg = Cfg::new(n(0), [vec![n(1), n(2)], vec![], vec![n(2)]]);
/// let postdom = PostDomTree::new(&cfg);
/// assert_eq!(postdom.roots(), [n(1), n(2)]);
/// assert_eq!(postdom.ipdom(n(0)), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostDomTree {
    /// The dominator tree of the reversed graph. Its root is one number above the graph's nodes.
    tree: DomTree,
    roots: Vec<Node>,
}

impl PostDomTree {
    /// Computes the tree.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let roots = find_roots(cfg);
        let tree = DomTree::new(&Reversed { cfg, roots: &roots });
        Self { tree, roots }
    }

    /// The nodes below the virtual exit by convention: those without successors in layout order,
    /// then one for each way to run forever. The order is LLVM's too.
    #[must_use]
    pub fn roots(&self) -> &[Node] {
        &self.roots
    }

    /// The virtual exit: the number after the graph's last node.
    ///
    /// It may be passed to the queries below; it post-dominates everything.
    #[must_use]
    pub fn virtual_exit(&self) -> Node {
        self.tree.root()
    }

    /// The closest strict post-dominator. `None` when that is the virtual exit.
    #[inline]
    #[must_use]
    pub fn ipdom(&self, node: Node) -> Option<Node> {
        self.tree.idom(node).filter(|&up| up != self.virtual_exit())
    }

    /// Whether every path from `b` to the virtual exit visits `a`. Constant time.
    #[inline]
    #[must_use]
    pub fn post_dominates(&self, a: Node, b: Node) -> bool {
        self.tree.dominates(a, b)
    }

    /// Whether `a` post-dominates `b` and is not `b`.
    #[inline]
    #[must_use]
    pub fn strictly_post_dominates(&self, a: Node, b: Node) -> bool {
        self.tree.strictly_dominates(a, b)
    }

    /// Distance from the virtual exit: roots have 1.
    #[inline]
    #[must_use]
    pub fn level(&self, node: Node) -> u32 {
        self.tree.level(node).unwrap_or(0)
    }

    /// The nodes whose closest strict post-dominator is `node`.
    #[must_use]
    pub fn children(&self, node: Node) -> Children<'_> {
        self.tree.children(node)
    }

    /// The node and everything that it post-dominates, each before its children.
    #[must_use]
    pub fn subtree(&self, node: Node) -> &[Node] {
        self.tree.subtree(node)
    }

    /// The tree as a dominator tree of the reversed graph, the virtual exit included.
    #[must_use]
    pub fn as_dom_tree(&self) -> &DomTree {
        &self.tree
    }
}

/// The reversed graph with the virtual exit as its entry.
///
/// The edges from the virtual exit are in its successor list only: each root is first met from
/// there (no root reaches another), so the edge is a tree edge, which the dominator algorithm
/// counts anyway.
struct Reversed<'a> {
    cfg: &'a Cfg,
    roots: &'a [Node],
}

impl Graph for Reversed<'_> {
    fn node_count(&self) -> usize {
        self.cfg.node_count() + 1
    }
    fn entry(&self) -> Node {
        Node::new(self.cfg.node_count())
    }
    #[inline]
    fn successors(&self, node: Node) -> &[Node] {
        if node.index() == self.cfg.node_count() { self.roots } else { self.cfg.predecessors(node) }
    }
    #[inline]
    fn predecessors(&self, node: Node) -> &[Node] {
        self.cfg.successors(node)
    }
}

/// The roots by the convention of the module documentation.
fn find_roots(cfg: &Cfg) -> Vec<Node> {
    let mut search = RootSearch::new(cfg);
    let mut roots = cfg.exits().collect::<Vec<_>>();
    roots.iter().for_each(|&root| search.mark_reaching(root));
    if search.left > 0 {
        let budget = 16 * (cfg.node_count() + cfg.edge_count()) + (1 << 16);
        search.endless_roots(&mut roots, budget);
    }
    roots
}

struct RootSearch<'a> {
    cfg: &'a Cfg,
    /// Nodes from which a root that was chosen can be reached.
    reaches: BitSet,
    /// How many nodes are not in `reaches`.
    left: usize,
    stack: Vec<Node>,
}

impl<'a> RootSearch<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        let n = cfg.node_count();
        Self { cfg, reaches: BitSet::new(n), left: n, stack: Vec::new() }
    }

    fn mark_reaching(&mut self, root: Node) {
        self.stack.push(root);
        while let Some(node) = self.stack.pop() {
            if self.reaches.insert(node.index()) {
                self.left -= 1;
                let preds = self.cfg.predecessors(node).iter();
                self.stack.extend(preds.filter(|p| !self.reaches.contains(p.index())));
            }
        }
    }

    /// Chooses the roots for the nodes that reach none of `roots`.
    ///
    /// These nodes are closed under successors, so a search from one of them stays among them.
    fn endless_roots(&mut self, roots: &mut Vec<Node>, mut budget: usize) {
        let bottom = bottom_components(self.cfg, &self.reaches);
        let exits = roots.len();
        let mut met = vec![NONE; self.cfg.node_count()];
        let mut turn = 0;
        for start in self.cfg.nodes() {
            if self.left == 0 {
                break;
            }
            if self.reaches.contains(start.index())
                || (budget == 0 && !bottom.contains(start.index()))
            {
                continue;
            }
            let last = self.last_met(start, turn, &mut met, &mut budget);
            turn += 1;
            roots.push(last);
            self.mark_reaching(last);
        }
        // Outside the bottom components a root reaches another one. Dropping it moves the last root
        // into its place.
        let mut at = exits;
        while at < roots.len() {
            if bottom.contains(roots[at].index()) {
                at += 1;
            } else {
                roots.swap_remove(at);
            }
        }
    }

    /// The node that a depth-first search from `start` meets last.
    fn last_met(&mut self, start: Node, turn: u32, met: &mut [u32], budget: &mut usize) -> Node {
        let mut last = start;
        let mut succs = Vec::new();
        self.stack.push(start);
        while let Some(node) = self.stack.pop() {
            if met[node.index()] == turn {
                continue;
            }
            met[node.index()] = turn;
            last = node;
            succs.clear();
            succs.extend_from_slice(self.cfg.successors(node));
            succs.sort_unstable();
            *budget = budget.saturating_sub(1 + succs.len());
            self.stack.extend(succs.iter().filter(|s| met[s.index()] != turn));
        }
        last
    }
}

/// The nodes of the strongly connected components that no edge leaves, among those outside `skip`.
///
/// Tarjan's algorithm with an explicit stack. `skip` must be closed under predecessors.
fn bottom_components(cfg: &Cfg, skip: &BitSet) -> BitSet {
    const DONE: u32 = NONE - 1;
    let n = cfg.node_count();
    let mut bottom = BitSet::new(n);
    // The order of discovery while the node's component is open, then `DONE`.
    let mut number = vec![NONE; n];
    let mut low = vec![NONE; n];
    // Whether an edge from the node leaves its component.
    let mut leaks = BitSet::new(n);
    let mut open: Vec<Node> = Vec::new();
    let mut frames: Vec<(Node, u32)> = Vec::new();
    let mut next = 0;
    for start in cfg.nodes() {
        if skip.contains(start.index()) || number[start.index()] != NONE {
            continue;
        }
        frames.push((start, 0));
        while let Some((node, tried)) = frames.last_mut() {
            let (node, v) = (*node, node.index());
            if *tried == 0 {
                number[v] = next;
                low[v] = next;
                next += 1;
                open.push(node);
            }
            if let Some(&s) = cfg.successors(node).get(*tried as usize) {
                *tried += 1;
                match number[s.index()] {
                    NONE => frames.push((s, 0)),
                    DONE => {
                        leaks.insert(v);
                    }
                    number => low[v] = low[v].min(number),
                }
                continue;
            }
            frames.pop();
            let above = frames.last().map(|&(up, _)| up.index());
            if low[v] < number[v] {
                // Only the first node of a component lacks a node above it.
                if let Some(up) = above {
                    low[up] = low[up].min(low[v]);
                }
                continue;
            }
            let first = open.iter().rposition(|&member| member == node).unwrap_or(0);
            let closed = !open[first..].iter().any(|member| leaks.contains(member.index()));
            for member in open.drain(first..) {
                number[member.index()] = DONE;
                if closed {
                    bottom.insert(member.index());
                }
            }
            if let Some(up) = above {
                leaks.insert(up);
            }
        }
    }
    bottom
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random, twins};

    #[test]
    fn without_budget_each_way_to_run_forever_still_has_one_root() {
        let mut endless = 0;
        for seed in 0..2000 {
            let cfg = random::any_graph(seed, 30);
            let mut search = RootSearch::new(&cfg);
            let mut roots: Vec<Node> =
                cfg.nodes().filter(|&n| cfg.successors(n).is_empty()).collect();
            let exits = roots.len();
            roots.iter().for_each(|&root| search.mark_reaching(root));
            search.endless_roots(&mut roots, 0);
            endless += roots.len() - exits;
            // All reach a root, no root reaches another.
            let reaching = twins::reached(roots.iter().copied(), None, |n| cfg.predecessors(n));
            assert_eq!(reaching.len(), cfg.node_count(), "seed {seed}");
            for &root in &roots {
                let ahead = twins::reached([root], None, |n| cfg.successors(n));
                assert_eq!(roots.iter().filter(|r| ahead.contains(r)).count(), 1, "seed {seed}");
            }
        }
        assert!(endless > 500, "{endless} endless roots");
    }
}
