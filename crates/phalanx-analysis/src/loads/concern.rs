//! Which changes of instructions leave the classes of loads as they are.
//!
//! # What
//!
//! What [`classify`](super::classify) says follows from what it is given ([`Facts`](super::Facts))
//! and from the code. Of the code it looks at
//!
//! - loads: their order, flags, types, alignments and addresses;
//! - whatever reads or writes memory or may be an [acquire](crate::memory::order), and in which
//!   order these stand;
//! - what addresses are made from, step by step: values that are pointers or vectors of them. A
//!   step by an index that is no constant is unknown whatever the index is, so what computes it
//!   does not matter.
//!
//! So an instruction matters if it accesses memory, or calls, or its result is anything but
//! numbers. That is said of the instruction alone, so of one that has not changed it stays so.
//!
//! What diverges is given, and compared by whoever keeps an answer. O(1).

use phalanx_ir::{Context, InstId, Opcode, Type, TypeKind};

use crate::code::Code;

/// Whether classes of loads may be others after an instruction was inserted, removed, moved or
/// changed that is, or was, like this.
#[must_use]
pub fn concerns(code: Code<'_>, inst: InstId) -> bool {
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

/// Whether values of a type are numbers or vectors of them, or there are none.
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
