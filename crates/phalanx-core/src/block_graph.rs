//! The graph of a function whose parallel edges may bring different values.
//!
//! # What
//!
//! In an IR with block arguments a branch may lead to one block by two edges, with another argument
//! on each. Which edge a thread took is then all that the branch decides:
//!
//! ```text
//!   b0: branch id -> b1(0), b1(1)          b0 ---------> b1      phi: 0 from b0,
//!   b1(a): ...                               \--> e ----/             1 from e
//! ```
//!
//! A phi names the *nodes* that values come from, and both edges come from `b0`. So [`BlockGraph`]
//! puts a node on an edge where it has to be told from another one between the same blocks: `e`
//! above. A thread executes nothing there. To every analysis `b0` is an ordinary branch, and `b1`
//! is where its sides join.
//!
//! Edges that bring equal values need no node: [`Edge::brings`] says which do. In LLVM IR all
//! parallel edges do, so its graphs have no such nodes.
//!
//! # Numbers
//!
//! A [`Block`] is the client's number; a [`Node`] is one of the graph. Blocks that are there at the
//! beginning have nodes of the same number. A node stands for one block for ever, or for one edge
//! after another, so a graph after edits is one that
//! [`repair_flow`](crate::divergence::repair::Retained::repair_flow) follows.
//!
//! # Cost
//!
//! O(edges of a block) to state them, O(nodes + edges) for the graph. Edges without a node cost
//! what they cost in a [`Cfg`].

use std::fmt;

use phalanx_graph::{Cfg, Node};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A block of the client's function, as a dense number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);

impl Block {
    /// The block with this number.
    ///
    /// # Panics
    /// If the number does not fit 31 bits.
    #[must_use]
    pub fn new(index: usize) -> Self {
        assert!(index < 1 << 31, "block number {index} does not fit 31 bits");
        Self(index as u32)
    }

    /// The number as an index into dense tables.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// An edge, as its block states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it leads.
    pub to: Block,
    /// Edges between the same blocks with equal numbers bring equal values to every phi. Any
    /// number will do where there are no other edges between these blocks, or no phis.
    pub brings: u32,
}

/// What a node of the graph stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeOrigin {
    /// A block.
    Block(Block),
    /// An edge, and those that bring the same: the first by its position in its block.
    Edge(Block, u32),
    /// Nothing now. No edge leads there.
    Nothing,
}

/// Successors of a node.
type Successors = SmallVec<[Node; 2]>;

/// Blocks and edges as stated, and their graph. See the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub struct BlockGraph {
    /// By block: its node.
    nodes: Vec<Node>,
    /// By block: of each edge, the node that it comes from.
    sources: Vec<Successors>,
    /// By node.
    places: Vec<NodeOrigin>,
    /// By node.
    successors: Vec<Successors>,
    /// Nodes that stand for nothing.
    free: Vec<Node>,
    /// Nodes whose successors have changed since they were last asked for.
    touched: Vec<Node>,
}

impl BlockGraph {
    /// A graph of `blocks` blocks without edges.
    #[must_use]
    pub fn new(blocks: usize) -> Self {
        let mut graph = Self::default();
        for _ in 0..blocks {
            graph.add_block();
        }
        graph.touched.clear();
        graph
    }

    /// Adds a block without edges. It has the next number.
    pub fn add_block(&mut self) -> Block {
        let block = Block::new(self.nodes.len());
        let node = self.add_node(NodeOrigin::Block(block));
        self.nodes.push(node);
        self.sources.push(Successors::new());
        block
    }

    fn add_node(&mut self, place: NodeOrigin) -> Node {
        let node = Node::new(self.places.len());
        self.places.push(place);
        self.successors.push(Successors::new());
        self.touched.push(node);
        node
    }

    /// How many blocks there are.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a block.
    #[must_use]
    pub fn node(&self, block: Block) -> Node {
        self.nodes[block.index()]
    }

    /// What a node stands for.
    #[must_use]
    pub fn place(&self, node: Node) -> NodeOrigin {
        self.places[node.index()]
    }

    /// The node that values come from by an edge: what an entry of a phi names
    /// ([`Incoming::pred`](crate::divergence::Incoming::pred)).
    #[must_use]
    pub fn source(&self, block: Block, edge: usize) -> Node {
        self.sources[block.index()][edge]
    }

    /// States the edges of a block, in the order of its terminator. Returns true if that adds or
    /// removes nodes, or changes where they lead. Then the entries of phis behind these edges have
    /// to be stated again, since [`source`](Self::source) may have changed.
    pub fn set_edges(&mut self, block: Block, edges: &[Edge]) -> bool {
        let own = self.node(block);
        let mut unused: SmallVec<[Node; 4]> =
            self.sources[block.index()].iter().copied().filter(|source| *source != own).collect();
        unused.sort_unstable_by(|a, b| b.cmp(a));
        unused.dedup();
        let shared = shared(edges);
        let (mut sources, mut successors) = (Successors::new(), Successors::new());
        let mut is_changed = false;
        for (at, edge) in edges.iter().enumerate() {
            let to = self.node(edge.to);
            let source = match shared.as_ref().map_or(Shared::Own, |shared| shared[at]) {
                Shared::Own => own,
                Shared::With(first) => sources[first as usize],
                Shared::New => {
                    let place = NodeOrigin::Edge(block, at as u32);
                    let node = unused.pop().or_else(|| self.free.pop());
                    let node = node.unwrap_or_else(|| self.add_node(place));
                    self.places[node.index()] = place;
                    is_changed |= self.lead(node, &[to]);
                    node
                }
            };
            sources.push(source);
            successors.push(if source == own { to } else { source });
        }
        for node in unused {
            self.places[node.index()] = NodeOrigin::Nothing;
            is_changed |= self.lead(node, &[]);
            self.free.push(node);
        }
        is_changed |= self.lead(own, &successors);
        self.sources[block.index()] = sources;
        is_changed
    }

