//! What an answer is brought up to date with: instructions that have changed since, and blocks.

use phalanx_ir::{BlockId, InstId};

/// What has changed in a function since an answer was found.
#[derive(Clone, Copy, Debug)]
pub struct Edited<'a> {
    /// Instructions that were inserted, removed, moved, or are another operation or read other
    /// operands. If blocks are others: also all that stand in one of these, and phis behind them.
    /// Sorted.
    pub insts: &'a [InstId],
    /// Those of them that have changed themselves, or that may be reached or listed and were not,
    /// or the other way round. The others are what they were, and read what they read, in other
    /// blocks. Sorted.
    pub own: &'a [InstId],
    /// None: blocks, edges, and the order of blocks are the same. Else the blocks that were added
    /// or removed, lead elsewhere, hold instructions that another block held, stand elsewhere in
    /// the text, or are reached or listed and were not, or the other way round. Sorted. All others
    /// lead where they led, and those of them that are listed have kept their order.
    pub blocks: Option<&'a [BlockId]>,
}

impl<'a> Edited<'a> {
    /// Of instructions alone.
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
