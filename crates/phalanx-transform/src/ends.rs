//! Calls that some threads of a group may not return from: places where a group loses threads
//! although the graph shows no branch.
//!
//! A call may end the thread, wait for ever, or unwind: `llvm.amdgcn.kill`, or a function that is
//! not `willreturn nounwind`. Behind the call the group is smaller, though no branch separates its
//! threads. [`same_set`](phalanx_core::legality::same_set) looks at the graph alone. A transform
//! that relies on it for two places must ask [`Ends`] whether a call between them may end threads.
//! Memory accesses always return: a trap ends all threads.
//!
//! ```text
//!   %a = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
//!   call void @llvm.amdgcn.kill(i1 %live)          ; some threads end here
//!   %b = call i64 @llvm.amdgcn.ballot.i64(i1 %c)   ; a smaller group: %b may differ from %a
//! ```
//!
//! Construction is O(instructions). A query is O(blocks between the places), and O(1) in a function
//! where all calls return.

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
pub(crate) enum InstPlace {
    Before(InstId),
    EndOf(BlockId),
}

/// The calls of a function that may not return. See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// The number of such calls in each block that has any.
    in_block: FxHashMap<BlockId, usize>,
    /// The number of such calls before each instruction of such a block.
    before: FxHashMap<InstId, usize>,
}

impl Ends {
    /// Finds such calls of a function.
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

    /// Whether every thread that executes an instruction, and takes a path to a place below it,
    /// arrives there. By the graph, the threads that are together at the instruction are those that
    /// are together at the place ([`same_set`](phalanx_core::legality::same_set)).
    pub(crate) fn all_come(
        &self,
        code: &Code<'_>,
        (cfg, cycles): (&Cfg, &Cycles),
        upper: InstId,
        lower: InstPlace,
    ) -> bool {
        if self.in_block.is_empty() {
            return true;
        }
        let Some(above) = code.body.block_of(upper) else { return false };
        let below = match lower {
            InstPlace::Before(inst) => code.body.block_of(inst),
            InstPlace::EndOf(block) => Some(block),
        };
        let Some(below) = below else { return false };
        let of_block = |block: BlockId| self.in_block.get(&block).copied().unwrap_or(0);
        let before = |inst: InstId| self.before.get(&inst).copied().unwrap_or(0);
        let above_lower = match lower {
            InstPlace::Before(inst) => before(inst),
            InstPlace::EndOf(block) => of_block(block),
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
