//! Memory: which accesses touch the same, and in which version.
//!
//! | module | what |
//! |---|---|
//! | [`effects`] | which instructions read and write |
//! | [`origins`] | which addresses may lead to private memory |
//! | [`ssa`] | SSA form of memory variables: uses, definitions, phis |
//! | [`form`] | the same of a few variables that stand for much, such that an edit costs little |
//! | [`private`] | objects of the frame that nobody else can reach, as memory variables |
//! | [`hssa`] | these, and one variable per class of memory for the rest |
//! | [`order`] | which instructions make visible what other threads wrote |
//! | [`classic`] | one variable for all of memory, as LLVM has it; the walker |

pub(crate) mod by_inst;
pub mod classic;
pub mod effects;
pub mod form;
pub mod hssa;
pub mod order;
pub mod origins;
pub(crate) mod pages;
mod place;
pub mod private;
pub mod ssa;

pub use classic::ClassicMemorySsa;
pub use hssa::{MemoryClass, MemorySsa, Reach};
pub use origins::Origins;
pub(crate) use private::follow::{
    Changed, Gone, InQuestion, Looked, Numbered, Part, Patches, Pointees, SlotFollower, SplitBlock,
};
pub use private::{PrivateMemory, follow::Looks};
pub use ssa::Ssa;

use phalanx_ir::{InstId, Opcode, Type, TypeKind};

use crate::code::{Code, value_type};

/// What became of an answer after an edit.
#[derive(Clone, Debug)]
pub enum Followed<T> {
    /// It is what it was.
    Same,
    /// It is this.
    Other(T),
    /// That is not known.
    Unknown,
}

/// Whether an instruction gives something that is a pointer or may hold one, or reads one.
pub(crate) fn has_pointers(code: Code<'_>, inst: InstId) -> bool {
    let may_be = |ty: Type| match ty.raw() {
        // Those with fixed numbers, which most are: scalars, then pointers.
        raw if raw < Type::PTR.raw() => false,
        raw if raw <= Type::PTR9.raw() => true,
        _ => may_hold_pointers(code, ty),
    };
    let data = code.body.inst(inst);
    let read = match data.opcode {
        Opcode::Phi => code.body.phi_values(inst),
        _ => code.body.operands(inst),
    };
    may_be(data.ty) || read.iter().filter_map(|&value| value_type(code, value)).any(may_be)
}

fn may_hold_pointers(code: Code<'_>, ty: Type) -> bool {
    match code.context.type_kind(ty) {
        TypeKind::Vector { elem, .. } | TypeKind::Array { elem, .. } => {
            !matches!(code.context.type_kind(*elem), TypeKind::Int(_) | TypeKind::Float)
        }
        TypeKind::Ptr(_) | TypeKind::Struct { .. } | TypeKind::Named(_) => true,
        _ => false,
    }
}
