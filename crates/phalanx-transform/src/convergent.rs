//! The properties of a convergent operation that decide where it may move.

use phalanx_ir::{
    InstFlags, InstId, Opcode, Type,
    attributes::{Access, MemoryEffects, MemoryLocation},
};
use phalanx_target::{Scope, intrinsics::Family};

use crate::code::Code;

/// A convergent operation that is an intrinsic without operand bundles, so that its scope and
/// effects are known.
///
/// An operation with a convergence token has its groups from the token, and moving it needs the
/// rules of tokens. So [`Operation::of`] gives none for it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Operation {
    /// Within which threads it communicates.
    pub scope: Scope,
    /// What it does to memory.
    pub memory: MemoryEffects,
    /// It comes back.
    pub will_return: bool,
}

impl Operation {
    /// The convergent operation that an instruction is; none if it is no such intrinsic.
    pub(crate) fn of(code: &Code<'_>, inst: InstId) -> Option<Operation> {
        let data = code.body.inst(inst);
        if data.opcode != Opcode::Call
            || data.ty == Type::TOKEN
            || data.flags.contains(InstFlags::MUST_TAIL)
            || !code.body.call_info(inst).bundles.is_empty()
        {
            return None;
        }
        let facts = code.call(inst);
        let intrinsic = facts.intrinsic?;
        if !facts.is_convergent || intrinsic.info.noduplicate || intrinsic.info.noreturn {
            return None;
        }
        let memory = facts.memory;
        let is_of_wave = memory.is_none()
            || intrinsic.family == Family::Nvvm
                && ["vote.", "shfl.", "redux.", "match.", "elect."]
                    .iter()
                    .any(|prefix| intrinsic.base.starts_with(prefix));
        let scope = match intrinsic.info.barrier {
            Some(barrier) => barrier.scope,
            None if is_of_wave => Scope::Wave,
            None => Scope::Grid,
        };
        Some(Operation { scope, memory, will_return: facts.comes_back() })
    }

    /// It gives a value, and does nothing else.
    pub(crate) fn is_pure(&self) -> bool {
        self.memory.is_none() && self.will_return
    }

    /// Whether it may be executed before an instruction that stands before it.
    pub(crate) fn passes(&self, code: &Code<'_>, inst: InstId) -> bool {
        let data = code.body.inst(inst);
        // Whether the other instruction accesses memory that has addresses, whether it accesses
        // other state, and whether it returns.
        let (memory, state, comes_back) = match data.opcode {
            Opcode::Load | Opcode::Store if !code.has_order(inst) => (true, false, true),
            Opcode::Call => {
                let facts = code.call(inst);
                let state = facts.memory.access(MemoryLocation::InaccessibleMem) != Access::None;
                let returns = facts.comes_back();
                (!facts.memory.only_inaccessible(), state, returns)
            }
            Opcode::Fence | Opcode::AtomicRmw | Opcode::CmpXchg => (true, true, true),
            Opcode::Load | Opcode::Store => (true, true, false),
            _ => return !code.has_side_effects(inst),
        };
        // An operation that may wait for ever must not move before an effect that other threads can
        // see.
        if !comes_back || !self.will_return && code.has_side_effects(inst) {
            return false;
        }
        match (self.memory.is_none(), self.memory.only_inaccessible()) {
            (true, _) => true,
            (false, true) => !state,
            (false, false) => !memory && !state,
        }
    }
}
