//! Applies guards: changes an instruction of a region so that it has no effect in threads that do
//! not take part in its block.
//!
//! [`guards`](super::guards) decides which guard an instruction needs, and says why that is enough.
//! Here each guard becomes a selection by the mask: of the divisor, of the stored value (`kept`),
//! of the address (`guarded`), or of the length. O(1) each.
//!
//! ```text
//!   %v = load i32, ptr %p       becomes    %a = select i1 %mask, ptr %p, ptr %slot
//!                                          %v = load i32, ptr %a
//! ```

use phalanx_ir::{
    InstId, Opcode, Type, TypeKind, Value, builder::InstBuilder as _, edit::Transaction,
    metadata::kind,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{guards::Guard, rewrite::missing};
use crate::{
    pass::PassError,
    speculated::{self, forget_claims},
};

/// Stack slots that idle threads access in place of shared memory, by type and address space.
pub(super) struct Slots {
    space: u32,
    made: FxHashMap<(Type, u64, Option<u32>), Value>,
}

impl Slots {
    /// No slots yet; new ones are made in this address space.
    pub(super) fn new(space: u32) -> Slots {
        Slots { space, made: FxHashMap::default() }
    }

    /// The address of a slot, cast to an address space.
    fn get(
        &mut self,
        edit: &mut Transaction<'_>,
        ty: Type,
        align: u64,
        space: Option<u32>,
    ) -> Result<Value, PassError> {
        if let Some(&slot) = self.made.get(&(ty, align, space)) {
            return Ok(slot);
        }
        let slot = match space.filter(|&space| space != self.space) {
            None => {
                let Some(entry) = edit.flow().entry() else { return Err(missing("an entry")) };
                let mut at = edit.at_start(entry);
                at.named("nowhere").aligned(align);
                at.alloca(ty, self.space)?
            }
            Some(space) => {
                let slot = self.get(edit, ty, align, None)?;
                let to = edit.context().ptr_type(space);
                let Some(inst) = slot.as_inst() else { return Err(missing("a slot")) };
                edit.after(inst).named("nowhere").addrspacecast(slot, to)?
            }
        };
        self.made.insert((ty, align, space), slot);
        Ok(slot)
    }
}

/// Guards an instruction so that it has no effect in threads whose mask is false.
pub(super) fn apply(
    edit: &mut Transaction<'_>,
    slots: &mut Slots,
    inst: InstId,
    guard: Guard,
    mask: Value,
) -> Result<(), PassError> {
    let data = *edit.body().inst(inst);
    let operands: SmallVec<[Value; 4]> = edit.body().operands(inst).into();
    match guard {
        Guard::Erase => return Ok(edit.erase(inst)?),
        Guard::Plain => forget(edit, inst)?,
        Guard::Claims => forget_claims(edit, inst)?,
        Guard::Divisor => {
            let one = one(edit, data.ty);
            let divisor = edit.before(inst).named("divisor").select(mask, operands[1], one)?;
            edit.set_operand(inst, 1, divisor)?;
            if matches!(data.opcode, Opcode::SDiv | Opcode::SRem) && has_one_bit(edit, data.ty) {
                // The only bit of a signed one-bit number is -1.
                let zero = edit.context().const_zero(data.ty);
                let dividend =
                    edit.before(inst).named("dividend").select(mask, operands[0], zero)?;
                edit.set_operand(inst, 0, dividend)?;
            }
        }
        Guard::Blend => {
            let ty = type_of(edit, operands[0])?;
            let mut cursor = edit.before(inst);
            if let Some(align) = data.mem().align() {
                cursor.aligned(align);
            }
            let old = cursor.load(ty, operands[1])?;
            let value = cursor.named("kept").select(mask, operands[0], old)?;
            edit.set_operand(inst, 0, value)?;
            forget(edit, inst)?;
        }
        Guard::Address { space, align } => {
            let (index, ty) = match data.opcode {
                Opcode::Load => (0, data.ty),
                _ => (1, type_of(edit, operands[0])?),
            };
            let mut address = operands[index];
            let nowhere = slots.get(edit, ty, align, space)?;
            if let Some(space) = space
                && *edit.context().type_kind(type_of(edit, address)?) != TypeKind::Ptr(space)
            {
                let to = edit.context().ptr_type(space);
                address = edit.before(inst).addrspacecast(address, to)?;
            }
            let guarded = edit.before(inst).named("guarded").select(mask, address, nowhere)?;
            edit.set_operand(inst, index as u32, guarded)?;
            forget(edit, inst)?;
        }
        Guard::Length => {
            let mut info = edit.body().call_info(inst).clone();
            info.attributes = phalanx_ir::AttrList::EMPTY;
            edit.set_call_info(inst, info)?;
            let none = edit.context().const_zero(type_of(edit, operands[2])?);
            let length = edit.before(inst).named("length").select(mask, operands[2], none)?;
            edit.set_operand(inst, 2, length)?;
            // A null pointer accesses nothing, so the address of an empty copy can be anything.
            for index in 0..2u32 {
                let address = operands[index as usize];
                let ty = type_of(edit, address)?;
                if let TypeKind::Ptr(_) = edit.context().type_kind(ty) {
                    let null = edit.context().const_null(ty);
                    let guarded = edit.before(inst).select(mask, address, null)?;
                    edit.set_operand(inst, index, guarded)?;
                }
            }
            forget(edit, inst)?;
        }
        Guard::Assumption => {
            let holds = edit.context().const_bool(true);
            let condition = edit.before(inst).select(mask, operands[0], holds)?;
            edit.set_operand(inst, 0, condition)?;
        }
    }
    Ok(())
}

/// The number 1, or a vector of it.
fn one(edit: &Transaction<'_>, ty: Type) -> Value {
    let context = edit.context();
    match *context.type_kind(ty) {
        TypeKind::Vector { elem, len, .. } => {
            let one = context.int_const(elem, 1);
            context.const_aggregate(ty, &vec![one; len as usize]).into()
        }
        _ => context.int_const(ty, 1).into(),
    }
}

/// Whether a type is `i1`, or a vector of it.
fn has_one_bit(edit: &Transaction<'_>, ty: Type) -> bool {
    match *edit.context().type_kind(ty) {
        TypeKind::Vector { elem, .. } => elem == Type::I1,
        _ => ty == Type::I1,
    }
}

/// Removes metadata of an access that holds only for the threads that take part.
fn forget(edit: &mut Transaction<'_>, inst: InstId) -> Result<(), PassError> {
    speculated::forget(edit, inst, &[kind::DBG])
}

fn type_of(edit: &Transaction<'_>, value: Value) -> Result<Type, PassError> {
    edit.type_of(value).ok_or_else(|| missing("a type"))
}
