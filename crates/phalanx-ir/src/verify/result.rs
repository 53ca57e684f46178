//! The type an instruction's result must have, given its operands.
//!
//! The builder gives this type to a new instruction; the verifier compares. The rules check the
//! operand *types*, not this module: a wrong one merely gives no answer.

use crate::{
    inst::Opcode,
    types::{Type, TypeKind},
    verify::{types::Types, view::InstView},
};

/// What the operands determine of the result type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ResultType {
    /// It must be this one.
    Exactly(Type),
    /// The creator of the instruction chooses it (`load`, casts, `phi` ...).
    Free,
    /// The operands do not fit the opcode, and no result type does.
    Impossible,
}

/// The result type of the instruction. O(operands).
pub(crate) fn result_type(types: &Types<'_>, inst: &InstView<'_>) -> ResultType {
    let of = |at: usize| inst.ty(at);
    let opcode = inst.opcode();
    let known = match opcode {
        _ if opcode.is_binary() => Some(of(0)),
        _ if opcode.is_cast() => return ResultType::Free,
        Opcode::Load | Opcode::Phi | Opcode::VaArg | Opcode::LandingPad => return ResultType::Free,
        Opcode::FNeg | Opcode::Freeze | Opcode::InsertElement | Opcode::InsertValue => Some(of(0)),
        Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
            inst.call.and_then(|info| match types.kind(info.function_type) {
                TypeKind::Function { ret, .. } => Some(*ret),
                _ => None,
            })
        }
        // The creator chooses its address space.
        Opcode::Alloca => return ResultType::Free,
        Opcode::AtomicRmw | Opcode::Select => Some(of(1)),
        Opcode::CmpXchg => Some(types.context.type_of_kind(&TypeKind::Struct {
            packed: false,
            fields: Box::new([of(1), Type::I1]),
        })),
        Opcode::GetElementPtr => {
            let lanes = inst.types.iter().find_map(|&ty| types.lanes(ty));
            Some(types.with_lanes(types.scalar(of(0)), lanes))
        }
        Opcode::ICmp | Opcode::FCmp => Some(types.with_lanes(Type::I1, types.lanes(of(0)))),
        Opcode::ExtractElement => types.lanes(of(0)).map(|_| types.scalar(of(0))),
        Opcode::ShuffleVector => match (types.lanes(of(0)), types.lanes(of(2))) {
            (Some(_), Some(mask)) => Some(types.with_lanes(types.scalar(of(0)), Some(mask))),
            _ => None,
        },
        Opcode::ExtractValue => types.at_indices(of(0), inst.indices),
        Opcode::CatchSwitch | Opcode::CatchPad | Opcode::CleanupPad => Some(Type::TOKEN),
        Opcode::Ret
        | Opcode::Br
        | Opcode::Switch
        | Opcode::IndirectBr
        | Opcode::Resume
        | Opcode::CatchRet
        | Opcode::CleanupRet
        | Opcode::Unreachable
        | Opcode::Store
        | Opcode::Fence => Some(Type::VOID),
        _ => None,
    };
    known.map_or(ResultType::Impossible, ResultType::Exactly)
}
