//! The edges that leave canonical cycles.

use crate::cycles::CycleId;
use crate::node::Node;
use crate::sync::reduced::Rows;
use crate::threshold::Thresholds;

/// An edge that leaves at least one canonical cycle, by its position in [`Leaving`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeavingEdge(pub(crate) u32);

impl LeavingEdge {
    /// The edge with this number.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The number as an index into dense tables.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The edges that leave canonical cycles, sorted by the position of the source, source and target.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Leaving {
    pub(super) edges: Vec<LeavingEnds>,
    /// Depth of the innermost cycle around the source that each does not leave.
    pub(super) depths: Thresholds,
    /// Edges by owner.
    pub(super) owned: Rows,
}

/// An edge that leaves canonical cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeavingEnds {
    /// Position of the source.
    pub(super) position: u32,
    pub(super) from: Node,
    pub(super) to: Node,
    /// The outermost cycle that it leaves.
    pub(super) owner: CycleId,
}

impl Leaving {
    pub(crate) fn len(&self) -> usize {
        self.edges.len()
    }

    /// Source and target.
    pub(crate) fn ends(&self, edge: LeavingEdge) -> (Node, Node) {
        let LeavingEnds { from, to, .. } = self.edges[edge.index()];
        (from, to)
    }

    /// The outermost cycle that the edge leaves.
    pub(crate) fn owner(&self, edge: LeavingEdge) -> CycleId {
        self.edges[edge.index()].owner
    }

    /// The edges whose outermost cycle left is this one.
    pub(crate) fn owned_by(&self, cycle: CycleId) -> impl Iterator<Item = LeavingEdge> + '_ {
        self.owned.row(cycle.index()).iter().map(|&i| LeavingEdge(i))
    }

    /// Depth of the innermost cycle around the source that edge `i` does not leave: the edge leaves
    /// exactly the deeper cycles.
    pub(crate) fn depth(&self, i: u32) -> u32 {
        self.depths.key(i as usize)
    }

    /// The edge with these ends.
    pub(crate) fn find(&self, position: u32, from: Node, to: Node) -> Option<LeavingEdge> {
        let at = self.edges.partition_point(|e| (e.position, e.from, e.to) < (position, from, to));
        let found = self.edges.get(at)?;
        ((found.from, found.to) == (from, to)).then_some(LeavingEdge(at as u32))
    }

    /// The edges from positions in `first..end`, as a range of numbers.
    pub(crate) fn at_positions(&self, first: u32, end: u32) -> (u32, u32) {
        let low = self.edges.partition_point(|e| e.position < first);
        let high = low + self.edges[low..].partition_point(|e| e.position < end);
        (low as u32, high as u32)
    }

    /// Whether an edge with a number in `first..end` leaves the cycles of this depth around its
    /// source.
    pub(crate) fn any_leaves(&self, first: u32, end: u32, depth: u32) -> bool {
        self.depths.next_below(first as usize, end as usize, depth).is_some()
    }
}
