//! The cycle hierarchy: loops, reducible or not.
//!
//! **Definition** (LLVM, *Cycle Terminology*; Havlak, *Nesting of Reducible and Irreducible Loops*,
//! 1997). In a graph, a *cycle* is a maximal strongly connected set of reachable nodes with at
//! least one edge inside. An *entry* of a cycle is a node of it that some path from the graph's
//! entry reaches without visiting another node of the cycle first; equivalently, the graph's entry
//! itself or a node with a reachable predecessor outside the cycle. Its *header* is the entry that
//! a given depth-first search meets first. Its children are the cycles of the subgraph that remains
//! when the header is removed. A cycle is *reducible* when the header is its only entry.
//!
//! ```text
//!        0                 depth 1: entries 1, blocks 1 2 3 4 5   (reducible)
//!        |                 depth 2: entries 2 3, blocks 2 3       (irreducible: 1 -> 2 and 1 -> 3)
//!   +--> 1 ---+
//!   |   / \   |            The depth-first search visits the last successor first, as LLVM does, and
//!   |  2<->3  |            so 1's later successor among 2 and 3 becomes the header of the inner one.
//!   |   \ /   |
//!   +--- 4    5 (exit)
//! ```
//!
//! Facts used throughout: top-level cycles and the children of reducible cycles do not depend on
//! the search, so everything is canonical down to, and including, the first irreducible cycle. A
//! node is the header of at most one cycle. The header of a cycle is in that cycle and its
//! ancestors only.
//!
//! **Construction** in the module `build`. **Queries** are interval tests: cycles are numbered in
//! preorder of the forest and the blocks of a cycle, nested ones included, are one slice.
//!
//! **Size.** A block 10,000 cycles deep with one edge to the outside gives each of them an exit; a
//! block deep inside that is jumped at from the outside is an entry of each. Neither is stored per
//! cycle. Each such edge (block) is stored once, with the depth of the innermost cycle that holds
//! both ends; it is an exit of (entry to) exactly those cycles around its inner end that are
//! deeper, and is found in the cycle's range with [`Thresholds`](crate::threshold). So all is
//! `O(n + m)`.

mod build;
mod update;

use std::fmt;

use crate::dfs::{Dfs, NONE};
use crate::graph::Graph;
use crate::node::Node;
use crate::threshold::Thresholds;

/// A cycle of a [`Cycles`] hierarchy: its number in preorder of the forest.
///
/// A parent's number is smaller than its children's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CycleId(u32);

impl CycleId {
    /// The cycle with this position.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The position as an index into dense tables.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The position as the 32-bit number that it is.
    #[inline]
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for CycleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

/// The stored record of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cycle {
    /// The parent's number, `NONE` at top level.
    parent: u32,
    /// The number after the last nested cycle's.
    end: u32,
    /// 1 at top level.
    depth: u32,
    /// Jump pointer up the parents; a top-level cycle points to itself.
    jump: u32,
    /// The cycle's range in `blocks`. The header comes first.
    first_block: u32,
    end_block: u32,
    irreducible: bool,
    /// Whether it, or a cycle around it, is irreducible.
    irreducible_around: bool,
}

/// The hierarchy of cycles of a graph.
///
/// ```
/// use phalanx_graph::{Cfg, Cycles, Node};
///
/// let n = Node::new;
/// // The drawing in the module documentation.
/// let cfg = Cfg::new(
///     n(0),
///     [vec![n(1)], vec![n(2), n(3), n(5)], vec![n(3), n(4)], vec![n(2), n(4)], vec![n(1)], vec![]],
/// );
/// let cycles = Cycles::new(&cfg);
/// let outer = cycles.innermost(n(4)).unwrap();
/// let inner = cycles.innermost(n(2)).unwrap();
/// assert_eq!((cycles.header(outer), cycles.header(inner)), (n(1), n(3)));
/// assert!(cycles.is_reducible(outer) && !cycles.is_reducible(inner));
/// assert!(cycles.entries(inner).eq([n(3), n(2)]));
/// assert!(cycles.exit_edges(outer).eq([(n(1), n(5))]));
/// assert!(cycles.contains_cycle(outer, inner) && cycles.depth(inner) == 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// Innermost cycle by node, `NONE` outside all.
    innermost: Vec<u32>,
    cycles: Vec<Cycle>,
    /// The nodes of all cycles; those of each cycle contiguous.
    blocks: Vec<Node>,
    entries: CrossingNodes,
    exits: CrossingEdges,
}

/// Nodes that are entries of cycles although not their headers, in the order of `Cycles::blocks`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct CrossingNodes {
    nodes: Vec<Node>,
    /// Position in `blocks` of each.
    positions: Vec<u32>,
    /// Depth of the deepest cycle around each that it does not enter.
    depths: Thresholds,
}

