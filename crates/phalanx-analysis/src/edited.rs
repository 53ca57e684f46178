//! What changed in a function since an answer was found: the input of each incremental update.

use phalanx_ir::{BlockId, InstId};

/// What has changed in a function since an answer was found.
#[derive(Clone, Copy, Debug)]
pub struct Edited<'a> {
    /// Instructions that were inserted, removed or moved, or that have another operation or other
    /// operands. If `blocks` is given, also all instructions of these blocks, and the phis of
    /// their successors. Sorted.
    pub insts: &'a [InstId],
    /// The part of `insts` that has changed itself, or whose block has become or ceased to be
    /// reachable or listed. The other members of `insts` have the same operation and operands as
    /// before, and are listed because of their blocks. Sorted.
    pub own: &'a [InstId],
    /// `None`: blocks, edges, and the order of blocks are the same. Otherwise the blocks that were
    /// added or removed, that have other successors, that hold instructions which another block
    /// held, that stand elsewhere in the text, or that have become or ceased to be reachable or
    /// listed. Sorted. All other blocks have the successors that they had, and those of them that
    /// are listed are in the same order.
    pub blocks: Option<&'a [BlockId]>,
}

impl<'a> Edited<'a> {
    /// Changed instructions, while blocks, edges and the order of blocks are the same.
    #[must_use]
    pub fn insts(insts: &'a [InstId]) -> Self {
        Edited { insts, own: insts, blocks: None }
    }

    /// All instructions, and whether each has changed itself. O(instructions).
    pub fn each(self) -> impl Iterator<Item = (InstId, bool)> {
        let mut own = self.own.iter().peekable();
        self.insts.iter().map(move |inst| (*inst, own.next_if(|&first| first == inst).is_some()))
    }
}
