//! The accesses of a function as a persistent list by block: copies share unchanged blocks.
//!
//! # Why
//!
//! The previous answer is still in use elsewhere when an edit changes the list. With a flat list,
//! an edit of one access would copy all accesses.
//!
//! # How
//!
//! A *row* has the accesses of one block in order, and rows are stored in
//! [pages](crate::memory::pages). [`Listed`] also maps each instruction to its row, so that an
//! update finds the rows to change.
//!
//! **Complexity.** Replacing a row: O(accesses of the block), and a copy of a page. Comparing a
//! list with an edited copy: O(pages).

use std::sync::Arc;

use phalanx_ir::{BlockId, InstId, flow::node_of};
use rustc_hash::FxHashMap;

use super::{Access, accesses_memory};
use crate::{code::Code, memory::pages::Pages};

/// The accesses of one block; `None` if it has none.
type Row = Option<Arc<[Access]>>;

/// The accesses of a function. Equal if they have the same accesses in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// By block.
    rows: Pages<Row>,
    /// The blocks in the order of the function.
    order: Arc<[BlockId]>,
}

impl Accesses {
    /// Builds the list of a function. `access` is called in the order of its instructions.
    pub(super) fn new(code: Code<'_>, mut access: impl FnMut(InstId) -> Option<Access>) -> Self {
        let mut rows: Vec<Row> = vec![None; code.flow.id_count()];
        for &block in code.flow.order() {
            let row: Arc<[Access]> = code.body.block_insts(block).filter_map(&mut access).collect();
            rows[node_of(block).index()] = Some(row).filter(|row| !row.is_empty());
        }
        Accesses { rows: Pages::new(&rows), order: code.flow.order().into() }
    }

    /// The accesses of one block, in order.
    #[must_use]
    pub fn of(&self, block: BlockId) -> &[Access] {
        let row = self.rows.get(node_of(block).index());
        row.and_then(Option::as_deref).unwrap_or_default()
    }

    /// All accesses, in the order of the function.
    pub fn iter(&self) -> impl Iterator<Item = &Access> + '_ {
        self.order.iter().flat_map(|&block| self.of(block))
    }

    /// Sets the order of the blocks. Returns whether it has changed.
    fn reorder(&mut self, order: &[BlockId]) -> bool {
        let is_other = *self.order != *order;
        if is_other {
            self.order = order.into();
        }
        is_other
    }

    fn set(&mut self, block: BlockId, row: &[Access]) {
        let row: Row = Some(row).filter(|row| !row.is_empty()).map(Arc::from);
        self.rows.set(node_of(block).index(), row);
    }
}

/// Accesses, with the row of each instruction.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) answer: Arc<Accesses>,
    /// By instruction.
    homes: Vec<Option<BlockId>>,
}

/// The largest number of steps in the search for a neighbouring access.
const NEAR: usize = 64;

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

impl Listed {
    pub(super) fn new(code: Code<'_>, answer: Arc<Accesses>) -> Self {
        let mut homes = vec![None; code.body.id_count()];
        for &block in &*answer.order {
            for access in answer.of(block) {
                homes[number(access.inst)] = Some(block);
            }
        }
        Listed { answer, homes }
    }

    /// The block in whose row an instruction is.
    pub(super) fn home(&self, inst: InstId) -> Option<BlockId> {
        self.homes.get(number(inst)).copied().flatten()
    }

    /// The blocks whose rows a changed instruction may affect: it may be inserted, removed, or
    /// moved there.
    pub(super) fn affected(
        &self,
        code: Code<'_>,
        inst: InstId,
    ) -> impl Iterator<Item = BlockId> + use<> {
        let is_access = accesses_memory(code.body.inst(inst).opcode);
        let now = code.body.block_of(inst).filter(|_| is_access);
        let before = self.home(inst);
        let is_in_place = now.is_some_and(|block| {
            before == now && self.is_in_place(code, block, inst).unwrap_or(false)
        });
        [before, now].into_iter().flatten().filter(move |_| !is_in_place)
    }

    /// Whether the accesses next to an instruction in its block are the same as before. `None` if
    /// they are too far away.
    fn is_in_place(&self, code: Code<'_>, block: BlockId, inst: InstId) -> Option<bool> {
        let row = self.answer.of(block);
        let at = row.iter().position(|access| access.inst == inst)?;
        let inst_at = |at: Option<usize>| at.and_then(|at| row.get(at)).map(|access| access.inst);
        let body = code.body;
        let before = self.nearest(block, inst, |inst| body.prev(inst))?;
        let behind = self.nearest(block, inst, |inst| body.next(inst))?;
        Some(before == inst_at(at.checked_sub(1)) && behind == inst_at(at.checked_add(1)))
    }

    /// The nearest instruction on one side that is in the row of a block. `None` if it is too far
    /// away.
    fn nearest(
        &self,
        block: BlockId,
        mut at: InstId,
        step: impl Fn(InstId) -> Option<InstId>,
    ) -> Option<Option<InstId>> {
        for _ in 0..NEAR {
            let Some(next) = step(at) else { return Some(None) };
            if self.home(next) == Some(block) {
                return Some(Some(next));
            }
            at = next;
        }
        None
    }

    /// Rebuilds the row of a block. An access that is already in it is reused, unless it
    /// `is_dirty`.
    pub(super) fn again(
        &self,
        code: Code<'_>,
        block: BlockId,
        is_dirty: impl Fn(InstId) -> bool,
        mut look: impl FnMut(InstId) -> Option<Access>,
    ) -> Vec<Access> {
        let known: FxHashMap<InstId, &Access> =
            self.answer.of(block).iter().map(|access| (access.inst, access)).collect();
        let insts = code.body.block_insts(block);
        let accesses = insts.filter(|&inst| accesses_memory(code.body.inst(inst).opcode));
        let found = accesses.filter_map(|inst| match known.get(&inst) {
            Some(access) if !is_dirty(inst) => Some(**access),
            _ => look(inst),
        });
        found.collect()
    }

    /// Sets the order of the blocks. Returns whether it has changed.
    pub(super) fn reorder(&mut self, order: &[BlockId]) -> bool {
        *self.answer.order != *order && Arc::make_mut(&mut self.answer).reorder(order)
    }

    /// Replaces rows. Returns whether any of them has changed.
    pub(super) fn replace(&mut self, rows: &[(BlockId, Vec<Access>)]) -> bool {
        let is_other = |(block, row): &&(BlockId, Vec<Access>)| self.answer.of(*block) != *row;
        let others: Vec<&(BlockId, Vec<Access>)> = rows.iter().filter(is_other).collect();
        if others.is_empty() {
            return false;
        }
        // An access may have moved from one of these blocks to another.
        for (block, _) in &others {
            for access in self.answer.of(*block) {
                self.homes[number(access.inst)] = None;
            }
        }
        let answer = Arc::make_mut(&mut self.answer);
        for (block, row) in others {
            answer.set(*block, row);
            for access in row {
                let at = number(access.inst);
                if self.homes.len() <= at {
                    self.homes.resize(at + 1, None);
                }
                self.homes[at] = Some(*block);
            }
        }
        true
    }
}