/// Edges that leave cycles, in the order of their sources in `Cycles::blocks`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct CrossingEdges {
    edges: Vec<(Node, Node)>,
    positions: Vec<u32>,
    /// Depth of the deepest cycle around each source that the edge does not leave.
    depths: Thresholds,
}

impl Cycles {
    /// Computes the hierarchy with the depth-first search that visits the last successor first.
    #[must_use]
    pub fn new<G: Graph + ?Sized>(graph: &G) -> Self {
        build::search_and_build(graph)
    }

    /// Computes the hierarchy that the given search of the same graph leads to.
    #[must_use]
    pub fn with_dfs<G: Graph + ?Sized>(graph: &G, dfs: &Dfs) -> Self {
        build::build(graph, dfs.met())
    }

    /// How many cycles there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cycles.len()
    }

    /// Whether the graph has no reachable cycle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cycles.is_empty()
    }

    /// All cycles, each before the cycles nested in it.
    ///
    /// For reducible graphs whose nodes are numbered in textual order, this is the order in which
    /// LLVM lists them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CycleId> + ExactSizeIterator + use<> {
        (0..self.cycles.len() as u32).map(CycleId)
    }

    /// The cycles that lie in no other.
    #[must_use]
    pub fn top_level(&self) -> Siblings<'_> {
        Siblings { cycles: self, next: 0, end: self.cycles.len() as u32 }
    }

    /// The smallest cycle that contains the node.
    #[inline]
    #[must_use]
    pub fn innermost(&self, node: Node) -> Option<CycleId> {
        let c = self.innermost[node.index()];
        (c != NONE).then_some(CycleId(c))
    }

    /// How many cycles contain the node.
    #[inline]
    #[must_use]
    pub fn depth_of(&self, node: Node) -> u32 {
        self.innermost(node).map_or(0, |c| self.depth(c))
    }

    /// The entry that the search met first.
    #[inline]
    #[must_use]
    pub fn header(&self, cycle: CycleId) -> Node {
        self.blocks[self.cycles[cycle.index()].first_block as usize]
    }

    /// The entries of the cycle, each once, the header first.
    #[must_use]
    pub fn entries(&self, cycle: CycleId) -> Entries<'_> {
        let Cycle { first_block, end_block, depth, .. } = self.cycles[cycle.index()];
        let items = self.entries.range(first_block, end_block);
        Entries {
            header: Some(self.header(cycle)),
            nodes: &self.entries,
            items,
            depth,
            first_block,
        }
    }

    /// Whether the header is the only entry.
    #[inline]
    #[must_use]
    pub fn is_reducible(&self, cycle: CycleId) -> bool {
        !self.cycles[cycle.index()].irreducible
    }

    /// Whether the cycle and all cycles around it are reducible: which block is the header of each
    /// is then no choice. `O(1)`.
    #[inline]
    #[must_use]
    pub fn is_canonical(&self, cycle: CycleId) -> bool {
        !self.cycles[cycle.index()].irreducible_around
    }

    /// Whether the node is the header of its innermost cycle.
    #[inline]
    #[must_use]
    pub fn is_header(&self, node: Node) -> bool {
        self.innermost(node).is_some_and(|c| self.header(c) == node)
    }

    /// Whether every cycle is reducible.
    #[must_use]
    pub fn all_reducible(&self) -> bool {
        self.entries.nodes.is_empty()
    }

    /// The smallest cycle around this one.
    #[inline]
    #[must_use]
    pub fn parent(&self, cycle: CycleId) -> Option<CycleId> {
        let up = self.cycles[cycle.index()].parent;
        (up != NONE).then_some(CycleId(up))
    }

    /// The cycles whose parent this one is.
    #[must_use]
    pub fn children(&self, cycle: CycleId) -> Siblings<'_> {
        Siblings { cycles: self, next: cycle.0 + 1, end: self.cycles[cycle.index()].end }
    }

    /// How many cycles are nested in this one at whatever depth, itself included: those whose
    /// numbers follow its own.
    #[inline]
    #[must_use]
    pub fn count_within(&self, cycle: CycleId) -> usize {
        (self.cycles[cycle.index()].end - cycle.0) as usize
    }

    /// This cycle and the cycles around it, from the inside out.
    pub fn ancestors(&self, cycle: CycleId) -> impl Iterator<Item = CycleId> {
        std::iter::successors(Some(cycle), |&c| self.parent(c))
    }

    /// How many cycles contain this one, itself included: 1 at top level.
    #[inline]
    #[must_use]
    pub fn depth(&self, cycle: CycleId) -> u32 {
        self.cycles[cycle.index()].depth
    }

    /// Whether the node is in the cycle, possibly in a nested one. Constant time.
    #[inline]
    #[must_use]
    pub fn contains(&self, cycle: CycleId, node: Node) -> bool {
        // `NONE` is no cycle's number and above all.
        let inner = self.innermost[node.index()];
        cycle.0 <= inner && inner < self.cycles[cycle.index()].end
    }

    /// Whether `inner` is `outer` or nested in it. Constant time.
    #[inline]
    #[must_use]
    pub fn contains_cycle(&self, outer: CycleId, inner: CycleId) -> bool {
        outer <= inner && inner.0 < self.cycles[outer.index()].end
    }

    /// The nodes of the cycle, nested ones included. The header comes first.
    ///
    /// The order is LLVM's under the same conditions as that of [`iter`](Self::iter).
    #[must_use]
    pub fn blocks(&self, cycle: CycleId) -> &[Node] {
        let Cycle { first_block, end_block, .. } = self.cycles[cycle.index()];
        &self.blocks[first_block as usize..end_block as usize]
    }

    /// The innermost cycle around `cycle`, itself included, that contains the node. `O(log depth)`.
    #[must_use]
    pub fn innermost_around(&self, cycle: CycleId, node: Node) -> Option<CycleId> {
        let mut c = cycle;
        while !self.contains(c, node) {
            let far = CycleId(self.cycles[c.index()].jump);
            c = if far != c && !self.contains(far, node) { far } else { self.parent(c)? };
        }
        Some(c)
    }

    /// The outermost cycle around `cycle`, itself included, that does not contain the node. `None`
    /// when `cycle` contains it. `O(log depth)`.
    #[must_use]
    pub fn outermost_without(&self, cycle: CycleId, node: Node) -> Option<CycleId> {
        if self.contains(cycle, node) {
            return None;
        }
        let mut c = cycle;
        while let Some(up) = self.parent(c) {
            let far = CycleId(self.cycles[c.index()].jump);
            if !self.contains(far, node) {
                c = far;
            } else if !self.contains(up, node) {
                c = up;
            } else {
                break;
            }
        }
        Some(c)
    }

    /// The smallest cycle that contains both nodes. `O(log depth)`.
    #[must_use]
    pub fn common(&self, a: Node, b: Node) -> Option<CycleId> {
        self.innermost_around(self.innermost(a)?, b)
    }

    /// The edges from inside the cycle to the outside, parallel edges once.
    ///
    /// Edges of one source follow its successor order; costs `O(log n)` per edge found.
    #[must_use]
    pub fn exit_edges(&self, cycle: CycleId) -> ExitEdges<'_> {
        let Cycle { first_block, end_block, depth, .. } = self.cycles[cycle.index()];
        let (next, end) = self.exits.range(first_block, end_block);
        ExitEdges { edges: &self.exits, next, end, depth }
    }

    /// The nodes outside the cycle that an edge from inside enters, each once, in number order.
    #[must_use]
    pub fn exit_blocks(&self, cycle: CycleId) -> Vec<Node> {
        let mut targets: Vec<Node> = self.exit_edges(cycle).map(|(_, to)| to).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}

