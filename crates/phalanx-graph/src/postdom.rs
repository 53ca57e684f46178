//! Post-dominator trees.
//!
//! `a` post-dominates `b` when every path from `b` to the end of the function visits `a`. The tree is
//! the dominator tree of the reversed graph, entered at a **virtual exit** that precedes every root:
//!
//! ```text
//!      entry                        virtual exit            roots: ret, spin
//!      /   \                         /   |    \
//!    left  right --> spin <-+      ret entry  spin
//!      \   /           \____|       |           |
//!       ret                        left       right?  no: right also reaches ret
//! ```
//!
//! **Roots.** Every node without successors is a root. Nodes from which none of those can be reached
//! (they can only run into infinite loops) need further roots, one in each bottom strongly connected
//! component, or they would be in no tree. Which node of the component it is, is a convention, and it
//! changes the tree. The convention here is LLVM's, so that trees can be compared: take the first
//! node, in number order, that reaches no root yet; search depth-first from it, visiting successors
//! with larger numbers first; the node met last becomes a root. Repeat. At the end drop each such root
//! that reaches another root. What remains is exactly one root per bottom component: the first one
//! that was chosen there.
//!
//! Each repetition searches anew, which is quadratic on a long chain of infinite loops. Therefore the
//! searches share a budget that is linear in the graph; when it is spent, the searches start only
//! from nodes inside bottom components, where the choice of the remaining roots costs linear time
//! altogether. Any choice of roots is sound.
//!
//! Every node of the graph is in the tree, also those that no path from the entry reaches.

use crate::bitset::BitSet;
use crate::cfg::Cfg;
use crate::dfs::NONE;
use crate::dom::{Children, DomTree};
use crate::graph::Graph;
use crate::node::Node;

/// The post-dominator tree of a graph, below a virtual exit.
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
        let last_first: Vec<Node> = roots.iter().rev().copied().collect();
        let tree = DomTree::last_successor_first(&Reversed { cfg, roots: &last_first });
        Self { tree, roots }
    }

    /// The nodes below the virtual exit by convention: those without successors in number order, then
    /// one for each way to run forever.
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

    /// The closest node that post-dominates both. `None` when that is the virtual exit.
    #[must_use]
    pub fn common_post_dominator(&self, a: Node, b: Node) -> Option<Node> {
        self.tree.common_dominator(a, b).filter(|&up| up != self.virtual_exit())
    }

    /// The tree as a dominator tree of the reversed graph, the virtual exit included.
    #[must_use]
    pub fn as_dom_tree(&self) -> &DomTree {
        &self.tree
    }
}

/// The reversed graph with the virtual exit as its entry.
///
/// The edges from the virtual exit are in its successor list only: each root is first met from there
/// (no root reaches another), so the edge is a tree edge, which the dominator algorithm counts anyway.
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
    let mut roots = Vec::new();
    for node in cfg.nodes() {
        if cfg.successors(node).is_empty() {
            roots.push(node);
            search.mark_reaching(node);
        }
    }
    if search.left > 0 {
        search.endless_roots(&mut roots);
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
    fn endless_roots(&mut self, roots: &mut Vec<Node>) {
        let components = BottomComponents::new(self.cfg, &self.reaches);
        let mut chosen = vec![false; components.count];
        let mut met = vec![NONE; self.cfg.node_count()];
        let mut budget = 16 * (self.cfg.node_count() + self.cfg.edge_count()) + (1 << 16);
        let mut turn = 0;
        for start in self.cfg.nodes() {
            if self.left == 0 {
                break;
            }
            let bottom = components.of[start.index()];
            if self.reaches.contains(start.index()) || (budget == 0 && bottom == NONE) {
                continue;
            }
            let last = self.last_met(start, turn, &mut met, &mut budget);
            turn += 1;
            // A root outside the bottom components would be dropped at the end.
            if let Some(seen) = chosen.get_mut(components.of[last.index()] as usize)
                && !std::mem::replace(seen, true)
            {
                roots.push(last);
            }
            self.mark_reaching(last);
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

/// The strongly connected components that no edge leaves, among the nodes outside `skip`.
struct BottomComponents {
    /// Component by node, `NONE` for nodes of no bottom component.
    of: Vec<u32>,
    count: usize,
}

impl BottomComponents {
    /// Tarjan's algorithm with an explicit stack.
    ///
    /// `skip` must be closed under predecessors.
    fn new(cfg: &Cfg, skip: &BitSet) -> Self {
        const DONE: u32 = NONE - 1;
        let n = cfg.node_count();
        let mut of = vec![NONE; n];
        let mut count = 0;
        // Number of the node while it is on `open`, then `DONE`.
        let mut number = vec![NONE; n];
        let mut low = vec![NONE; n];
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
                let v = node.index();
                if *tried == 0 {
                    number[v] = next;
                    low[v] = next;
                    next += 1;
                    open.push(*node);
                }
                if let Some(&s) = cfg.successors(*node).get(*tried as usize) {
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
                let node = *node;
                frames.pop();
                if low[v] == number[v] {
                    let first = open.iter().rposition(|&m| m == node).unwrap_or(0);
                    let bottom = !open[first..].iter().any(|m| leaks.contains(m.index()));
                    for member in open.drain(first..) {
                        number[member.index()] = DONE;
                        if bottom {
                            of[member.index()] = count as u32;
                        }
                    }
                    count += usize::from(bottom);
                    if let Some((up, _)) = frames.last() {
                        leaks.insert(up.index());
                    }
                } else if let Some((up, _)) = frames.last() {
                    low[up.index()] = low[up.index()].min(low[v]);
                }
            }
        }
        Self { of, count }
    }
}
