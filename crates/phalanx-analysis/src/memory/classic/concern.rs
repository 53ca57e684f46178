//! Which changes of instructions leave MemorySSA as it is.
//!
//! # What
//!
//! The form follows from which instructions of each block define and use memory, in their order, and from the graph. So with the same graph, it is
//! the same if no instruction comes to define or use memory or ceases to, those that do stand where they stood
//! ([`place`](crate::memory::place)), and no use of what never changes becomes another. What an instruction does to memory follows from itself and from what
//! functions promise. Whether what a load reads never changes follows from marks and promises, which are known to be the same to whoever
//! keeps the form, and from what the address is made from by steps and casts.
//!
//! # How
//!
//! A load is another one only if an instruction on the way from its address up has been changed. Let the first of these be the one next to the load: all
//! before it are as they were, so the load is found from it by going down from addresses to what is made from them. From each changed
//! address that is done for a bounded number of instructions; beyond, nothing is known.
//!
//! **Complexity.** O(changed instructions), times the bound for those that are addresses.

use phalanx_ir::{Body, InstId, Opcode, flow::node_of};
use smallvec::SmallVec;

use super::{ClassicMemorySsa, is_constant_use, kind};
use crate::lower::{Code, Surroundings};
use crate::memory::{origins::is_pointer, place::neighbours, ssa::EventKind};

/// How many instructions are visited that are made from a changed address.
const MADE: usize = 256;

impl ClassicMemorySsa {
    /// Whether anything here may be otherwise after these instructions were inserted, removed, moved or changed. The graph, promises of
    /// functions and constant variables are the same; `never_changes` as for [`ClassicMemorySsa::new`].
    #[must_use]
    pub fn concerns(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        never_changes: &dyn Fn(InstId) -> bool,
        changed: &[InstId],
    ) -> bool {
        let body = code.body;
        let is_other_use = |inst: InstId| {
            let before =
                self.event_of(inst).filter(|&e| self.events.event(e).kind == EventKind::Use);
            before.is_some_and(|event| {
                self.constant.contains(&event) != is_constant_use(code, inst, never_changes)
            })
        };
        changed.iter().any(|&inst| {
            let before = self.event_of(inst).map(|event| self.events.event(event).kind);
            let now = body.block_of(inst).and_then(|_| kind(code, around, inst));
            before != now
                || !self.is_in_place(body, inst)
                || is_other_use(inst)
                || is_pointer(code, body.inst(inst).ty)
                    && made_from(body, inst).is_none_or(|made| made.into_iter().any(is_other_use))
        })
    }

    /// Whether the accesses before and behind one are those that they were. What is none is anywhere.
    fn is_in_place(&self, body: &Body, inst: InstId) -> bool {
        let Some(event) = self.event_of(inst) else { return true };
        let Some(block) = body.block_of(inst) else { return false };
        let events = self.events.of(node_of(block));
        let at = |event: u32| events.contains(&event).then(|| self.insts[event as usize]);
        events.contains(&event)
            && neighbours(body, inst, |inst| self.event_of(inst).is_some())
                == Some([event.checked_sub(1).and_then(at), at(event + 1)])
    }
}

/// Loads from what is made from an address by steps and casts; none if there is too much of that.
fn made_from(body: &Body, address: InstId) -> Option<SmallVec<[InstId; 8]>> {
    let mut loads = SmallVec::new();
    let mut work: SmallVec<[InstId; 8]> = SmallVec::from_slice(&[address]);
    let mut left = MADE;
    while let Some(address) = work.pop() {
        for read in body.uses_of(address.into()).filter(|read| read.index == 0) {
            left = left.checked_sub(1)?;
            match body.inst(read.user).opcode {
                Opcode::Load => loads.push(read.user),
                Opcode::GetElementPtr | Opcode::AddrSpaceCast => work.push(read.user),
                _ => {}
            }
        }
    }
    Some(loads)
}
