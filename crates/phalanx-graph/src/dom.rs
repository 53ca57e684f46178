//! Dominator trees.
//!
//! `a` dominates `b` when every path from the entry to `b` visits `a`. The relation is a tree on
//! the reachable nodes: each node but the entry has one closest strict dominator, its parent here.
//! An unreachable node is dominated by every node (no path reaches it) and dominates no reachable
//! one.
//!
//! **Algorithm.** Semi-NCA (Georgiadis, *Linear-Time Algorithms for Dominators and Related
//! Problems*, 2005, section 2.3; the semidominators are those of Lengauer and Tarjan 1979), all in
//! preorder numbers:
//!
//! 1. In decreasing preorder, `semi(i)` is the least number among the predecessors `p < i` and the
//!    semidominators on the search-tree path from each `p > i` up to its first ancestor `<= i`. The
//!    paths are compressed. The tree parent always counts as a predecessor, which is what lets a
//!    virtual root leave its edges out of the predecessor lists.
//! 2. In increasing preorder, `idom(i)` is the deepest ancestor of `parent(i)` in the tree built so
//!    far whose number is not above `semi(i)`.
//!
//! Step 2 climbs step by step, which is fastest on real code but quadratic on some graphs. When the
//! climbs together exceed a linear budget, they go on with skew-binary jump pointers (Myers 1983),
//! `O(log n)` each. So the whole is `O((n + m) log n)`, and linear in practice.
//!
//! **Layout.** A query is an interval test on the preorder of the dominator tree. Children of a
//! node stand in the order in which the depth-first search (first successor first) met them, and
//! are found from the preorder alone: the first child follows its parent, a sibling follows the
//! subtree before.

mod update;

use std::cell::Cell;

pub(crate) use update::inserted;

use crate::dfs::NONE;
use crate::graph::Graph;
use crate::node::Node;
use crate::scratch::{SCRATCH_KEPT, refill};

/// The dominator tree of a graph.
///
/// ```
/// use phalanx_graph::{Cfg, DomTree, Node};
///
/// let n = Node::new;
/// let cfg = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(3)], vec![n(3)], vec![]]);
/// let dom = DomTree::new(&cfg);
/// assert_eq!(dom.idom(n(3)), Some(n(0)));
/// assert!(dom.dominates(n(0), n(3)) && !dom.dominates(n(1), n(3)));
/// assert!(dom.children(n(0)).eq([n(1), n(3), n(2)]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomTree {
    /// The parent's raw number; `NONE` for the root and for unreachable nodes.
    idom: Vec<u32>,
    /// Half-open interval of positions in `preorder` that the subtree covers; `(NONE, 0)` when
    /// unreachable.
    interval: Vec<(u32, u32)>,
    /// Distance from the root, by position in `preorder`.
    level: Vec<u32>,
    preorder: Vec<Node>,
}

impl DomTree {
    /// Computes the tree.
    #[must_use]
    pub fn new<G: Graph + ?Sized>(graph: &G) -> Self {
        let mut scratch = SCRATCH.take();
        let Scratch { tree, work } = &mut scratch;
        tree.search(graph);
        tree.immediate_dominators(graph, work);
        let made = Self::from_numbers(graph.node_count(), &tree.order, work);
        if tree.number.capacity() <= SCRATCH_KEPT {
            SCRATCH.set(scratch);
        }
        made
    }

    /// Lays out the tree given by parents in search preorder numbers.
    fn from_numbers(node_count: usize, order: &[Node], work: &mut Work) -> Self {
        let n = order.len();
        let Work { idom: parent, size, free, .. } = work;
        // Sizes bottom up, then positions top down: parents have smaller numbers than children, and
        // siblings take their places in increasing number.
        refill(size, n, 1);
        for i in (1..n).rev() {
            size[parent[i] as usize] += size[i];
        }
        refill(free, n, 0);
        let mut idom = vec![NONE; node_count];
        let mut interval = vec![(NONE, 0); node_count];
        let mut level = vec![0; n];
        let mut preorder = vec![order[0]; n];
        for i in 0..n {
            let mut at = 0;
            let node = order[i];
            if i != 0 {
                let up = parent[i] as usize;
                at = free[up];
                free[up] += size[i];
                idom[node.index()] = order[up].raw();
                level[at as usize] = level[interval[order[up].index()].0 as usize] + 1;
            }
            free[i] = at + 1;
            interval[node.index()] = (at, at + size[i]);
            preorder[at as usize] = node;
        }
        Self { idom, interval, level, preorder }
    }

