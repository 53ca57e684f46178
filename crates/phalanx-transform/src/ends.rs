//! Where threads of a group may be lost that the graph does not show: at calls that do not come
//! back in all of them.
//!
//! A call may end the thread, wait for ever, or unwind (`llvm.amdgcn.kill`, functions that are not
//! `willreturn nounwind`). Behind it the group is smaller, though no branch separates anybody.
//! [`same_set`](phalanx_core::legality::same_set) looks at the graph alone, so who takes its answer
//! for two places asks here whether anything between them ends threads. Accesses of memory come
//! back: a trap ends all threads.
//!
//! O(instructions) once; a question O(blocks between), and O(1) in a function where all calls come
//! back.

use phalanx_core::legality::same_set::between;
use phalanx_graph::{Cfg, Cycles};
use phalanx_ir::{
    BlockId, InstId,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashMap;

use crate::code::Code;

/// A place in a block.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Place {
    Before(InstId),
    EndOf(BlockId),
}

/// The calls of a function that need not come back. See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// How many of them are in a block that has any.
    in_block: FxHashMap<BlockId, usize>,
    /// How many are before an instruction of such a block.
    before: FxHashMap<InstId, usize>,
}

impl Ends {
    /// Those of a function.
    pub(crate) fn new(code: &Code<'_>) -> Ends {
        let mut ends = Ends::default();
        let is_end = |inst: &InstId| {
            code.body.inst(*inst).opcode.is_call() && !code.call(*inst).comes_back()
        };
        for &block in code.flow.order() {
            if !code.body.block_insts(block).any(|inst| is_end(&inst)) {
                continue;
            }
            let mut count = 0;
            for inst in code.body.block_insts(block) {
                ends.before.insert(inst, count);
                count += usize::from(is_end(&inst));
            }
            ends.in_block.insert(block, count);
        }
        ends
    }

    /// Whether everybody who executes an instruction and goes ways to a place below it comes there.
    /// The threads that are together at the one are a
    /// [`same_set`](phalanx_core::legality::same_set) with those at the other by the graph.
    pub(crate) fn all_come(
        &self,
        code: &Code<'_>,
        (cfg, cycles): (&Cfg, &Cycles),
        upper: InstId,
        lower: Place,
    ) -> bool {
        if self.in_block.is_empty() {
            return true;
        }
        let Some(above) = code.body.block_of(upper) else { return false };
        let below = match lower {
            Place::Before(inst) => code.body.block_of(inst),
            Place::EndOf(block) => Some(block),
        };
        let Some(below) = below else { return false };
        let of_block = |block: BlockId| self.in_block.get(&block).copied().unwrap_or(0);
        let before = |inst: InstId| self.before.get(&inst).copied().unwrap_or(0);
        let above_lower = match lower {
            Place::Before(inst) => before(inst),
            Place::EndOf(block) => of_block(block),
        };
        if above == below {
            return above_lower == before(upper);
        }
        if above_lower != 0 || before(upper) != of_block(above) {
            return false;
        }
        let between = between(cfg, cycles, node_of(above), node_of(below));
        between.is_some_and(|blocks| blocks.iter().all(|&node| of_block(block_of(node)) == 0))
    }
}
