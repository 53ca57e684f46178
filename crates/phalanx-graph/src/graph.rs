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

/// Tells repeated targets in a successor list from first ones, so that parallel edges count once.
///
/// Short lists are compared directly; long ones through a table that is made when first needed.
#[derive(Default)]
pub(crate) struct Repeats {
    /// By target: one more than the source for which it was last seen.
    seen: Vec<u32>,
}

impl Repeats {
    /// Whether `targets[i]` occurs before position `i` in the list of `from`.
    ///
    /// Lists must be walked in order, each source once.
    #[inline]
    pub(crate) fn is_repeat(
        &mut self,
        node_count: usize,
        from: Node,
        targets: &[Node],
        i: usize,
    ) -> bool {
        const SHORT: usize = 8;
        if targets.len() <= SHORT {
            return targets[..i].contains(&targets[i]);
        }
        if self.seen.is_empty() {
            self.seen = vec![0; node_count];
        }
        let mark = from.raw() + 1;
        std::mem::replace(&mut self.seen[targets[i].index()], mark) == mark
    }
}
