//! The rules of one instruction that depend on its operands alone: one entry point for verifier and
//! builder.

use crate::{
    inst::Opcode,
    types::Type,
    value::ValueKind,
    verify::{
        call, control, eh,
        env::Env,
        fault::{Check, Related, ensure},
        memory,
        result::{ResultType, result_type},
        values,
        view::InstView,
    },
};

/// Every rule that needs no other block and no order of instructions. The first broken one is
/// reported.
pub(crate) fn check(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let opcode = inst.opcode();
    match opcode {
        _ if opcode.is_binary() => values::binary(&env.types, inst)?,
        _ if opcode.is_cast() => values::cast(env, inst)?,
        _ if opcode.is_call() => call::check(env, inst)?,
        Opcode::FNeg => values::unary(&env.types, inst)?,
        Opcode::ICmp | Opcode::FCmp => values::compare(&env.types, inst)?,
        Opcode::Select => values::select(&env.types, inst)?,
        Opcode::Phi => values::phi(env, inst)?,
        Opcode::ExtractElement | Opcode::InsertElement | Opcode::ShuffleVector => {
            values::vector(&env.types, inst)?;
        }
        Opcode::ExtractValue | Opcode::InsertValue => values::aggregate(&env.types, inst)?,
        Opcode::Alloca
        | Opcode::Load
        | Opcode::Store
        | Opcode::Fence
        | Opcode::CmpXchg
        | Opcode::AtomicRmw
        | Opcode::GetElementPtr
        | Opcode::VaArg => memory::check(env, inst)?,
        Opcode::LandingPad
        | Opcode::CatchPad
        | Opcode::CleanupPad
        | Opcode::CatchSwitch
        | Opcode::CatchRet
        | Opcode::CleanupRet => eh::operands(env, inst)?,
        _ => control::check(env, inst)?,
    }
    values::flags(&env.types, inst)?;
    let fits = match result_type(&env.types, inst) {
        ResultType::Exactly(ty) => ty == inst.data.ty,
        ResultType::Free => true,
        ResultType::Impossible => false,
    };
    ensure!(fits, "Result type does not match operands!", Related::Type(inst.data.ty));
    operands(env, inst)
}

/// Rules for the operands and the result of any instruction.
fn operands(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let types = &env.types;
    let ty = inst.data.ty;
    ensure!(
        ty == Type::VOID || types.is_first_class(ty) && ty != Type::LABEL,
        "Instruction returns a non-scalar type!"
    );
    ensure!(ty != Type::METADATA || inst.opcode().is_call(), "Invalid use of metadata!");
    let callee_at = if inst.opcode().is_call() { inst.operands.len() - 1 } else { usize::MAX };
    // Phis name blocks in their second half; nothing else has a block among its operands.
    let blocks_from =
        if inst.opcode() == Opcode::Phi { inst.operands.len() / 2 } else { usize::MAX };
    for (at, (&operand, &ty)) in inst.operands.iter().zip(inst.types).enumerate() {
        match operand.kind() {
            ValueKind::Block(_) => {
                ensure!(at >= blocks_from, "Basic block used where a value is wanted!");
                continue;
            }
            ValueKind::Const(constant) => {
                let intrinsic = env.function_of(constant).filter(|f| env.is_intrinsic(f.name));
                ensure!(
                    at == callee_at || intrinsic.is_none() || call::is_attached_call(env, inst, at),
                    "Cannot take the address of an intrinsic!"
                );
                ensure!(
                    at == callee_at || !call::is_inline_asm(env, operand),
                    "Cannot take the address of an inline asm!"
                );
            }
            ValueKind::Metadata(_) => {
                ensure!(inst.opcode().is_call(), "Invalid use of metadata!");
            }
            _ => {}
        }
        if call::is_swift_error(env, inst, operand) {
            call::swift_error_use(env, inst, at)?;
        }
        let is_callee = at == callee_at;
        ensure!(
            is_callee || types.is_first_class(ty),
            "Instruction operands must be first-class values!",
            Related::Value(operand)
        );
    }
    Ok(())
}