fn range(positions: &[u32], first: u32, end: u32) -> (usize, usize) {
    (positions.partition_point(|&p| p < first), positions.partition_point(|&p| p < end))
}

impl CrossingNodes {
    fn range(&self, first: u32, end: u32) -> (usize, usize) {
        range(&self.positions, first, end)
    }
}

impl CrossingEdges {
    fn range(&self, first: u32, end: u32) -> (usize, usize) {
        range(&self.positions, first, end)
    }
}

/// Cycles with the same parent.
#[derive(Clone, Debug)]
pub struct Siblings<'a> {
    cycles: &'a Cycles,
    next: u32,
    end: u32,
}

impl Iterator for Siblings<'_> {
    type Item = CycleId;

    #[inline]
    fn next(&mut self) -> Option<CycleId> {
        if self.next >= self.end {
            return None;
        }
        let cycle = CycleId(self.next);
        self.next = self.cycles.cycles[cycle.index()].end;
        Some(cycle)
    }
}

/// The entries of a cycle, the header first.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    header: Option<Node>,
    nodes: &'a CrossingNodes,
    items: (usize, usize),
    depth: u32,
    first_block: u32,
}

impl Iterator for Entries<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        if let Some(header) = self.header.take() {
            return Some(header);
        }
        loop {
            let at = self.nodes.depths.next_below(self.items.0, self.items.1, self.depth)?;
            self.items.0 = at + 1;
            if self.nodes.positions[at] != self.first_block {
                return Some(self.nodes.nodes[at]);
            }
        }
    }
}

/// The edges that leave a cycle.
#[derive(Clone, Debug)]
pub struct ExitEdges<'a> {
    edges: &'a CrossingEdges,
    next: usize,
    end: usize,
    depth: u32,
}

impl Iterator for ExitEdges<'_> {
    type Item = (Node, Node);

    #[inline]
    fn next(&mut self) -> Option<(Node, Node)> {
        let at = self.edges.depths.next_below(self.next, self.end, self.depth)?;
        self.next = at + 1;
        Some(self.edges.edges[at])
    }
}
