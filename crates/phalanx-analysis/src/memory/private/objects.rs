//! Which objects there are, how they are numbered, and which instructions make addresses of them.
//!
//! An object is named by its `alloca`. The object that an argument points to has no instruction:
//! its name is a number that no instruction has. O(1) each, [`has_copies`] O(parameters).

use phalanx_ir::{
    Body, Context, GlobalName, InstId, Opcode, TypeKind, Value, attributes::AttrKind,
    constant::ConstKind, inst::InstFlags,
};
use phalanx_target::calling_convention::Entry;

use crate::code::{Code, Environment, calls::may_be_private_argument};

/// The number of the object that the first argument points to. No function has so many
/// instructions.
pub(in crate::memory::private) const POINTEES: u32 = Value::LIMIT as u32 + 1;

/// The number of the object that an argument points to. No instruction ever has this number.
pub(crate) fn pointee_of(position: u32) -> InstId {
    InstId::from_raw((POINTEES + position).into())
}

/// The argument that points to this object. `None` for an alloca.
pub(crate) fn parameter_of(object: InstId) -> Option<u32> {
    number(object).checked_sub(POINTEES)
}

/// Whether an argument may be treated as a pointer to a private object. In a kernel: a structure
/// passed by value. In another function: a pointer that may lead to private memory of the caller.
pub(crate) fn is_pointee(code: Code<'_>, env: Environment<'_>, position: u32) -> bool {
    may_be_private_argument(code, env, position) || is_copy(code, env, position)
}

/// Whether an argument of a kernel is a structure passed by value. Each thread has a copy of what
/// the host passed.
pub(in crate::memory::private) fn is_copy(
    code: Code<'_>,
    env: Environment<'_>,
    position: u32,
) -> bool {
    let attributes = code.context.param_attrs(code.header.attributes, position as usize);
    attributes.has(AttrKind::ByVal)
        && code.entry(env.target.architecture()) == Entry::Kernel
        && code
            .header
            .params
            .get(position as usize)
            .is_some_and(|&ty| matches!(code.context.type_kind(ty), TypeKind::Ptr(_)))
}

pub(in crate::memory::private) fn has_copies(code: Code<'_>, env: Environment<'_>) -> bool {
    (0..code.header.params.len() as u32).any(|at| is_copy(code, env, at))
}

/// Whether an instruction can make an address of an object.
pub(in crate::memory::private) fn is_address(body: &Body, inst: InstId) -> bool {
    matches!(
        body.inst(inst).opcode,
        Opcode::Alloca | Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
    )
}

/// Whether an instruction converts an integer to a pointer.
pub(in crate::memory::private) fn is_cast(body: &Body, inst: InstId) -> bool {
    body.inst(inst).opcode == Opcode::IntToPtr && body.block_of(inst).is_some()
}

/// Whether an alloca of the entry block is ordinary stack memory.
pub(in crate::memory::private) fn is_trackable(body: &Body, inst: InstId) -> bool {
    let flags = body.inst(inst).flags;
    !flags.contains(InstFlags::IN_ALLOCA) && !flags.contains(InstFlags::SWIFT_ERROR)
}

/// The largest number of steps from an address up to its object.
pub(in crate::memory::private) const STEPS: usize = 64;

pub(in crate::memory::private) fn number(inst: InstId) -> u32 {
    inst.into_raw().into_u32()
}

/// The name of the intrinsic that is called.
pub(in crate::memory::private) fn intrinsic_name<'a>(
    context: &'a Context,
    body: &Body,
    call: InstId,
) -> Option<&'a [u8]> {
    let callee = body.const_callee(call)?;
    match context.const_data(callee).kind {
        ConstKind::Global(GlobalName::Named(symbol)) => {
            Some(context.bytes(symbol)).filter(|name| name.starts_with(b"llvm."))
        }
        _ => None,
    }
}
