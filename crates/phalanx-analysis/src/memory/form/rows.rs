//! The touches of memory variables in each block, in order: the first level of the [form](super).
//!
//! A page holds the rows of [`BLOCKS`] blocks with consecutive numbers. So building all rows takes
//! few allocations, and replacing a row costs one page. Within a row a definition is known by its
//! position.
//!
//! **Invariants.** Entries of an instruction are adjacent, in the order of variables. The row of an
//! unreachable block lists its touches only: it has no last definitions, and its entries have no
//! definition before them.
//!
//! **Complexity.** O(touches) from scratch; replacing or adding a row: O(touches of [`BLOCKS`]
//! blocks, and blocks / [`BLOCKS`] / 128).

use std::sync::Arc;

use phalanx_graph::Node;
use phalanx_ir::InstId;

use super::{Does, VARIABLES};
use crate::memory::pages::Pages;

/// Number of blocks per page.
const BLOCKS: usize = 32;

/// What one instruction does to one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) inst: InstId,
    /// The position of the last definition before it in the block, plus one; zero if there is none.
    pub(super) before: u32,
    pub(super) variable: u8,
    pub(super) uses: bool,
    pub(super) defines: bool,
}

/// Where the row of a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    entries: u32,
    last: u32,
    does: Does,
}

/// The row of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) entries: &'a [Entry],
    /// The last definition of each variable that the block defines, in the order of variables.
    last: &'a [InstId],
    /// The union of what its instructions do. Nothing if the block cannot be reached.
    pub(super) does: Does,
}

impl Row<'static> {
    /// The row of a block without touches.
    const EMPTY: Row<'static> = Row { entries: &[], last: &[], does: Does::NOTHING };
}

impl Row<'_> {
    /// The last definition of a variable.
    #[inline]
    pub(super) fn last(&self, variable: u8) -> Option<InstId> {
        let bit = 1u8 << variable;
        if self.does.defines & bit == 0 {
            return None;
        }
        self.last.get((self.does.defines & (bit - 1)).count_ones() as usize).copied()
    }
}

/// Rows of some blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    heads: Vec<Head>,
    entries: Vec<Entry>,
    last: Vec<InstId>,
}

impl Page {
    /// Adds the row of the next block. `insts` are its instructions in order; those that do nothing
    /// may be left out.
    pub(super) fn push(
        &mut self,
        insts: impl Iterator<Item = (InstId, Does)>,
        is_reachable: bool,
    ) -> Row<'_> {
        let start = self.entries.len();
        let first_last = self.last.len();
        // The position of the last definition of each variable, plus one.
        let mut current = [0u32; VARIABLES];
        let mut all = Does::NOTHING;
        for (inst, does) in insts {
            all = all.and(does);
            for variable in bits(does.uses | does.defines) {
                let [uses, defines] = [does.uses, does.defines].map(|set| set >> variable & 1 != 0);
                let last = &mut current[usize::from(variable)];
                let before = if is_reachable { *last } else { 0 };
                self.entries.push(Entry { inst, before, variable, uses, defines });
                if defines {
                    *last = (self.entries.len() - start) as u32;
                }
            }
        }
        let does = if is_reachable { all } else { Does::NOTHING };
        let at = |variable: u8| start + current[usize::from(variable)] as usize - 1;
        self.last.extend(bits(does.defines).map(|variable| self.entries[at(variable)].inst));
        self.heads.push(Head { entries: start as u32, last: first_last as u32, does });
        self.row(self.heads.len() - 1)
    }

    /// The row at this position of the page.
    pub(super) fn row(&self, at: usize) -> Row<'_> {
        let Some(head) = self.heads.get(at) else { return Row::EMPTY };
        let next = self.heads.get(at + 1);
        let end = next.map_or(self.entries.len(), |next| next.entries as usize);
        let last_end = next.map_or(self.last.len(), |next| next.last as usize);
        Row {
            entries: &self.entries[head.entries as usize..end],
            last: &self.last[head.last as usize..last_end],
            does: head.does,
        }
    }

    /// Adds a row as it is.
    fn push_row(&mut self, row: Row<'_>) {
        let (entries, last) = (self.entries.len() as u32, self.last.len() as u32);
        self.heads.push(Head { entries, last, does: row.does });
        self.entries.extend_from_slice(row.entries);
        self.last.extend_from_slice(row.last);
    }
}

