//! Which instructions use other instructions by way of addresses: an analysis of single accesses
//! looks at these again after an edit.
//!
//! A fact about an access may depend on several steps that compute its address, up to the base. So
//! the fact may change when one of these steps changes. The accesses are found from the changed
//! step downwards. An access that no longer uses a step has changed itself.
//!
//! ```text
//! %p = getelementptr i32, ptr %a, i64 1   ; changed
//! %q = addrspacecast ptr %p to ptr addrspace(1)
//! %x = load i32, ptr addrspace(1) %q      ; found by way of %q
//! ```
//!
//! O(steps and their readers), which is bounded by [`READERS`].

use phalanx_ir::{InstId, Opcode, TypeKind};
use rustc_hash::FxHashSet;

use crate::{code::Code, policy::READERS, spaces::MemoryKinds};

/// `changed`, and all readers of addresses that are made from one of these instructions. None if
/// there are too many.
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
            // The operand is an index: the address is not made from this value as its base.
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

/// The readers of addresses whose memory kinds differ from before. None if the kinds cannot be
/// compared by instruction, or if there are too many readers.
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