    /// Lets a node lead to others. Whether these are not those that it led to.
    fn lead(&mut self, node: Node, to: &[Node]) -> bool {
        let known = &mut self.successors[node.index()];
        if known.as_slice() == to {
            return false;
        }
        *known = Successors::from_slice(to);
        self.touched.push(node);
        true
    }

    /// The graph.
    ///
    /// # Panics
    /// If there is no such block as the entry.
    #[must_use]
    pub fn cfg(&self, entry: Block) -> Cfg {
        Cfg::new(self.node(entry), self.successors.iter().map(|to| to.iter().copied()))
    }

    /// Nodes whose successors have changed since this was last asked: what `repair_flow` wants to
    /// know. Sorted.
    pub fn take_touched(&mut self) -> Vec<Node> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }
}

/// Which node an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shared {
    /// That of its block.
    Own,
    /// The same as an earlier edge.
    With(u32),
    /// One of its own.
    New,
}

/// Of each edge of a block, which node it comes from. None where no two edges lead to one block.
fn shared(edges: &[Edge]) -> Option<Vec<Shared>> {
    let is_alone = match edges {
        [] | [_] => true,
        [one, other] => one.to != other.to,
        _ => {
            let mut to: SmallVec<[Block; 8]> = edges.iter().map(|edge| edge.to).collect();
            to.sort_unstable();
            to.windows(2).all(|pair| pair[0] != pair[1])
        }
    };
    if is_alone {
        return None;
    }
    // By where edges lead and what they bring: the first one; of those that lead there, the very
    // first.
    let mut first: FxHashMap<(Block, u32), u32> = FxHashMap::default();
    let mut very_first: FxHashMap<Block, u32> = FxHashMap::default();
    let each = edges.iter().zip(0u32..).map(|(edge, at)| {
        let first = *first.entry((edge.to, edge.brings)).or_insert(at);
        match (first == at, *very_first.entry(edge.to).or_insert(at) == at) {
            (true, true) => Shared::Own,
            (true, false) => Shared::New,
            (false, _) => Shared::With(first),
        }
    });
    Some(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(list: &[(usize, u32)]) -> Vec<Edge> {
        list.iter().map(|&(to, brings)| Edge { to: Block::new(to), brings }).collect()
    }

    fn successors(graph: &BlockGraph) -> Vec<Vec<usize>> {
        let cfg = graph.cfg(Block::new(0));
        cfg.nodes().map(|node| cfg.successors(node).iter().map(|to| to.index()).collect()).collect()
    }

    #[test]
    fn only_edges_that_bring_something_else_get_nodes() {
        let mut graph = BlockGraph::new(3);
        let b0 = Block::new(0);
        graph.set_edges(b0, &edges(&[(1, 0), (2, 0), (1, 0), (1, 5), (1, 5), (2, 0)]));
        assert_eq!(successors(&graph), [vec![1, 2, 1, 3, 3, 2], vec![], vec![], vec![1]]);
        assert_eq!(graph.source(b0, 2), Node::new(0));
        assert_eq!([3, 4].map(|edge| graph.source(b0, edge)), [Node::new(3); 2]);
        assert_eq!(graph.place(Node::new(3)), NodeOrigin::Edge(b0, 3));
    }

    #[test]
    fn nodes_are_kept_while_edges_stay_and_used_again_when_they_go() {
        let mut graph = BlockGraph::new(3);
        let (b0, b1) = (Block::new(0), Block::new(1));
        assert!(graph.set_edges(b0, &edges(&[(1, 0), (1, 1)])));
        assert_eq!(graph.take_touched(), [Node::new(0), Node::new(3)]);
        assert!(!graph.set_edges(b0, &edges(&[(1, 7), (1, 8)])));
        assert!(graph.take_touched().is_empty());
        // A block that comes later has the next node, and its number does not change for it.
        let b3 = graph.add_block();
        assert_eq!(
            (graph.node(b3), graph.place(Node::new(4))),
            (Node::new(4), NodeOrigin::Block(b3))
        );
        assert!(graph.set_edges(b0, &edges(&[(1, 0), (1, 0)])));
        assert_eq!(graph.place(Node::new(3)), NodeOrigin::Nothing);
        assert!(successors(&graph)[3].is_empty());
        assert!(graph.set_edges(b1, &edges(&[(2, 0), (2, 1)])));
        assert_eq!(successors(&graph), [vec![1, 1], vec![2, 3], vec![], vec![2], vec![]]);
        assert_eq!(graph.take_touched(), [0, 1, 3, 4].map(Node::new));
    }
}
