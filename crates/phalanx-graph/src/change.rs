//! Recognises a local change between two control-flow graphs: a split block, a block put on an
//! edge, a block merged with its only successor, or a small branch that is gone.
//!
//! An analysis that retains facts of a graph may get a new graph without a record of the edit.
//! [`Change::between`] compares the successor lists of both graphs, derives a candidate change from
//! the lists that differ, applies it to the old graph and compares the result with the new one. So
//! a [`Change`] is never wrong. It offers the updates that [`Cfg`], [`DomTree`], [`PostDomTree`],
//! [`Cycles`] and [`SyncDependence`] have for such changes.
//!
//! O(nodes + edges), for comparisons and copies of contiguous memory.

use crate::cfg::{Cfg, Diamond};
use crate::cycles::Cycles;
use crate::dom::DomTree;
use crate::node::Node;
use crate::postdom::PostDomTree;
use crate::sync::SyncDependence;

/// The difference between two graphs.
///
/// ```
/// use phalanx_graph::{Cfg, DomTree, Node, change::Change};
///
/// let n = Node::new;
/// let old = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(2)], vec![]]);
/// let new = old.after_split(n(1));
/// let change = Change::between(&old, &new).expect("one block was split");
/// assert_eq!(change, Change::Split(n(1)));
/// let dom = change.dom_tree(&DomTree::new(&old), &new);
/// assert_eq!(dom, Some(DomTree::new(&new)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// See [`Cfg::after_split`].
    Split(Node),
    /// A node was put on the edge with this position among those out of a node; see
    /// [`Cfg::after_edge_split`].
    EdgeSplit(Node, usize),
    /// The second was merged into the first; see [`Cfg::after_merge`].
    Merge(Node, Node),
    /// See [`Cfg::after_diamond`].
    Diamond(Diamond),
}

impl Change {
    /// The change that makes `new` of `old`. None if the graphs are equal or differ by anything
    /// else.
    #[must_use]
    pub fn between(old: &Cfg, new: &Cfg) -> Option<Self> {
        let change = match new.node_count().checked_sub(old.node_count())? {
            0 => less(old, new)?,
            1 => split(old, new)?,
            _ => return None,
        };
        let same = match change {
            Self::Split(node) => Some(old.after_split(node)),
            Self::EdgeSplit(from, edge) => old.after_edge_split(from, edge),
            Self::Merge(node, next) => old.after_merge(node, next),
            Self::Diamond(diamond) => Some(old.after_diamond(&diamond)),
        };
        (same.as_ref() == Some(new)).then_some(change)
    }

    /// The dominator tree of the new graph from that of the old one. Here and in the methods below,
    /// none means that the fact should be computed from scratch.
    #[must_use]
    pub fn dom_tree(self, old: &DomTree, new: &Cfg) -> Option<DomTree> {
        match self {
            Self::Split(node) => Some(old.after_split(node)),
            Self::EdgeSplit(from, _) => old.after_edge_split(new, from),
            Self::Merge(node, next) => Some(old.after_merge(node, next)),
            Self::Diamond(diamond) => Some(old.after_diamond(&diamond)),
        }
    }

    /// The post-dominator tree of the new graph; see [`dom_tree`](Self::dom_tree).
    #[must_use]
    pub fn postdom_tree(self, old: &PostDomTree, new: &Cfg) -> Option<PostDomTree> {
        match self {
            Self::Split(node) => old.after_split(new, node),
            Self::EdgeSplit(from, _) => old.after_edge_split(new, from),
            Self::Merge(node, next) => old.after_merge(new, node, next),
            Self::Diamond(diamond) => old.after_diamond(new, &diamond),
        }
    }

    /// The cycles of the new graph; see [`dom_tree`](Self::dom_tree).
    #[must_use]
    pub fn cycles(self, old: &Cycles, new: &Cfg) -> Option<Cycles> {
        match self {
            Self::Split(node) => old.after_split(new, node),
            Self::EdgeSplit(from, _) => old.after_edge_split(new, from),
            Self::Merge(node, next) => Some(old.after_merge(node, next)),
            Self::Diamond(diamond) => Some(old.after_diamond(&diamond)),
        }
    }

