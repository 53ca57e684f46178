//! The differences of a graph before and after an edit.
//!
//! # What
//!
//! An edit lists the blocks that have other successors, were added or removed, or became reachable
//! or unreachable ([`Edited`](crate::edited::Edited)). From these follow the blocks with other
//! incoming edges. A comparison of the dominator trees gives the blocks with another immediate
//! dominator.
//!
//! **Complexity.** O(1) if the graph is the same. Otherwise O(edges of the listed blocks), and one
//! comparison per block.

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{BlockId, flow::node_of};

/// The graph of a function, and its dominator tree.
pub(super) type Graph<'a> = (&'a Cfg, &'a DomTree);

/// The graph of a function before an edit and after it.
#[derive(Clone, Copy)]
pub struct Graphs<'a> {
    /// The graph for which the old answer was computed.
    pub before: (&'a Cfg, &'a DomTree),
    /// The graph of the function now.
    pub now: (&'a Cfg, &'a DomTree),
}

/// How two graphs differ.
pub(super) struct Change<'a> {
    pub(super) before: Graph<'a>,
    pub(super) now: Graph<'a>,
    pub(super) is_same_graph: bool,
    /// The blocks that the edit lists, new blocks, and blocks that were [noted](Change::note).
    /// Sorted.
    pub(super) blocks: Vec<Node>,
    /// Blocks with other incoming edges, or with a predecessor that became reachable or
    /// unreachable. Sorted.
    pub(super) entered: Vec<Node>,
    /// Reachable blocks that have another immediate dominator or were unreachable, in the preorder
    /// of the tree.
    pub(super) moved: Vec<Node>,
    /// Blocks that became unreachable.
    pub(super) gone: Vec<Node>,
}

impl<'a> Change<'a> {
    /// Compares two graphs. `blocks` are those that the edit lists, or `None` if it changed
    /// instructions alone. Returns `None` if the entry is another block or the number of blocks has
    /// decreased.
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

    /// Adds blocks whose rows have changed.
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
