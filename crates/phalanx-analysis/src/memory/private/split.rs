//! Incremental update of [`PrivateMemory`] as one table for the whole function.
//!
//! # What
//!
//! The answer stays the same while no edit [concerns](super::dependencies) it, and is known after a
//! block was split, if no other edit affects it. After any other edit it is found from scratch.
//!
//! A split does not change the order of execution, so all versions stay the same
//! ([`PrivateMemoryUpdater::update_split`](super::PrivateMemoryUpdater) says more). But events are
//! numbered by block, and the new block is the last one. So the events that moved there get the
//! last numbers.
//!
//! ```text
//! a: store %x   ; event 0        a:  store %x   ; event 0
//!    load %x    ; event 1            br label %a2
//!    br label %b                 b:  load %x    ; event 1, which was 2
//! b: load %x    ; event 2        a2: load %x    ; event 2, which was 1
//! ```
//!
//! In phis of the successors, the new block replaces the old one as the predecessor. Touches are in
//! the preorder of the dominator tree. There the new block directly follows the old one, so touches
//! keep their positions.
//!
//! **Complexity.** A copy of the tables: O(touches + blocks), and O(instructions of the new block).

use phalanx_ir::{
    Opcode,
    flow::{block_of, node_of},
};

use super::PrivateMemory;
use super::accesses::Access;
use super::update::SplitBlock;
use crate::code::{Code, Environment};
use crate::edited::Edited;
use crate::memory::{UpdatedFact, ssa::Graph};

impl PrivateMemory {
    /// The answer after an edit, without origins: the same if the edit does not concern it, another
    /// one if a block was split, and else not known. `before` and `now` are the graphs.
    #[must_use]
    pub fn update(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        (before, now): (Graph<'_>, Graph<'_>),
        edited: Edited<'_>,
    ) -> UpdatedFact<Self> {
        // Without objects, the graph does not matter.
        let is_same_graph = edited.blocks.is_none() || !self.dependencies.is_known();
        if is_same_graph && !self.objects_depend_on(code, env, edited.insts) {
            return UpdatedFact::Same;
        }
        self.split((code, env), (before, now), edited).unwrap_or(UpdatedFact::Unknown)
    }

    /// Whether another answer is equal, including its dependency set. Only then may `self` be
    /// retained in its place.
    #[must_use]
    pub fn says_as_much(&self, other: &Self) -> bool {
        (self, &self.dependencies, &self.affected) == (other, &other.dependencies, &other.affected)
            && (self.is_plain, &self.users) == (other.is_plain, &other.users)
    }

    /// The answer after an edit. `None` if the edit did not split a block, or also affects objects
    /// in another way.
    fn split(
        &self,
        (code, env): (Code<'_>, Environment<'_>),
        (before, now): (Graph<'_>, Graph<'_>),
        edited: Edited<'_>,
    ) -> Option<UpdatedFact<Self>> {
        let block = SplitBlock::between(before.cfg, (now.cfg, now.dom), edited.blocks?)?;
        let body = code.body;
        let mut moved = body.block_insts(block_of(block.new));
        if !self.dependencies.is_known()
            || moved.any(|inst| body.inst(inst).opcode == Opcode::Alloca)
            || !follows_at_once((before, now), block)
            || self.objects_depend_on(code, env, edited.own)
        {
            return None;
        }
        let mut joins = code.flow.successors(block_of(block.new)).to_vec();
        joins.retain(|&join| !self.ssa.phis_of(node_of(join)).is_empty());
        joins.sort_unstable();
        joins.dedup();
        let is_moved = |inst| body.block_of(inst).map(node_of) == Some(block.new);
        let stands_there = |access: &Access| access.block == block.first && is_moved(access.inst);
        if joins.is_empty() && !self.dependencies.accesses.iter().any(stands_there) {
            return Some(UpdatedFact::Same);
        }
        let mut new = self.clone();
        let accesses = new.dependencies.accesses.iter_mut().filter(|access| stands_there(access));
        accesses.for_each(|access| access.block = block.new);
        let events = self.events.of(block.first);
        let kept = events.take_while(|&event| !is_moved(self.touch_of(event).inst));
        let numbers = new.events.split((block.first, block.new), kept.count() as u32);
        new.ssa.renumber(numbers);
        numbers.rotate(&mut new.touch_of);
        new.touches.iter_mut().for_each(|touch| touch.event = numbers.of(touch.event));
        for join in joins {
            new.ssa.come_from(node_of(join), (block.first, block.new));
        }
        Some(UpdatedFact::Other(new))
    }
}

/// Whether all blocks have the same order in the preorder of the dominator tree, and the new one
/// directly follows the split one.
fn follows_at_once((before, now): (Graph<'_>, Graph<'_>), block: SplitBlock) -> bool {
    let (old, new) = (before.dom.preorder(), now.dom.preorder());
    let Some(at) = new.iter().position(|&node| node == block.new) else { return false };
    new.len() == old.len() + 1
        && at > 0
        && new[at - 1] == block.first
        && new[..at] == old[..at]
        && new[at + 1..] == old[at..]
}
