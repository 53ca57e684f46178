//! Which changes of instructions may change the classes of loads.
//!
//! # What
//!
//! The classes that [`classify`](super::classify) finds depend on its input
//! ([`Facts`](super::Facts)) and on the code. Of the code they depend on
//!
//! - loads: their order, flags, types, alignments and addresses;
//! - instructions that read or write memory or may be an [acquire](crate::memory::order), and their
//!   order;
//! - the steps by which addresses are made: values that are pointers or vectors of them. A step by
//!   an index that is no constant is unknown for any index, so the computation of the index does
//!   not matter.
//!
//! So an instruction matters if it accesses memory, if it calls, or if its result is not a number.
//! That depends on the instruction alone, so it stays the same as long as the instruction does.
//!
//! Divergence is part of the input; the owner of retained classes compares it. O(1).

use phalanx_ir::{Context, InstId, Opcode, Type, TypeKind};

use crate::code::Code;

/// Whether classes of loads may change after an instruction was inserted, removed, moved or changed
/// that is, or was, like this one.
#[must_use]
pub fn depends_on(code: Code<'_>, inst: InstId) -> bool {
    let data = code.body.inst(inst);
    let accesses = matches!(
        data.opcode,
        Opcode::Load
            | Opcode::Store
            | Opcode::Fence
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::VaArg
            | Opcode::CatchPad
            | Opcode::CatchRet
    );
    accesses || data.opcode.is_call() || !is_number(code.context, data.ty)
}

/// Whether values of a type are numbers or vectors of numbers, or do not exist.
pub(super) fn is_number(context: &Context, ty: Type) -> bool {
    let element = match *context.type_kind(ty) {
        TypeKind::Vector { elem, .. } => elem,
        _ => ty,
    };
    matches!(
        context.type_kind(element),
        TypeKind::Void
            | TypeKind::Int(_)
            | TypeKind::Half
            | TypeKind::BFloat
            | TypeKind::Float
            | TypeKind::Double
    )
}
