//! Dominator trees of graphs that differ from others in one place, by copying.

use super::{DomTree, NONE};
use crate::node::Node;

/// Copies a list with an item more.
pub(crate) fn inserted<T: Copy>(list: &[T], at: usize, item: T) -> Vec<T> {
    let mut copy = Vec::with_capacity(list.len() + 1);
    copy.extend_from_slice(&list[..at]);
    copy.push(item);
    copy.extend_from_slice(&list[at..]);
    copy
}

impl DomTree {
    /// The tree of [`Cfg::after_split`](crate::Cfg::after_split): the new node stands between the node and its children.
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

    /// The tree of [`Cfg::after_merge`](crate::Cfg::after_merge): the node takes over the children of the other, its only child.
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

    /// The tree of the reversed graph: the node, the only child of the other, takes the place of that one, which becomes a child of
    /// the root, before the child that is given or else as the last.
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
        let last = tree.preorder.len() as u32;
        let at = before.map_or(last, |root| tree.interval[root.index()].0);
        for (first, end) in &mut tree.interval {
            *first += u32::from(*first >= at);
            *end += u32::from(*end > at);
        }
        let root = tree.preorder[0];
        tree.interval[root.index()].1 = last + 1;
        tree.interval[next.index()] = (at, at + 1);
        tree.idom[next.index()] = root.raw();
        tree.level.insert(at as usize, 1);
        tree.preorder.insert(at as usize, next);
        tree
    }

    /// The lists without the node at a position.
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

    /// The tree when the node is put between another one and that one's parent; the number of the root, which is the last, is
    /// one more then. `node` is the number that the root has had.
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

    /// The tree with an unreachable node more.
    fn with_unreachable(&self) -> Self {
        let mut tree = self.clone();
        tree.idom.push(NONE);
        tree.interval.push((NONE, 0));
        tree
    }
}
