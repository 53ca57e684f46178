//! Incremental update of private memory after a block was split, without other changes of the
//! graph.
//!
//! # What
//!
//! A split moves instructions to a new block behind the old one. It does not change the order of
//! execution, and the new block dominates what the old one dominated. So all versions stay the
//! same. In phis of the successors, the new block replaces the old one as the predecessor.
//!
//! ```text
//! a:                     a:
//!   store i32 1, ptr %x    store i32 1, ptr %x
//!   store i32 2, ptr %x    br label %b
//!   br label %c          b:
//!                          store i32 2, ptr %x
//!                          br label %c
//! c: phi of %x: a          c: phi of %x: b
//! ```
//!
//! [`Part`]s list the moved touches, since dependent tables record the blocks of values.
//!
//! **Complexity.** O(instructions of the new block + patches * successors), and O(phis of
//! the successors).

use phalanx_graph::{Cfg, DomTree, Node, change::Change};
use phalanx_ir::{
    BlockId, InstId, Opcode,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashMap;

use super::{Changed, Part, Patch, PrivateMemoryUpdater, is_apart};
use crate::code::{Code, Environment};

/// A block that was split: its first half, and the new block with its second half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitBlock {
    pub(crate) first: Node,
    pub(crate) new: Node,
}

impl SplitBlock {
    /// The split block, if a split is the only difference between two graphs. `touched` may list no
    /// other blocks, so each instruction in the new block comes from the old one or has changed
    /// itself.
    pub(crate) fn between(
        before: &Cfg,
        (cfg, dom): (&Cfg, &DomTree),
        touched: &[BlockId],
    ) -> Option<Self> {
        let Some(Change::Split(first)) = Change::between(before, cfg) else { return None };
        let new = Node::new(before.node_count());
        let mut others = touched.iter().map(|&block| node_of(block));
        let is_alone = !touched.is_empty() && others.all(|block| block == first || block == new);
        (is_alone && dom.is_reachable(first)).then_some(SplitBlock { first, new })
    }
}

/// The changes by patch.
#[derive(Default)]
struct Parts(FxHashMap<u32, Part>);

impl Parts {
    fn of(&mut self, patch: u32) -> &mut Part {
        self.0.entry(patch).or_insert_with(|| Part { patch, ..Part::default() })
    }
}

impl PrivateMemoryUpdater {
    /// Updates the state after a split, if the other changed instructions do not affect objects.
    /// `None`, with unchanged facts, in three cases: they may affect objects; the set of returns
    /// has changed; or an alloca has left the entry block, so that it is no object any more.
    pub(crate) fn update_split(
        &mut self,
        (code, env): (Code<'_>, Environment<'_>),
        dom: &DomTree,
        block: SplitBlock,
        changed: &[InstId],
    ) -> Option<Changed> {
        let body = code.body;
        let mut moved = body.block_insts(block_of(block.new));
        if moved.any(|inst| body.inst(inst).opcode == Opcode::Alloca) {
            return None;
        }
        if self.pointees.as_ref().is_some_and(|of| of.has_other_returns(code, dom, changed)) {
            return None;
        }
        self.free_last();
        self.divide();
        let others: Vec<InstId> =
            changed.iter().copied().filter(|&inst| !is_apart(code, inst)).collect();
        let has_nothing = |&inst: &InstId| {
            self.by_inst.get(inst).is_none() && self.accessed(code, inst, changed) == Some(None)
        };
        if !others.iter().all(has_nothing) {
            return None;
        }
        let turned = self.origins.update(code, env, &others)?;
        if turned.all().next().is_some() {
            self.origins.turn(&turned);
            return None;
        }
        let mut parts = Parts::default();
        for inst in body.block_insts(block_of(block.new)) {
            if body.inst(inst).opcode == Opcode::Ret {
                let touches = |patch: &Patch| patch.memory.first.get(inst).is_some();
                let all = (0..).zip(&self.patches).filter(|(_, patch)| touches(patch));
                all.for_each(|(patch, _)| parts.of(patch).insts.push(inst));
            } else if let Some(patch) = self.by_inst.get(inst)
                && self.patches[patch as usize].memory.first.get(inst).is_some()
            {
                parts.of(patch).insts.push(inst);
            }
        }
        let mut joins = code.flow.successors(block_of(block.new)).to_vec();
        joins.sort_unstable();
        joins.dedup();
        for (number, patch) in (0..).zip(&mut self.patches) {
            for &join in &joins {
                let phis = patch.memory.ssa.come_from(node_of(join), (block.first, block.new));
                if !phis.is_empty() {
                    parts.of(number).phis.extend(phis.map(|at| at as u32));
                }
            }
        }
        let mut parts: Vec<Part> = parts.0.into_values().collect();
        parts.sort_unstable_by_key(|part| part.patch);
        self.looks.in_part += u64::from(!parts.is_empty());
        Some(Changed { parts, ..Changed::default() })
    }
}