    /// How many nodes the graph has, reachable or not.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.idom.len()
    }

    /// The root: the graph's entry.
    #[must_use]
    pub fn root(&self) -> Node {
        self.preorder[0]
    }

    /// The closest strict dominator. `None` for the root and for unreachable nodes.
    #[inline]
    #[must_use]
    pub fn idom(&self, node: Node) -> Option<Node> {
        let idom = self.idom[node.index()];
        (idom != NONE).then(|| Node::from_raw(idom))
    }

    /// Whether the node is reachable from the entry, hence in the tree.
    #[inline]
    #[must_use]
    pub fn is_reachable(&self, node: Node) -> bool {
        self.interval[node.index()].0 != NONE
    }

    /// Whether every path from the entry to `b` visits `a`. Constant time.
    ///
    /// True for every `a` when `b` is unreachable; true for `a == b`.
    #[inline]
    #[must_use]
    pub fn dominates(&self, a: Node, b: Node) -> bool {
        let (first, end) = self.interval[a.index()];
        let at = self.interval[b.index()].0;
        at == NONE || (first <= at && at < end)
    }

    /// Whether `a` dominates `b` and is not `b`.
    #[inline]
    #[must_use]
    pub fn strictly_dominates(&self, a: Node, b: Node) -> bool {
        a != b && self.dominates(a, b)
    }

    /// Distance from the root. `None` when unreachable.
    #[inline]
    #[must_use]
    pub fn level(&self, node: Node) -> Option<u32> {
        let at = self.interval[node.index()].0;
        (at != NONE).then(|| self.level[at as usize])
    }

    /// Position in [`preorder`](Self::preorder). `None` when unreachable.
    #[inline]
    #[must_use]
    pub fn tin(&self, node: Node) -> Option<u32> {
        let at = self.interval[node.index()].0;
        (at != NONE).then_some(at)
    }

    /// First position after the node's subtree in [`preorder`](Self::preorder). `None` when
    /// unreachable.
    #[inline]
    #[must_use]
    pub fn tout(&self, node: Node) -> Option<u32> {
        let (at, end) = self.interval[node.index()];
        (at != NONE).then_some(end)
    }

    /// The reachable nodes, each before its children and each subtree contiguous.
    #[must_use]
    pub fn preorder(&self) -> &[Node] {
        &self.preorder
    }

    /// The node and everything that it dominates, in preorder. Empty when the node is unreachable.
    #[must_use]
    pub fn subtree(&self, node: Node) -> &[Node] {
        match self.interval[node.index()] {
            (NONE, _) => &[],
            (first, end) => &self.preorder[first as usize..end as usize],
        }
    }

    /// The nodes whose closest strict dominator is `node`, in the order in which the depth-first
    /// search met them.
    #[must_use]
    pub fn children(&self, node: Node) -> Children<'_> {
        let (first, end) = match self.interval[node.index()] {
            (NONE, _) => (0, 0),
            (first, end) => (first + 1, end),
        };
        Children { tree: self, next: first, end }
    }

    /// The closest node that dominates both. `None` when one of them is unreachable.
    ///
    /// Climbs from the deeper node: linear in the distance.
    #[must_use]
    pub fn common_dominator(&self, a: Node, b: Node) -> Option<Node> {
        if !self.is_reachable(a) || !self.is_reachable(b) {
            return None;
        }
        let mut up = a;
        while !self.dominates(up, b) {
            up = self.idom(up)?;
        }
        Some(up)
    }
}

/// The children of a node of a [`DomTree`].
#[derive(Clone, Debug)]
pub struct Children<'a> {
    tree: &'a DomTree,
    next: u32,
    end: u32,
}

impl Iterator for Children<'_> {
    type Item = Node;

    #[inline]
    fn next(&mut self) -> Option<Node> {
        if self.next == self.end {
            return None;
        }
        let child = self.tree.preorder[self.next as usize];
        self.next = self.tree.interval[child.index()].1;
        Some(child)
    }
}

/// Tables that are used while a tree is made, kept for the next one unless they are large: most
/// functions are small, and making the tables would cost more than filling them.
#[derive(Default)]
struct Scratch {
    tree: SearchTree,
    work: Work,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// Tables by preorder number.
#[derive(Default)]
struct Work {
    semi: Vec<u32>,
    forest: Forest,
    idom: Vec<u32>,
    size: Vec<u32>,
    free: Vec<u32>,
}

/// The depth-first search tree in preorder numbers: all that semi-NCA needs of the search.
#[derive(Default)]
struct SearchTree {
    /// Preorder number by node, `NONE` when unreachable.
    number: Vec<u32>,
    /// Node by preorder number.
    order: Vec<Node>,
    /// Parent's number by number; the root is its own parent.
    parent: Vec<u32>,
    stack: Vec<(Node, u32)>,
}

impl SearchTree {
    fn search<G: Graph + ?Sized>(&mut self, graph: &G) {
        let Self { number, order, parent, stack } = self;
        refill(number, graph.node_count(), NONE);
        order.clear();
        parent.clear();
        stack.clear();
        let entry = graph.entry();
        number[entry.index()] = 0;
        order.push(entry);
        parent.push(0);
        stack.push((entry, 0));
        while let Some((node, tried)) = stack.last_mut() {
            let node = *node;
            let succs = graph.successors(node);
            let rest = &succs[*tried as usize..];
            match rest.iter().position(|s| number[s.index()] == NONE) {
                Some(skip) => {
                    let s = rest[skip];
                    *tried += skip as u32 + 1;
                    number[s.index()] = order.len() as u32;
                    order.push(s);
                    parent.push(number[node.index()]);
                    stack.push((s, 0));
                }
                None => {
                    stack.pop();
                }
            }
        }
    }

