//! How MemorySSA follows edits.
//!
//! # What
//!
//! The [form](crate::memory::form) is another one only where an instruction does something else to
//! memory than before, comes, goes or moves, or where the graph is another one. What an instruction
//! does follows from itself and from what functions promise. Whether what a load reads never
//! changes follows from promises, which are known to be the same to whoever keeps the form, from
//! marks, of which it tells what has changed, and from what the address is made from by steps and
//! casts.
//!
//! # How
//!
//! A load is another one only if an instruction on the way from its address up has been changed.
//! Let the first of these be the one next to the load: all before it are as they were, so the load
//! is found from it by going down from addresses to what is made from them. From each changed
//! address that is done for a bounded number of instructions; beyond, nothing is known.
//!
//! **Complexity.** That of [`Form::follow`](crate::memory::form); times the bound for changed
//! instructions that are addresses.

use phalanx_ir::{Body, InstId, Opcode};

use super::{ClassicMemorySsa, does};
use crate::code::{Code, Surroundings};
use crate::edited::Edited;
use crate::memory::{
    Followed,
    form::{Does, Graphs, Look},
    origins::is_pointer,
};

/// How many instructions are visited that are made from a changed address.
const MADE: usize = 256;

impl ClassicMemorySsa {
    /// The form after an edit, where something else is said by `never_changes`, as for
    /// [`ClassicMemorySsa::new`], of some other loads. Promises of functions and constant variables
    /// are the same.
    #[must_use]
    pub fn follow(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        graphs: Graphs<'_>,
        never_changes: &dyn Fn(InstId) -> bool,
        (edited, others): (Edited<'_>, &[InstId]),
    ) -> Followed<Self> {
        let Edited { insts, own, blocks } = edited;
        let body = code.body;
        let mut looked = Vec::with_capacity(insts.len() + others.len());
        let look = |inst: InstId| {
            let is_there = body.block_of(inst).is_some();
            let does =
                if is_there { does(code, around, inst, never_changes) } else { Does::NOTHING };
            Look { inst, does }
        };
        // What stands in another block than before does what it did.
        let again = |inst: InstId| Look { inst, does: self.form.does(inst) };
        let all = edited.each().map(|(inst, is_own)| if is_own { look(inst) } else { again(inst) });
        looked.extend(all);
        looked.extend(others.iter().map(|&inst| look(inst)));
        for &inst in own {
            if is_pointer(code, body.inst(inst).ty)
                && !each_load(body, inst, |load| looked.push(look(load)))
            {
                return Followed::Unknown;
            }
        }
        match self.form.follow(body, graphs, &looked, blocks) {
            Followed::Same => Followed::Same,
            Followed::Other(form) => Followed::Other(Self { form }),
            Followed::Unknown => Followed::Unknown,
        }
    }
}

/// Calls for loads from what is made from an address by steps and casts; false if there is too much
/// of that.
fn each_load(body: &Body, address: InstId, mut call: impl FnMut(InstId)) -> bool {
    let mut work: smallvec::SmallVec<[InstId; 8]> = smallvec::SmallVec::from_slice(&[address]);
    let mut left = MADE;
    while let Some(address) = work.pop() {
        for read in body.uses_of(address.into()).filter(|read| read.index == 0) {
            let Some(rest) = left.checked_sub(1) else { return false };
            left = rest;
            match body.inst(read.user).opcode {
                Opcode::Load => call(read.user),
                Opcode::GetElementPtr | Opcode::AddrSpaceCast => work.push(read.user),
                _ => {}
            }
        }
    }
    true
}
