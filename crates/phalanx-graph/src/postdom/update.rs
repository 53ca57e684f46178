//! Updates a post-dominator tree by copying when its graph changes in one place.

use super::{PostDomTree, Reversed};
use crate::cfg::{Cfg, Diamond};
use crate::node::Node;

/// Roots of endless loops are chosen within a budget that depends on the size of the graph. The
/// budget suffices for every graph of at most this many nodes and edges.
const SMALL: usize = 256;

impl PostDomTree {
    /// The tree of a graph made by [`Cfg::after_split`]: the new node stands between the node and
    /// its parent.
    ///
    /// None when roots could be chosen differently: in large graphs with endless loops.
    #[must_use]
    pub fn after_split(&self, split: &Cfg, node: Node) -> Option<Self> {
        let new = Node::new(split.node_count() - 1);
        let has_endless = self.roots.len() > split.exits().count();
        if has_endless && split.node_count() + split.edge_count() > SMALL {
            return None;
        }
        let mut roots = self.roots.clone();
        roots.iter_mut().filter(|root| **root == node).for_each(|root| *root = new);
        Some(Self { tree: self.tree.with_parent_put_in(node), roots })
    }

    /// The tree of a graph made by [`Cfg::after_edge_split`].
    ///
    /// None when roots could be chosen differently, which is when there are endless loops, or when
    /// the search for the position of the new node among its siblings exceeds its budget.
    #[must_use]
    pub fn after_edge_split(&self, split: &Cfg, from: Node) -> Option<Self> {
        if self.roots.len() > split.exits().count() {
            return None;
        }
        let new = Node::new(split.node_count() - 1);
        let to = *split.successors(new).first()?;
        let mut tree = self.tree.with_room_below_root();
        tree.put_on_edge(&Reversed { cfg: split, roots: &self.roots }, (to, new, from))?;
        Some(Self { tree, roots: self.roots.clone() })
    }

    /// The tree of a graph made by [`Cfg::after_merge`]: `node` takes the place of `next`, which
    /// becomes a root of its own.
    ///
    /// None when roots could be chosen differently. This is when there are endless loops and the
    /// graph is large or `next` has the smaller number, since the search for a root may have begun
    /// in it.
    #[must_use]
    pub fn after_merge(&self, merged: &Cfg, node: Node, next: Node) -> Option<Self> {
        let mut roots = self.roots.clone();
        roots.iter_mut().filter(|root| **root == next).for_each(|root| *root = node);
        let at = merged.exits().position(|exit| exit == next)?;
        let has_endless = roots.len() + 1 > merged.exits().count();
        if has_endless && (next < node || merged.node_count() + merged.edge_count() > SMALL) {
            return None;
        }
        let before = roots.get(at).copied();
        roots.insert(at, next);
        Some(Self { tree: self.tree.with_parent_taken_out(node, next, before), roots })
    }

    /// The tree of a graph made by [`Cfg::after_diamond`]: the sides become roots.
    ///
    /// None when roots could be chosen differently, which is when there are endless loops.
    #[must_use]
    pub fn after_diamond(&self, closed: &Cfg, diamond: &Diamond) -> Option<Self> {
        let roots: Vec<Node> = closed.exits().collect();
        if self.roots.len() + diamond.sides().count() > roots.len() {
            return None;
        }
        let mut tree = self.tree.clone();
        // The last first, so that the next root has its place.
        for (at, &root) in roots.iter().enumerate().rev() {
            if diamond.sides().any(|side| side == root) {
                tree.move_leaf_to_root(root, roots.get(at + 1).copied());
            }
        }
        Some(Self { tree, roots })
    }
}