    /// The parent of every number but 0 in the dominator tree.
    fn immediate_dominators<G: Graph + ?Sized>(&self, graph: &G, work: &mut Work) {
        self.semidominators(graph, work);
        let Work { semi, idom, .. } = work;
        let n = self.order.len();
        idom.clone_from(&self.parent);
        let mut budget = 4 * n;
        for i in 1..n {
            let mut up = idom[i];
            while up > semi[i] {
                up = idom[up as usize];
                budget = budget.saturating_sub(1);
            }
            idom[i] = up;
            if budget == 0 {
                climb_by_jumps(idom, semi, i + 1);
                break;
            }
        }
    }

    fn semidominators<G: Graph + ?Sized>(&self, graph: &G, work: &mut Work) {
        let Work { semi, forest, .. } = work;
        semi.clone_from(&self.parent);
        forest.above.clone_from(&self.parent);
        forest.best.clone_from(&self.parent);
        for i in (1..self.order.len() as u32).rev() {
            let mut least = semi[i as usize];
            for p in graph.predecessors(self.order[i as usize]) {
                let v = self.number[p.index()];
                if v <= i {
                    least = least.min(v);
                } else if v != NONE {
                    least = least.min(forest.least_above(v, i));
                }
            }
            semi[i as usize] = least;
            forest.best[i as usize] = least;
        }
    }
}

/// The part of the search tree whose semidominators are known, with compressed paths.
#[derive(Default)]
struct Forest {
    /// The first ancestor that the compression has not swallowed.
    above: Vec<u32>,
    /// Least semidominator from the vertex up to `above`, that one excluded.
    best: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// The least semidominator on the tree path from `v` up to its first ancestor not above `i`,
    /// that one excluded.
    #[inline]
    fn least_above(&mut self, v: u32, i: u32) -> u32 {
        let mut top = v;
        while self.above[top as usize] > i {
            self.path.push(top);
            top = self.above[top as usize];
        }
        let mut best = self.best[top as usize];
        let above = self.above[top as usize];
        while let Some(u) = self.path.pop() {
            best = best.min(self.best[u as usize]);
            self.best[u as usize] = best;
            self.above[u as usize] = above;
        }
        best
    }
}

/// Finishes the climbs of semi-NCA from number `from` on, each in `O(log n)`.
///
/// `idom` is final below `from` and holds the search-tree parent from there on. Each number gets
/// one pointer far up its chain, chosen by the depths alone (Myers, *An Applicative Random-Access
/// Stack*).
fn climb_by_jumps(idom: &mut [u32], semi: &[u32], from: usize) {
    let mut level = vec![0u32; idom.len()];
    let mut jump = vec![0u32; idom.len()];
    for i in 1..idom.len() {
        let mut up = idom[i];
        if i >= from {
            while up > semi[i] {
                let far = jump[up as usize];
                up = if far > semi[i] { far } else { idom[up as usize] };
            }
            idom[i] = up;
        }
        level[i] = level[up as usize] + 1;
        jump[i] = jump_pointer(up, &level, &jump);
    }
}

/// The jump pointer of a new leaf below `parent`, in a forest where roots have level 0 and point to
/// themselves: two steps of the parent's when they have equal lengths, else the parent.
pub(crate) fn jump_pointer(parent: u32, level: &[u32], jump: &[u32]) -> u32 {
    let near = jump[parent as usize];
    let far = jump[near as usize];
    let first = level[parent as usize] - level[near as usize];
    let second = level[near as usize] - level[far as usize];
    if first == second && first != 0 { far } else { parent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;

    #[test]
    fn climbing_by_jumps_ends_where_climbing_step_by_step_does() {
        for seed in 0..2000 {
            let cfg = random::any_graph(seed, 60);
            let (mut tree, mut work) = (SearchTree::default(), Work::default());
            tree.search(&cfg);
            tree.immediate_dominators(&cfg, &mut work);
            let Work { idom: steps, semi, .. } = work;
            let n = steps.len();
            for from in [1, n / 3, n] {
                let mut jumps = tree.parent.clone();
                jumps[..from].copy_from_slice(&steps[..from]);
                climb_by_jumps(&mut jumps, &semi, from);
                assert_eq!(jumps, steps, "seed {seed}, from {from}");
            }
        }
    }
}
