//! The one trait through which every algorithm sees a graph.

use crate::node::Node;

/// A directed graph with dense node numbers and one entry.
///
/// Lists are slices: the algorithms walk them by position and keep no iterator alive. The two lists
/// describe the same edges: `s` is in `successors(n)` as often as `n` is in `predecessors(s)`.
pub trait Graph {
    /// How many nodes there are; nodes are the numbers below.
    fn node_count(&self) -> usize;
    /// The node where every path starts.
    fn entry(&self) -> Node;
    /// Targets of the edges that leave the node, in order, with multiplicity.
    fn successors(&self, node: Node) -> &[Node];
    /// Sources of the edges that enter the node, with multiplicity.
    fn predecessors(&self, node: Node) -> &[Node];
}
