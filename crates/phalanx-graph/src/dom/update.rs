//! Updates a dominator tree by copying when its graph changes in one place.

use super::{DomTree, NONE};
use crate::bitset::BitSet;
use crate::cfg::{Cfg, Diamond};
use crate::graph::Graph;
use crate::node::Node;

/// How many edges may be visited to find the position of a new node among its siblings.
const FAR: usize = 4096;

/// Copies a list with one more item.
pub(crate) fn inserted<T: Copy>(list: &[T], at: usize, item: T) -> Vec<T> {
    let mut copy = Vec::with_capacity(list.len() + 1);
    copy.extend_from_slice(&list[..at]);
    copy.push(item);
    copy.extend_from_slice(&list[at..]);
    copy
}

impl DomTree {
    /// The tree of [`Cfg::after_split`](crate::Cfg::after_split): the new node stands between the
    /// node and its children.
    #[must_use]
    pub fn after_split(&self, node: Node) -> Self {
        let new = Node::new(self.node_count());
        let (at, end) = self.interval[node.index()];
        if at == NONE {
            return self.with_unreachable();
        }
        let shift = |&(first, end): &(u32, u32)| {
            let after = first > at && first != NONE;
            (first + u32::from(after), end + u32::from(end > at))
        };
        let mut interval = Vec::with_capacity(self.interval.len() + 1);
        interval.extend(self.interval.iter().map(shift));
        interval.push((at + 1, end + 1));
        let below = |&up: &u32| if up == node.raw() { new.raw() } else { up };
        let mut idom = Vec::with_capacity(self.idom.len() + 1);
        idom.extend(self.idom.iter().map(below));
        idom.push(node.raw());
        let mut level = inserted(&self.level, at as usize + 1, self.level[at as usize]);
        level[at as usize + 1..=end as usize].iter_mut().for_each(|level| *level += 1);
        let preorder = inserted(&self.preorder, at as usize + 1, new);
        Self { idom, interval, level, preorder }
    }

    /// The tree of a graph made by [`Cfg::after_edge_split`].
    ///
    /// None when the search for the position of the new node among its siblings exceeds its budget.
    #[must_use]
    pub fn after_edge_split(&self, split: &Cfg, from: Node) -> Option<Self> {
        let new = Node::new(split.node_count() - 1);
        let mut tree = self.with_unreachable();
        if self.is_reachable(from) {
            tree.put_on_edge(split, (from, new, *split.successors(new).first()?))?;
        }
        Some(tree)
    }

    /// Puts a node of the graph that is not in the tree on the edge from its only predecessor to
    /// its only successor.
    pub(crate) fn put_on_edge<G: Graph + ?Sized>(
        &mut self,
        graph: &G,
        (from, new, to): (Node, Node, Node),
    ) -> Option<()> {
        let mut others = graph.predecessors(to).iter().filter(|pred| **pred != new);
        let is_only_way = self.idom(to) == Some(from)
            && others.all(|pred| !self.is_reachable(*pred) || self.dominates(to, *pred));
        if is_only_way {
            let (at, end) = self.interval[to.index()];
            self.put(new, from, at, end - at);
            self.idom[to.index()] = new.raw();
            return Some(());
        }
        // A leaf, after the children that the search has met on edges before this one.
        let met = self.met_before(graph, from, new)?;
        let mut at = self.interval[from.index()].0 + 1;
        for child in self.children(from) {
            if !met.contains(child.index()) {
                break;
            }
            at = self.interval[child.index()].1;
        }
        self.put(new, from, at, 0);
        Some(())
    }

    /// The nodes that `from` strictly dominates and that are reachable from its successors before
    /// `to`.
    fn met_before<G: Graph + ?Sized>(&self, graph: &G, from: Node, to: Node) -> Option<BitSet> {
        let mut met = BitSet::new(self.idom.len());
        let before = graph.successors(from).iter().take_while(|next| **next != to);
        let mut work: Vec<Node> = before.copied().collect();
        let mut budget = FAR;
        while let Some(node) = work.pop() {
            if self.strictly_dominates(from, node)
                && self.is_reachable(node)
                && met.insert(node.index())
            {
                budget = budget.checked_sub(graph.successors(node).len())?;
                work.extend(graph.successors(node));
            }
        }
        Some(met)
    }

    /// Puts a node that is not in the tree at a position; the next `above` nodes become its
    /// descendants.
    fn put(&mut self, new: Node, parent: Node, at: u32, above: u32) {
        let low = self.interval[parent.index()].0;
        for (first, end) in self.interval.iter_mut().filter(|interval| interval.0 != NONE) {
            let is_around = *first <= low && *end == at;
            *end += u32::from(*end > at || is_around);
            *first += u32::from(*first >= at);
        }
        self.interval[new.index()] = (at, at + above + 1);
        self.idom[new.index()] = parent.raw();
        let level = self.level[low as usize] + 1;
        self.level.insert(at as usize, level);
        let below = at as usize + 1..(at + above) as usize + 1;
        self.level[below].iter_mut().for_each(|level| *level += 1);
        self.preorder.insert(at as usize, new);
    }

    /// The tree with its root, which has the last number, renumbered to one more. Its old number
    /// goes to a node that is not in the tree.
    pub(crate) fn with_room_below_root(&self) -> Self {
        let mut tree = self.clone();
        let root = self.root();
        let last = Node::new(root.index() + 1);
        tree.idom.iter_mut().filter(|up| **up == root.raw()).for_each(|up| *up = last.raw());
        tree.idom.push(NONE);
        tree.interval.push(self.interval[root.index()]);
        tree.interval[root.index()] = (NONE, 0);
        tree.preorder[0] = last;
        tree
    }

