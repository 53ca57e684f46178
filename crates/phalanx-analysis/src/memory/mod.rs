//! Memory: which accesses touch the same bytes, and which version of them each access sees.
//!
//! | module | what |
//! |---|---|
//! | [`effects`] | which instructions read and write |
//! | [`origins`] | which addresses may lead to private memory |
//! | [`ssa`] | SSA form of memory variables: uses, definitions, phis |
//! | [`form`] | SSA form of a few variables for much memory, with cheap incremental updates |
//! | [`private`] | stack objects that only this function can access, as memory variables |
//! | [`hssa`] | private objects, and one variable per class of memory for the rest |
//! | [`order`] | which instructions make writes of other threads visible |
//! | [`classic`] | one variable for all of memory, as in LLVM; the walker |

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
pub(crate) use private::update::{
    Changed, Gone, InQuestion, Numbered, Part, Patches, Pointees, PrivateMemoryUpdater,
    PrivateView, SplitBlock,
};
pub use private::{PrivateMemory, update::Looks};
pub use ssa::Ssa;

use phalanx_ir::{InstId, Opcode, Type, TypeKind};

use crate::code::{Code, value_type};

/// Result of an incremental update after an edit.
#[derive(Clone, Debug)]
pub enum UpdatedFact<T> {
    /// The answer is unchanged.
    Same,
    /// The answer changed; this is the new one.
    Other(T),
    /// The update gave up. The answer has to be computed from scratch.
    Unknown,
}

/// Whether an instruction gives something that is a pointer or may hold one, or reads one.
pub(crate) fn has_pointers(code: Code<'_>, inst: InstId) -> bool {
    let may_be = |ty: Type| match ty.raw() {
        // Most types have fixed numbers: scalars first, then pointers.
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
