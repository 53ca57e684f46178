//! Incremental update of MemorySSA after edits.
//!
//! # What
//!
//! The [form](crate::memory::form) changes only if the graph does, or if an instruction is
//! inserted, removed, moved, or does something else to memory than before. What an instruction does
//! depends on the instruction and on attributes of functions. Whether a load reads memory that
//! never changes depends on three things: attributes and constant variables, which the caller of
//! the update knows to be unchanged; marks on loads, of which the caller lists the changed ones;
//! and the chain of steps and casts from which the address is computed.
//!
//! # How
//!
//! For the last of these, an edit matters to a load only if it has changed an instruction on that
//! chain. Take the changed instruction nearest to the load: all instructions between it and the
//! load are unchanged. So a walk along def-use lists, down from the changed instruction over steps
//! and casts, finds the load. From each changed address the walk visits a bounded number of
//! instructions; beyond that the update gives up.
//!
//! **Complexity.** That of [`Form::update`](crate::memory::form), and at most [`MADE`] visits for
//! each changed address.

use phalanx_ir::{Body, InstId, Opcode};

use super::{ClassicMemorySsa, does};
use crate::code::{Code, Environment};
use crate::edited::Edited;
use crate::memory::{
    UpdatedFact,
    form::{Does, Graphs, Look},
    origins::is_pointer,
};

/// The largest number of instructions that are visited from a changed address.
const MADE: usize = 256;

impl ClassicMemorySsa {
    /// The form after an edit. `never_changes` is as for [`ClassicMemorySsa::new`]; the second part
    /// of the last argument lists further loads for which its answer has changed. Attributes of
    /// functions and constant variables are unchanged.
    #[must_use]
    pub fn update(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        graphs: Graphs<'_>,
        never_changes: &dyn Fn(InstId) -> bool,
        (edited, others): (Edited<'_>, &[InstId]),
    ) -> UpdatedFact<Self> {
        let Edited { insts, own, blocks } = edited;
        let body = code.body;
        let mut looked = Vec::with_capacity(insts.len() + others.len());
        let look = |inst: InstId| {
            let is_there = body.block_of(inst).is_some();
            let does = if is_there { does(code, env, inst, never_changes) } else { Does::NOTHING };
            Look { inst, does }
        };
        // An instruction that only has moved with its block does the same as before.
        let again = |inst: InstId| Look { inst, does: self.form.does(inst) };
        let all = edited.each().map(|(inst, is_own)| if is_own { look(inst) } else { again(inst) });
        looked.extend(all);
        looked.extend(others.iter().map(|&inst| look(inst)));
        for &inst in own {
            if is_pointer(code, body.inst(inst).ty)
                && !each_load(body, inst, |load| looked.push(look(load)))
            {
                return UpdatedFact::Unknown;
            }
        }
        match self.form.update(body, graphs, &looked, blocks) {
            UpdatedFact::Same => UpdatedFact::Same,
            UpdatedFact::Other(form) => UpdatedFact::Other(Self { form }),
            UpdatedFact::Unknown => UpdatedFact::Unknown,
        }
    }
}

/// Calls `call` for each load whose address is computed from `address` by steps and casts. Returns
/// false if the bound is exceeded.
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
