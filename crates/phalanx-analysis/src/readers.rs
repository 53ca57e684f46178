//! Which instructions look at others by way of addresses: what a fact that is told of single
//! accesses has to look at again after an edit.
//!
//! A fact about an access may follow its address some steps up, to what it is made from. So it may
//! be another when one of these steps is: the accesses are then found from that step on downwards.
//! Who no longer reads a step has changed itself.
//!
//! O(steps and their readers), which is bounded.

use phalanx_ir::{InstId, Opcode, TypeKind};
use rustc_hash::FxHashSet;

use crate::{code::Code, policy::READERS, spaces::MemoryKinds};

/// These instructions, and whatever reads an address that is made from one of them; none if there
/// are too many.
#[must_use]
pub fn of_addresses(code: Code<'_>, changed: &[InstId]) -> Option<Vec<InstId>> {
    let Code { context, body, .. } = code;
    let is_step = |inst: InstId| {
        matches!(
            body.inst(inst).opcode,
            Opcode::GetElementPtr
                | Opcode::AddrSpaceCast
                | Opcode::BitCast
                | Opcode::Freeze
                | Opcode::ExtractElement
        )
    };
    let may_be_address = |inst: &InstId| {
        matches!(context.type_kind(body.inst(*inst).ty), TypeKind::Ptr(_) | TypeKind::Vector { .. })
    };
    let mut found: Vec<InstId> = changed.to_vec();
    let mut seen: FxHashSet<InstId> = changed.iter().copied().collect();
    let mut work: Vec<InstId> = changed.iter().copied().filter(may_be_address).collect();
    while let Some(inst) = work.pop() {
        for read in body.uses_of(inst.into()) {
            let makes_address = is_step(read.user);
            // An index is no step of the way.
            if (makes_address && read.index != 0) || !seen.insert(read.user) {
                continue;
            }
            found.push(read.user);
            if makes_address {
                work.push(read.user);
            }
        }
        if found.len() > changed.len() + READERS {
            return None;
        }
    }
    Some(found)
}

/// What reads an address that leads elsewhere than before; none if that cannot be told by
/// instruction, or there is too much of it.
#[must_use]
pub fn of_kinds(code: Code<'_>, now: &MemoryKinds, before: &MemoryKinds) -> Option<Vec<InstId>> {
    let others = now.other_results(before)?;
    let mut found = Vec::new();
    for inst in others {
        found.extend(code.body.uses_of(inst.into()).map(|read| read.user));
        if found.len() > READERS {
            return None;
        }
    }
    Some(found)
}