/// The rows of all blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pages: Pages<Option<Arc<Page>>>,
    blocks: u32,
}

impl Rows {
    /// The rows of blocks `0..blocks`; `push` adds the row of a block to a page.
    pub(super) fn new(blocks: usize, mut push: impl FnMut(&mut Page, Node)) -> Self {
        let page = |first: usize| {
            let mut page = Page::default();
            page.heads.reserve_exact(BLOCKS.min(blocks - first));
            (first..blocks.min(first + BLOCKS)).for_each(|at| push(&mut page, Node::new(at)));
            Some(Arc::new(page))
        };
        let pages: Vec<Option<Arc<Page>>> = (0..blocks).step_by(BLOCKS).map(page).collect();
        Rows { pages: Pages::new(&pages), blocks: blocks as u32 }
    }

    /// The number of blocks.
    pub(super) fn len(&self) -> usize {
        self.blocks as usize
    }

    #[inline]
    pub(super) fn of(&self, block: Node) -> Row<'_> {
        match self.pages.get(block.index() / BLOCKS) {
            Some(Some(page)) => page.row(block.index() % BLOCKS),
            _ => Row::EMPTY,
        }
    }

    /// The blocks in order of their numbers, with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Node, Row<'_>)> {
        (0..self.len()).step_by(BLOCKS).flat_map(move |first| {
            let page = self.pages.get(first / BLOCKS).and_then(Option::as_ref);
            let end = self.len().min(first + BLOCKS);
            (first..end).map(move |at| {
                (Node::new(at), page.map_or(Row::EMPTY, |page| page.row(at - first)))
            })
        })
    }

    /// The blocks, in order, that use any of a set of variables.
    pub(super) fn using(&self, variables: u8) -> Vec<Node> {
        let mut found = Vec::new();
        for first in (0..self.len()).step_by(BLOCKS) {
            let Some(Some(page)) = self.pages.get(first / BLOCKS) else { continue };
            let uses = page.heads.iter().zip(first..).filter(|(h, _)| h.does.uses & variables != 0);
            found.extend(uses.map(|(_, at)| Node::new(at)));
        }
        found
    }

    /// Replaces the row of each block in `rows` (sorted) by the first row of its page. `blocks` is
    /// the new number of blocks, no smaller than before. A new block without a row in `rows` gets
    /// an empty one.
    pub(super) fn set(&mut self, rows: &[(Node, Page)], blocks: usize) {
        let grown = self.len()..blocks.max(self.len());
        self.blocks = grown.end as u32;
        let mut pages: Vec<usize> = rows.iter().map(|(block, _)| block.index() / BLOCKS).collect();
        pages.extend(grown.clone().step_by(BLOCKS).chain(grown.last()).map(|at| at / BLOCKS));
        pages.sort_unstable();
        pages.dedup();
        let mut new = rows.iter().peekable();
        for at in pages {
            let first = at * BLOCKS;
            let mut page = Page::default();
            for block in (first..self.len().min(first + BLOCKS)).map(Node::new) {
                let new = new.next_if(|(of, _)| *of == block);
                page.push_row(new.map_or_else(|| self.of(block), |(_, page)| page.row(0)));
            }
            self.pages.set(at, Some(Arc::new(page)));
        }
    }
}

/// The members of a set of variables, in order.
pub(super) fn bits(set: u8) -> impl Iterator<Item = u8> {
    (0..VARIABLES as u8).filter(move |variable| set >> variable & 1 != 0)
}
