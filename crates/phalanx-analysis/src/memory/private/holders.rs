//! Variables that hold one address: stack slots that are only loaded from, and stored to once.
//!
//! Code that is not optimised keeps each parameter in such a slot. Whatever is loaded from it after
//! the store is the address that was stored, as often as the store is executed; what is loaded
//! before is undef, and nothing is accessed through that. So a load is the address itself, if the
//! store was met first when blocks are visited in the dominator tree's preorder; a load that was
//! met before gives the slot up, and so does any other use of it.
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

/// What is known of a slot while blocks are visited.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    /// Nothing was stored so far.
    Nothing,
    /// This address, by this store.
    Address(Address, InstId),
    /// Something else.
    Other,
}

/// The address of an object that a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory::private) struct HeldAddress {
    pub(in crate::memory::private) object: InstId,
    /// Where in the object, if it is a constant.
    pub(in crate::memory::private) offset: Option<i64>,
}

/// What is known of a slot that holds an address, when all blocks were visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory::private) struct Holder {
    pub(in crate::memory::private) held: HeldAddress,
    /// The only store to the slot.
    pub(in crate::memory::private) store: InstId,
}

/// Those of some stack slots that are only loaded from, and stored to once; `insts` are all that
/// may have to do with them and can be reached.
pub(super) fn holders(
    code: Code<'_>,
    slots: impl Iterator<Item = InstId>,
    insts: impl Iterator<Item = InstId>,
) -> FxHashMap<InstId, Held> {
    let Code { body, context, .. } = code;
    let mut found: FxHashMap<InstId, Held> = FxHashMap::default();
    // How often each is stored to, and as what; slots with another use are left out.
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
    found.extend(once.map(|(slot, _)| (slot, Held::Nothing)));
    found
}

/// The slot that an address is of, if it is the whole of it: the slot itself, or a cast of it.
pub(super) fn slot_of(body: &Body, mut inst: InstId) -> Option<InstId> {
    // However many there are: a use that is not seen to be one would be worse. Only where nobody
    // comes a cast is made from itself.
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
