//! Stack slots in which only addresses are stored.
//!
//! Code that is compiled without optimisation puts every pointer into a slot and loads it again:
//!
//! ```text
//! %slot = alloca ptr
//! store ptr %argument, ptr %slot
//! %again = load ptr, ptr %slot        ; made from %argument
//! ```
//!
//! A value loaded from such a slot is one of the addresses that are stored there, or undefined; an
//! access through an undefined address has undefined behaviour. This holds if the address of the
//! slot is only used by loads and stores of whole addresses: no other code can write there, and no
//! instruction writes a part of an address. The order of stores and loads does not matter.
//!
//! **Invariants.** [`Users`] retains all instructions with the address of a pointer slot as an
//! operand. So an update knows the slot of an instruction that was removed or has other operands
//! now. O(uses of a slot).

use phalanx_ir::{InstId, Opcode, TypeKind, Value, edit::Use};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::code::{Code, value_type};

/// Slots with more uses are not analysed.
const USES: usize = 256;

/// The largest number of casts between a slot and a use.
const CASTS: usize = 4;

/// The uses of a slot.
#[derive(Debug, Default)]
pub(super) struct SlotTraffic {
    /// The stored values. `None` if the slot has a use other than such loads and stores.
    pub(super) stored: Option<SmallVec<[Value; 2]>>,
    /// Addresses that are loaded from it.
    pub(super) loads: SmallVec<[InstId; 8]>,
    /// All instructions that have its address for an operand.
    pub(super) users: SmallVec<[InstId; 8]>,
}

/// The slot at an address: the address is that of a slot for one pointer, or a cast of it.
pub(super) fn of_address(code: Code<'_>, address: Value) -> Option<InstId> {
    let body = code.body;
    let mut at = address.as_inst()?;
    for _ in 0..CASTS {
        match body.inst(at).opcode {
            Opcode::Alloca => {
                let is_pointer = code.context.type_kind(body.inst(at).element_type());
                return matches!(is_pointer, TypeKind::Ptr(_)).then_some(at);
            }
            Opcode::AddrSpaceCast => at = body.operands(at)[0].as_inst()?,
            _ => return None,
        }
    }
    None
}

impl SlotTraffic {
    /// Examines the uses of a slot.
    pub(super) fn new(code: Code<'_>, slot: InstId) -> SlotTraffic {
        let body = code.body;
        let mut found = SlotTraffic { stored: Some(SmallVec::new()), ..SlotTraffic::default() };
        let held = body.inst(slot).element_type();
        let mut addresses: SmallVec<[InstId; 4]> = SmallVec::from_slice(&[slot]);
        while let Some(address) = addresses.pop() {
            for Use { user, index } in body.uses_of(address.into()) {
                if body.block_of(user).is_none() {
                    continue;
                }
                found.users.push(user);
                let data = body.inst(user);
                let is_understood = found.users.len() < USES
                    && match (data.opcode, index) {
                        (Opcode::AddrSpaceCast, _) if addresses.len() < CASTS => {
                            addresses.push(user);
                            true
                        }
                        (Opcode::Load, 0) => {
                            if data.ty == held {
                                found.loads.push(user);
                            }
                            true
                        }
                        (Opcode::Store, 1) => {
                            let value = body.operands(user)[0];
                            if let Some(stored) = &mut found.stored {
                                stored.push(value);
                            }
                            value_type(code, value) == Some(held)
                        }
                        (Opcode::Call, _) => is_marker(code, user),
                        _ => false,
                    };
                if !is_understood {
                    found.stored = None;
                }
            }
        }
        found
    }
}

/// Whether a call is a lifetime marker of a slot.
fn is_marker(code: Code<'_>, call: InstId) -> bool {
    let name = code.body.const_callee(call).and_then(|callee| {
        let name = code.context.const_data(callee).kind.entity()?;
        Some(code.context.bytes(name.symbol()?))
    });
    name.is_some_and(|name| name.starts_with(b"llvm.lifetime."))
}

/// The instructions that use addresses of pointer slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Users {
    by_slot: FxHashMap<InstId, Box<[InstId]>>,
    /// The slots that each instruction uses: rarely more than one.
    slots_of: FxHashMap<InstId, SmallVec<[InstId; 1]>>,
}

impl Users {
    /// The users of all slots of a function. O(instructions).
    pub(super) fn new(code: Code<'_>) -> Users {
        let mut users = Users::default();
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                users.set(code, inst);
            }
        }
        users
    }

    /// Updates the table after some instructions have changed. Returns the loads whose origin may
    /// have changed; a load may be listed several times.
    pub(super) fn update(&mut self, code: Code<'_>, changed: &[InstId]) -> Vec<InstId> {
        let body = code.body;
        let mut slots: Vec<InstId> = Vec::new();
        for &inst in changed {
            slots.extend(self.slots_of.get(&inst).into_iter().flatten());
            if body.block_of(inst).is_some() {
                let operands = body.operands(inst).iter();
                slots.extend(operands.filter_map(|&operand| of_address(code, operand)));
            }
            if self.by_slot.contains_key(&inst) || of_address(code, inst.into()) == Some(inst) {
                slots.push(inst);
            }
        }
        let mut loads = Vec::new();
        slots.sort_unstable_by_key(|slot| slot.into_raw().into_u32());
        slots.dedup();
        for slot in slots {
            for &user in self.by_slot.remove(&slot).iter().flatten() {
                loads.push(user);
                if let Some(of) = self.slots_of.get_mut(&user) {
                    of.retain(|other| *other != slot);
                    if of.is_empty() {
                        self.slots_of.remove(&user);
                    }
                }
            }
            loads.extend(self.set(code, slot));
        }
        loads.retain(|&inst| body.has(inst) && body.inst(inst).opcode == Opcode::Load);
        loads
    }

    /// Records the users of a slot, if `slot` is one. Returns the loads of addresses from it.
    fn set(&mut self, code: Code<'_>, slot: InstId) -> SmallVec<[InstId; 8]> {
        if code.body.block_of(slot).is_none() || of_address(code, slot.into()) != Some(slot) {
            return SmallVec::new();
        }
        let mut found = SlotTraffic::new(code, slot);
        found.users.sort_unstable_by_key(|user| user.into_raw().into_u32());
        found.users.dedup();
        for &user in &found.users {
            let slots = self.slots_of.entry(user).or_default();
            slots.push(slot);
            slots.sort_unstable_by_key(|slot| slot.into_raw().into_u32());
        }
        self.by_slot.insert(slot, found.users.into_iter().collect());
        found.loads
    }
}
