//! Which changes of instructions leave the HSSA form of a function as it is.
//!
//! # What
//!
//! The form follows from the touches of each block in their order, from private memory, and from the graph. So with the same private memory and
//! the same graph it is the same if no instruction touches other classes than before, and those that touch any stand where they stood among
//! them ([`place`](crate::memory::place)). What an instruction touches follows from
//!
//! - itself: its operation, ordering, flags, the types of its operands, and what it calls. A change of these is in the journal;
//! - whether it touches private slots: from private memory;
//! - which objects its arguments are made from. They are looked for a number of steps up, so the same private memory does not say that as many are
//!   found: a change of a step counts;
//! - where its operands may lead ([`MemoryKinds`](crate::spaces::MemoryKinds)): that may change although the instruction does not, so whoever reads
//!   a value of which something else is known is looked at as well;
//! - what the functions that it calls promise and do: whoever keeps the form knows that these are the same.
//!
//! Nothing else is read, so an instruction that touches no class, before and after, is nothing to it.
//!
//! **Complexity.** O(changed instructions and users of values that lead elsewhere), each a look at the instruction.

use std::sync::Arc;

use phalanx_ir::{Body, InstId, flow::node_of};

use super::{MemorySsa, Reach, Scan};
use crate::lower::{Code, Surroundings};
use crate::memory::{PrivateMemory, place::neighbours};

impl MemorySsa {
    /// Whether it was made with this very private memory.
    #[must_use]
    pub fn is_with(&self, private: &Arc<PrivateMemory>) -> bool {
        Arc::ptr_eq(&self.private, private)
    }

    /// Whether anything here may be otherwise after some instructions were inserted, removed, moved or changed, and something else is known of
    /// where the results of `others` lead. The graph, private memory and what is known of calls are the same.
    #[must_use]
    pub fn concerns(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        reach: Reach<'_>,
        changed: &[InstId],
        others: &[InstId],
    ) -> bool {
        let scan = Scan { code, around, private: &self.private, reach };
        let is_other = |inst: InstId| {
            let before = self.of(inst).iter().map(|touch| (touch.class, touch.is_chi));
            let now = (code.body.block_of(inst).is_some()).then(|| scan.touches(inst));
            !before.eq(now.into_iter().flatten())
        };
        let users = |value: &InstId| code.body.uses_of((*value).into()).map(|read| read.user);
        let is_concerned = |inst: InstId| {
            is_other(inst) || !self.is_in_place(code.body, inst) || self.private.is_address(inst)
        };
        changed.iter().any(|&inst| is_concerned(inst))
            || others.iter().flat_map(users).any(is_other)
    }

    /// Whether the instructions that touch classes before and behind one are those that they were. What touches none is anywhere.
    fn is_in_place(&self, body: &Body, inst: InstId) -> bool {
        let touches = self.of(inst);
        let (Some(first), Some(last)) = (touches.first(), touches.last()) else { return true };
        let Some(block) = body.block_of(inst) else { return false };
        let events = self.events.of(node_of(block));
        if !events.contains(&first.event) {
            return false;
        }
        // Touches of a block stand together, in the order of their events.
        let at = self.first[inst.into_raw().into_u32() as usize] as usize - 1;
        let end = at + touches.len();
        let before = (first.event > events.start).then(|| self.touches[at - 1].inst);
        let behind = (last.event + 1 < events.end).then(|| self.touches[end].inst);
        let now = neighbours(body, inst, |inst| !self.of(inst).is_empty());
        now == Some([before, behind])
    }
}
