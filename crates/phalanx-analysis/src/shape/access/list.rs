//! The accesses of a function as a list by block, of which a copy shares the blocks that are not
//! changed.
//!
//! # Why
//!
//! Somebody has the answer of before. If the list were one piece, an edit that concerns one access
//! would copy all.
//!
//! # How
//!
//! A *row* has the accesses of one block in its order, and rows stand in
//! [pages](crate::memory::pages). [`Listed`] knows besides in which row an instruction is, so that
//! rows are found again after an edit.
//!
//! **Complexity.** A row that is replaced: O(accesses of the block), and a page. Comparing two
//! lists, one of which was made from the other: O(pages).

use std::sync::Arc;

use phalanx_ir::{BlockId, InstId, flow::node_of};
use rustc_hash::FxHashMap;

use super::{Access, accesses_memory};
use crate::{code::Code, memory::pages::Pages};

/// The accesses of one block, if it has any.
type Row = Option<Arc<[Access]>>;

/// The accesses of a function. Equal if they are the same in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// By block.
    rows: Pages<Row>,
    /// The blocks in the order of the function.
    order: Arc<[BlockId]>,
}

impl Accesses {
    /// The accesses of the blocks of a function, which are given in its order.
    pub(super) fn new(code: Code<'_>, mut access: impl FnMut(InstId) -> Option<Access>) -> Self {
        let mut rows: Vec<Row> = vec![None; code.flow.id_count()];
        for &block in code.flow.order() {
            let row: Arc<[Access]> = code.body.block_insts(block).filter_map(&mut access).collect();
            rows[node_of(block).index()] = Some(row).filter(|row| !row.is_empty());
        }
        Accesses { rows: Pages::new(&rows), order: code.flow.order().into() }
    }

    /// Those of one block, in its order.
    #[must_use]
    pub fn of(&self, block: BlockId) -> &[Access] {
        let row = self.rows.get(node_of(block).index());
        row.and_then(Option::as_deref).unwrap_or_default()
    }

    /// All, in the order of the function.
    pub fn iter(&self) -> impl Iterator<Item = &Access> + '_ {
        self.order.iter().flat_map(|&block| self.of(block))
    }

    /// States the order of the function. Whether it is another one.
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

/// Accesses, and in which row an instruction is.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) answer: Arc<Accesses>,
    /// By instruction.
    homes: Vec<Option<BlockId>>,
}

/// Steps in which the access next to another one is looked for.
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

    /// The blocks in which accesses may have come, gone, or changed places with this instruction,
    /// which has changed.
    pub(super) fn concerned(
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

    /// Whether the accesses next to one in its block are those that they were.
    fn is_in_place(&self, code: Code<'_>, block: BlockId, inst: InstId) -> Option<bool> {
        let row = self.answer.of(block);
        let at = row.iter().position(|access| access.inst == inst)?;
        let inst_at = |at: Option<usize>| at.and_then(|at| row.get(at)).map(|access| access.inst);
        let body = code.body;
        let before = self.nearest(block, inst, |inst| body.prev(inst))?;
        let behind = self.nearest(block, inst, |inst| body.next(inst))?;
        Some(before == inst_at(at.checked_sub(1)) && behind == inst_at(at.checked_add(1)))
    }

    /// The next instruction to one side that is in the row of a block; none if it is not near.
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

    /// The row of a block put together anew: what is in it already is taken as it is, unless it
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

    /// States the order of the function. Whether it is another one.
    pub(super) fn reorder(&mut self, order: &[BlockId]) -> bool {
        *self.answer.order != *order && Arc::make_mut(&mut self.answer).reorder(order)
    }

    /// Replaces rows; whether any is another one.
    pub(super) fn replace(&mut self, rows: &[(BlockId, Vec<Access>)]) -> bool {
        let is_other = |(block, row): &&(BlockId, Vec<Access>)| self.answer.of(*block) != *row;
        let others: Vec<&(BlockId, Vec<Access>)> = rows.iter().filter(is_other).collect();
        if others.is_empty() {
            return false;
        }
        // An access may have gone from one of these blocks to another.
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