    /// The table of sync dependence of the new graph, without answers. `new`, `dom` and `cycles`
    /// are the facts of the new graph, and `cycles` must come from [`cycles`](Self::cycles).
    #[must_use]
    pub fn sync_dependence(
        self,
        old: &SyncDependence,
        (new, dom, cycles): (&Cfg, &DomTree, &Cycles),
    ) -> Option<SyncDependence> {
        match self {
            Self::Split(node) => old.after_split(new, cycles, node),
            Self::EdgeSplit(from, _) => old.after_edge_split(new, dom, cycles, from),
            Self::Merge(node, next) => old.after_merge(new, cycles, node, next),
            Self::Diamond(diamond) => old.after_diamond(new, cycles, &diamond),
        }
    }
}

/// The candidate if the new graph has one more node: the node that was split, or the edge that got
/// a node.
fn split(old: &Cfg, new: &Cfg) -> Option<Change> {
    let added = Node::new(old.node_count());
    let &[from] = new.predecessors(added) else { return None };
    if from == added {
        return None;
    }
    if new.successors(from) == [added] && new.successors(added) == old.successors(from) {
        return Some(Change::Split(from));
    }
    let edge = new.successors(from).iter().position(|to| *to == added)?;
    Some(Change::EdgeSplit(from, edge))
}

/// The candidate if both graphs have the same number of nodes: a node and the node merged into it,
/// or a diamond. Their successor lists are the only ones that may differ.
fn less(old: &Cfg, new: &Cfg) -> Option<Change> {
    let differ = old.nodes().filter(|&node| old.successors(node) != new.successors(node));
    let differ: Vec<Node> = differ.take(4).collect();
    let is_gone = |node: Node| new.successors(node).is_empty() && new.predecessors(node).is_empty();
    // The merged block may have had no successors before.
    let merged = match *differ {
        [node] => Some((node, *old.successors(node).first()?)),
        [node, next] | [next, node] if old.successors(node) == [next] && is_gone(next) => {
            Some((node, next))
        }
        _ => None,
    };
    if let Some((node, next)) = merged {
        return Some(Change::Merge(node, next));
    }
    let node = differ.iter().copied().find(|node| !is_gone(*node))?;
    Some(Change::Diamond(Diamond::at(old, node)?))
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::testing::random;

    fn n(number: usize) -> Node {
        Node::new(number)
    }

    #[test]
    fn a_change_in_two_places_is_none_of_these() {
        let old = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(2)], vec![]]);
        assert_eq!(Change::between(&old, &old), None);
        let redirected = Cfg::new(n(0), [vec![n(1), n(1)], vec![n(2)], vec![]]);
        assert_eq!(Change::between(&old, &redirected), None);
        let twice = old.after_split(n(0)).after_split(n(1));
        assert_eq!(Change::between(&old, &twice), None);
    }

    #[test]
    fn a_return_that_is_merged_is_recognised() {
        let old = Cfg::new(n(0), [vec![n(1)], vec![]]);
        let new = old.after_merge(n(0), n(1)).expect("one way in, one way out");
        assert_eq!(Change::between(&old, &new), Some(Change::Merge(n(0), n(1))));
    }

    #[test]
    fn a_node_elsewhere_in_the_layout_is_no_split() {
        let old = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(2)], vec![]]);
        let lists = [vec![n(3)], vec![n(2)], vec![], vec![n(1), n(2)]];
        let behind = Cfg::with_layout(n(0), lists.clone(), &[n(0), n(3), n(1), n(2)]);
        assert_eq!(Change::between(&old, &behind), Some(Change::Split(n(0))));
        assert_eq!(Change::between(&old, &Cfg::new(n(0), lists)), None);
    }

    /// Each random local edit is recognised, as itself or as another change that makes the same
    /// graph.
    #[test]
    fn changes_of_random_graphs_are_recognised() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut counts = [0; 3];
        for seed in 0..400 {
            let mut cfg = random::any_graph(seed, 30);
            for _ in 0..6 {
                let node = n(rng.random_range(0..cfg.node_count()));
                let out = cfg.successors(node).len();
                let (number, new) = match rng.random_range(0..3) {
                    0 => (0, Some(cfg.after_split(node))),
                    1 if out > 0 => (1, cfg.after_edge_split(node, rng.random_range(0..out))),
                    _ if out == 1 && cfg.successors(node)[0] != cfg.entry() => {
                        (2, cfg.after_merge(node, cfg.successors(node)[0]))
                    }
                    _ => continue,
                };
                let Some(new) = new else { continue };
                let change = Change::between(&cfg, &new);
                assert!(change.is_some(), "{cfg:?} became {new:?}");
                counts[number] += 1;
                cfg = new;
            }
        }
        assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    }
}
