//! What is other of a graph than before an edit.
//!
//! # What
//!
//! An edit tells which blocks lead elsewhere, come, go, or are reached or not as they were not
//! before ([`Edited`](crate::edited::Edited)). From these follows which blocks are entered
//! otherwise; which ones have another immediate dominator is compared.
//!
//! **Complexity.** O(edges of the blocks that are told of) where the graph is the same, else
//! O(blocks), a comparison each.

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{BlockId, flow::node_of};

/// The graph of a function, and its dominator tree.
pub(super) type Graph<'a> = (&'a Cfg, &'a DomTree);

/// The graph of a function before an edit and after it.
#[derive(Clone, Copy)]
pub struct Graphs<'a> {
    /// That for which an answer was found.
    pub before: (&'a Cfg, &'a DomTree),
    /// That for which one is asked.
    pub now: (&'a Cfg, &'a DomTree),
}

/// How two graphs differ.
pub(super) struct Change<'a> {
    pub(super) before: Graph<'a>,
    pub(super) now: Graph<'a>,
    pub(super) is_same_graph: bool,
    /// The blocks that the edit tells of, new ones, and others about which something else is known
    /// than before. Sorted.
    pub(super) blocks: Vec<Node>,
    /// Blocks that are entered otherwise: over another edge, or over one from a block that was
    /// reached and is not, or the other way round. Sorted.
    pub(super) entered: Vec<Node>,
    /// Blocks that can be reached and have another immediate dominator, or could not be reached; in
    /// the tree's preorder.
    pub(super) moved: Vec<Node>,
    /// Blocks that could be reached and cannot.
    pub(super) gone: Vec<Node>,
}

impl<'a> Change<'a> {
    /// With these blocks, of which an edit tells; none if it was of instructions alone. None if the
    /// function begins elsewhere, or blocks have lost their numbers.
    pub(super) fn new(graphs: Graphs<'a>, blocks: Option<&[BlockId]>) -> Option<Self> {
        let Graphs { before, now } = graphs;
        let is_same_graph = blocks.is_none();
        let (old, new) = (before.1.node_count(), now.1.node_count());
        let empty = || Vec::new();
        let (entered, moved, gone) = (empty(), empty(), empty());
        let mut change =
            Self { before, now, is_same_graph, blocks: Vec::new(), entered, moved, gone };
        let Some(blocks) = blocks else { return Some(change) };
        if new < old || before.1.root() != now.1.root() {
            return None;
        }
        change.blocks.extend(blocks.iter().map(|&block| node_of(block)));
        change.blocks.extend((old..new).map(Node::new));
        change.note(&[]);
        for &block in &change.blocks {
            if block.index() < old {
                change.entered.extend_from_slice(before.0.successors(block));
            }
            change.entered.extend_from_slice(now.0.successors(block));
        }
        change.entered.sort_unstable();
        change.entered.dedup();
        for block in (0..new).map(Node::new) {
            let above = if block.index() < old { before.1.idom(block) } else { None };
            match (above, now.1.idom(block)) {
                (above, now) if above == now => {}
                (_, None) => change.gone.push(block),
                (_, Some(_)) => change.moved.push(block),
            }
        }
        change.moved.sort_unstable_by_key(|block| now.1.tin(*block));
        Some(change)
    }

    /// Adds blocks about which something else is known.
    pub(super) fn note(&mut self, blocks: &[Node]) {
        self.blocks.extend_from_slice(blocks);
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }

    /// Whether a block could be reached before.
    pub(super) fn was_reachable(&self, block: Node) -> bool {
        block.index() < self.before.1.node_count() && self.before.1.is_reachable(block)
    }

    /// Whether a block can be reached.
    pub(super) fn is_reachable(&self, block: Node) -> bool {
        self.now.1.is_reachable(block)
    }
}
