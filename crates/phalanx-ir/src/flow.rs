//! The flow of a function: its blocks, their order and their successors, and nothing else.
//!
//! Flow changes far less often than instructions do, and graph facts depend on it alone. So it is a
//! part of a function of its own, and an edit of instructions leaves it untouched.

use la_arena::Idx;
use phalanx_graph::{Cfg, Node};
use rustc_hash::FxHashSet;

use crate::{body::raw, edit::aside::Aside};

/// A block of a function. Ids are never reused, so facts indexed by them survive edits.
pub type BlockId = Idx<BlockFlow>;

/// Successors of one block: a run in the flow's pool.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct BlockFlow {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// Blocks, order and successors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    pub(crate) blocks: Vec<BlockFlow>,
    pub(crate) order: Vec<BlockId>,
    pub(crate) pool: Vec<BlockId>,
    /// Number of edges into each block; computed when first needed.
    pub(crate) in_degrees: Aside<Vec<u32>>,
}

impl Flow {
    /// A flow without blocks: a declaration.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a block without placing it in the order.
    pub fn create_block(&mut self) -> BlockId {
        self.blocks.push(BlockFlow::default());
        Idx::from_raw((self.blocks.len() as u32 - 1).into())
    }

    /// Places a block at the end of the order.
    pub fn append_block(&mut self, block: BlockId) {
        self.order.push(block);
    }

    /// Sets the successors of a block, in the order its terminator names them; a target may repeat.
    pub fn set_successors(&mut self, block: BlockId, successors: &[BlockId]) {
        self.in_degrees = Aside::default();
        let run = &mut self.blocks[raw(block) as usize];
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
        let run = self.blocks[raw(block) as usize];
        &self.pool[run.start as usize..][..run.len as usize]
    }

    /// Number of edges into a block, from unreachable blocks too. O(blocks + edges) the first time,
    /// then O(1).
    pub fn in_degree(&self, block: BlockId) -> u32 {
        let degrees = self.in_degrees.get_or_init(|| {
            let mut degrees = vec![0; self.blocks.len()];
            for run in &self.blocks {
                for &to in &self.pool[run.start as usize..][..run.len as usize] {
                    degrees[raw(to) as usize] += 1;
                }
            }
            degrees
        });
        degrees.get(raw(block) as usize).copied().unwrap_or(0)
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

    /// How many block ids have been given out, unlinked blocks included: the length of a dense
    /// table.
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
        self.blocks.capacity() * size_of::<BlockFlow>()
            + (self.order.capacity() + self.pool.capacity()) * size_of::<BlockId>()
    }

    /// The control-flow graph over node numbers equal to block numbers, laid out as the text is.
    /// O(blocks + edges).
    ///
    /// None for a declaration.
    pub fn cfg(&self) -> Option<Cfg> {
        self.cfg_where(|_| true)
    }

    /// The control-flow graph without the edges to some blocks.
    #[must_use]
    pub fn cfg_without(&self, left_out: &[Node]) -> Option<Cfg> {
        let left_out: FxHashSet<Node> = left_out.iter().copied().collect();
        self.cfg_where(|target| !left_out.contains(&target))
    }

    fn cfg_where(&self, is_wanted: impl Fn(Node) -> bool) -> Option<Cfg> {
        let entry = node_of(self.entry()?);
        let is_by_number = self.order.len() == self.blocks.len()
            && self.order.iter().enumerate().all(|(i, &block)| raw(block) as usize == i);
        let layout: Vec<Node> = match is_by_number {
            true => Vec::new(),
            false => self.order.iter().map(|&block| node_of(block)).collect(),
        };
        let successors = |run: &BlockFlow| {
            let successors = &self.pool[run.start as usize..][..run.len as usize];
            successors.iter().map(|&s| node_of(s)).filter(|&target| is_wanted(target))
        };
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
