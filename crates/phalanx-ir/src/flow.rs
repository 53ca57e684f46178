//! The flow of a function: its blocks, their order and their successors, and nothing else.
//!
//! Flow changes far more rarely than instructions do, and every graph fact depends on it alone; so it is a part of
//! a function of its own, and an edit of instructions leaves it untouched.

use la_arena::{Arena, Idx};
use phalanx_graph::{Cfg, Node};

/// A block of a function. Ids are never reused, so facts indexed by them survive edits.
pub type BlockId = Idx<BlockFlow>;

/// Successors of one block: a run in the flow's pool.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct BlockFlow {
    start: u32,
    len: u32,
}

/// Blocks, order and successors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    blocks: Arena<BlockFlow>,
    order: Vec<BlockId>,
    pool: Vec<BlockId>,
}

impl Flow {
    /// A flow without blocks: a declaration.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a block without placing it in the order.
    pub fn create_block(&mut self) -> BlockId {
        self.blocks.alloc(BlockFlow::default())
    }

    /// Places a block at the end of the order.
    pub fn append_block(&mut self, block: BlockId) {
        self.order.push(block);
    }

    /// Sets the successors of a block, in the order its terminator names them; a target may repeat.
    pub fn set_successors(&mut self, block: BlockId, successors: &[BlockId]) {
        let run = &mut self.blocks[block];
        if successors.len() > run.len as usize {
            run.start = u32::try_from(self.pool.len()).expect("fewer than 2^32 edges");
            self.pool.extend_from_slice(successors);
        } else {
            self.pool[run.start as usize..][..successors.len()].copy_from_slice(successors);
        }
        run.len = successors.len() as u32;
    }

    /// Successors of a block, in the order its terminator names them, with multiplicity.
    #[inline]
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        let run = self.blocks[block];
        &self.pool[run.start as usize..][..run.len as usize]
    }

    /// Blocks in the order of the text; the first is the entry.
    #[inline]
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The entry block; none in a declaration.
    #[inline]
    pub fn entry(&self) -> Option<BlockId> {
        self.order.first().copied()
    }

    /// How many block ids have been given out, unlinked blocks included: the length of a dense table.
    #[inline]
    pub fn id_count(&self) -> usize {
        self.blocks.len()
    }

    /// Gives back spare capacity.
    pub fn shrink_to_fit(&mut self) {
        self.blocks.shrink_to_fit();
        self.order.shrink_to_fit();
        self.pool.shrink_to_fit();
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.blocks.len() * size_of::<BlockFlow>()
            + (self.order.capacity() + self.pool.capacity()) * size_of::<BlockId>()
    }

    /// The control-flow graph over node numbers equal to block numbers, laid out as the text is. O(blocks + edges).
    ///
    /// None for a declaration.
    pub fn cfg(&self) -> Option<Cfg> {
        let entry = node_of(self.entry()?);
        let layout: Vec<Node> = self.order.iter().map(|&block| node_of(block)).collect();
        let successors = |(block, _)| self.successors(block).iter().map(|&s| node_of(s));
        Some(Cfg::with_layout(entry, self.blocks.iter().map(successors), &layout))
    }
}

/// The graph node of a block.
#[inline]
pub fn node_of(block: BlockId) -> Node {
    Node::new(block.into_raw().into_u32() as usize)
}

/// The block of a graph node.
#[inline]
pub fn block_of(node: Node) -> BlockId {
    BlockId::from_raw(node.raw().into())
}
