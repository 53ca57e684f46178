//! Allocas that hold one address: they are only loaded from, and stored to by one instruction.
//!
//! Code that is not optimised keeps each parameter in such an alloca:
//!
//! ```text
//! %slot = alloca ptr
//! store ptr %p, ptr %slot           ; the only store
//! %q = load ptr, ptr %slot          ; the same address as %p
//! ```
//!
//! A load after the store gives the stored address, however often the store is executed. A load
//! before the store gives undef, and no access through undef is defined. The scan visits blocks in
//! the preorder of the dominator tree. If it meets the store before the load, it treats the load as
//! the stored address. A load that it meets earlier, or any other use, disqualifies the alloca.
//!
//! O(operands).

use phalanx_ir::{
    Body, InstId, Opcode, Type, TypeKind,
    inst::{InstFlags, Ordering},
};
use rustc_hash::FxHashMap;

use super::accesses::Address;
use super::objects::{intrinsic_name, is_trackable};
use crate::code::{Code, value_type};

/// The state of an alloca during a scan.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlotContents {
    /// The scan has not met the store.
    Nothing,
    /// It holds this address, stored by this instruction.
    Address(Address, InstId),
    /// It holds anything else, or is disqualified.
    Other,
}

/// The address of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory::private) struct HeldAddress {
    pub(in crate::memory::private) object: InstId,
    /// The offset in the object, if it is a constant.
    pub(in crate::memory::private) offset: Option<i64>,
}

/// An alloca that holds one address: the result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory::private) struct Holder {
    pub(in crate::memory::private) held: HeldAddress,
    /// The only store to the slot.
    pub(in crate::memory::private) store: InstId,
}

/// The allocas among some that are only loaded from and stored to once. `insts` contains all
/// reachable instructions that may use them.
pub(super) fn holders(
    code: Code<'_>,
    slots: impl Iterator<Item = InstId>,
    insts: impl Iterator<Item = InstId>,
) -> FxHashMap<InstId, SlotContents> {
    let Code { body, context, .. } = code;
    let mut found: FxHashMap<InstId, SlotContents> = FxHashMap::default();
    // The number of stores to each alloca, and the type that it is accessed with. An alloca with
    // another use is removed.
    let mut stores: FxHashMap<InstId, (u32, Option<Type>)> = FxHashMap::default();
    for inst in slots {
        if body.inst(inst).opcode == Opcode::Alloca && is_trackable(body, inst) {
            stores.insert(inst, (0, None));
        }
    }
    if stores.is_empty() {
        return found;
    }
    let is_pointer = |ty| matches!(context.type_kind(ty), TypeKind::Ptr(_));
    for inst in insts {
        let data = body.inst(inst);
        if is_cast(data.opcode) {
            continue;
        }
        for (position, operand) in body.operands(inst).iter().enumerate() {
            let Some(slot) = operand.as_inst().and_then(|inst| slot_of(body, inst)) else {
                continue;
            };
            let is_plain = || {
                !data.flags.contains(InstFlags::VOLATILE)
                    && data.mem().ordering() == Ordering::NotAtomic
            };
            let accessed = match (data.opcode, position) {
                (Opcode::Load, 0) if is_plain() => Some((data.ty, 0)),
                (Opcode::Store, 1) if is_plain() => {
                    value_type(code, body.operands(inst)[0]).map(|ty| (ty, 1))
                }
                (opcode, _) if opcode.is_call() && is_lifetime(code, inst) => continue,
                _ => None,
            };
            let known = stores.get(&slot).copied();
            match (known, accessed) {
                (Some((count, held)), Some((ty, times)))
                    if is_pointer(ty) && held.is_none_or(|held| held == ty) =>
                {
                    stores.insert(slot, (count + times, Some(ty)));
                }
                _ => {
                    stores.remove(&slot);
                }
            }
        }
    }
    let once = stores.into_iter().filter(|(_, (count, _))| *count == 1);
    found.extend(once.map(|(slot, _)| (slot, SlotContents::Nothing)));
    found
}

/// The alloca of an address without an offset: the alloca itself, or a cast of it.
pub(super) fn slot_of(body: &Body, mut inst: InstId) -> Option<InstId> {
    // The number of casts is not bounded, since a missed use would be unsound. The bound of the
    // loop only matters in unreachable code, where a cast can be its own operand.
    for _ in 0..=body.id_count() {
        match body.inst(inst).opcode {
            Opcode::Alloca => return Some(inst),
            opcode if is_cast(opcode) => inst = body.operands(inst)[0].as_inst()?,
            _ => return None,
        }
    }
    None
}

fn is_cast(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::AddrSpaceCast | Opcode::BitCast)
}

fn is_lifetime(code: Code<'_>, call: InstId) -> bool {
    intrinsic_name(code.context, code.body, call)
        .is_some_and(|name| name.starts_with(b"llvm.lifetime."))
}