    /// The tree of [`Cfg::after_merge`](crate::Cfg::after_merge): `node` takes over the children of
    /// `next`, its only child.
    #[must_use]
    pub fn after_merge(&self, node: Node, next: Node) -> Self {
        let (at, end) = self.interval[next.index()];
        if at == NONE {
            return self.clone();
        }
        let mut tree = self.without_position(at);
        tree.interval[next.index()] = (NONE, 0);
        tree.idom.iter_mut().filter(|up| **up == next.raw()).for_each(|up| *up = node.raw());
        tree.idom[next.index()] = NONE;
        tree.level[at as usize..end as usize - 1].iter_mut().for_each(|level| *level -= 1);
        tree
    }

    /// The tree of [`Cfg::after_diamond`](crate::Cfg::after_diamond): without the sides, which are
    /// leaves.
    #[must_use]
    pub fn after_diamond(&self, diamond: &Diamond) -> Self {
        let mut tree = self.clone();
        diamond.sides().for_each(|side| tree.take_out_leaf(side));
        tree
    }

    /// Takes out a leaf, if it is in the tree.
    fn take_out_leaf(&mut self, leaf: Node) {
        let (at, _) = self.interval[leaf.index()];
        if at == NONE {
            return;
        }
        for (first, end) in &mut self.interval {
            *first -= u32::from(*first > at && *first != NONE);
            *end -= u32::from(*end > at);
        }
        self.interval[leaf.index()] = (NONE, 0);
        self.idom[leaf.index()] = NONE;
        self.level.remove(at as usize);
        self.preorder.remove(at as usize);
    }

    /// Takes out a leaf and makes it a child of the root, before the child `before` or else as the
    /// last.
    pub(crate) fn move_leaf_to_root(&mut self, leaf: Node, before: Option<Node>) {
        self.take_out_leaf(leaf);
        self.put_below_root(leaf, before);
    }

    /// Makes a node that has no position a child of the root, before the child `before` or else as
    /// the last.
    fn put_below_root(&mut self, node: Node, before: Option<Node>) {
        let last = self.preorder.len() as u32;
        let at = before.map_or(last, |root| self.interval[root.index()].0);
        for (first, end) in &mut self.interval {
            *first += u32::from(*first >= at && *first != NONE);
            *end += u32::from(*end > at);
        }
        let root = self.preorder[0];
        self.interval[root.index()].1 = last + 1;
        self.interval[node.index()] = (at, at + 1);
        self.idom[node.index()] = root.raw();
        self.level.insert(at as usize, 1);
        self.preorder.insert(at as usize, node);
    }

    /// The tree of the reversed graph after a merge. `node`, the only child of `next`, takes the
    /// place of `next` in the tree. `next` becomes a child of the root, before the child `before`
    /// or else as the last.
    pub(crate) fn with_parent_taken_out(
        &self,
        node: Node,
        next: Node,
        before: Option<Node>,
    ) -> Self {
        let (at, end) = self.interval[next.index()];
        let mut tree = self.without_position(at);
        tree.idom[node.index()] = self.idom[next.index()];
        tree.level[at as usize..end as usize - 1].iter_mut().for_each(|level| *level -= 1);
        tree.put_below_root(next, before);
        tree
    }

    /// The tree without the node at a position; `idom` is not updated.
    fn without_position(&self, at: u32) -> Self {
        let shift = |&(first, end): &(u32, u32)| {
            let is_behind = first > at && first != NONE;
            (first - u32::from(is_behind), end - u32::from(end > at))
        };
        let mut tree = Self {
            idom: self.idom.clone(),
            interval: self.interval.iter().map(shift).collect(),
            level: self.level.clone(),
            preorder: self.preorder.clone(),
        };
        tree.level.remove(at as usize);
        tree.preorder.remove(at as usize);
        tree
    }

    /// The tree with a new node between `child` and its parent. The new node gets the number of the
    /// root, which is the last one; the root moves up by one.
    pub(crate) fn with_parent_put_in(&self, child: Node) -> Self {
        let root = self.root();
        let (new, last) = (root, Node::new(root.index() + 1));
        let (at, end) = self.interval[child.index()];
        let shift = |&(first, end): &(u32, u32)| {
            (first + u32::from(first >= at), end + u32::from(end > at))
        };
        let mut interval = Vec::with_capacity(self.interval.len() + 1);
        interval.extend(self.interval[..root.index()].iter().map(shift));
        interval.push((at, end + 1));
        interval.push(shift(&self.interval[root.index()]));
        let up = |&up: &u32| if up == root.raw() { last.raw() } else { up };
        let mut idom = Vec::with_capacity(self.idom.len() + 1);
        idom.extend(self.idom[..root.index()].iter().map(up));
        idom.push(idom[child.index()]);
        idom.push(NONE);
        idom[child.index()] = new.raw();
        let mut level = inserted(&self.level, at as usize, self.level[at as usize]);
        level[at as usize + 1..=end as usize].iter_mut().for_each(|level| *level += 1);
        let mut preorder = inserted(&self.preorder, at as usize, new);
        preorder[0] = last;
        Self { idom, interval, level, preorder }
    }

    /// The tree with one more node, which is unreachable.
    fn with_unreachable(&self) -> Self {
        let mut tree = self.clone();
        tree.idom.push(NONE);
        tree.interval.push((NONE, 0));
        tree
    }
}
