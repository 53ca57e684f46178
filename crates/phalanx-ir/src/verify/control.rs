//! Rules of terminators that follow from their operands.

use rustc_hash::FxHashSet;

use crate::{
    inst::Opcode,
    types::Type,
    verify::{
        env::Env,
        fault::{Check, Related, ensure},
        view::InstView,
    },
};

/// `ret`, `br`, `switch`, `indirectbr`, `resume`.
pub(crate) fn check(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let types = &env.types;
    match inst.opcode() {
        Opcode::Ret => {
            let ret = inst.header.ret;
            if ret == Type::VOID {
                ensure!(
                    inst.operands.is_empty(),
                    "Found return instr that returns non-void in Function of void return type!",
                    Related::Type(ret)
                );
            } else {
                ensure!(
                    inst.types == [ret],
                    "Function return type does not match operand type of return inst!",
                    Related::Type(ret)
                );
            }
        }
        Opcode::Br => ensure!(
            inst.types.iter().all(|&ty| ty == Type::I1),
            "Branch condition is not 'i1' type!"
        ),
        Opcode::Switch => switch(env, inst)?,
        Opcode::IndirectBr => {
            ensure!(types.is_ptr(inst.ty(0)), "Indirectbr operand must have pointer type!");
        }
        _ => {}
    }
    Ok(())
}

fn switch(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let (condition, cases) = (inst.ty(0), &inst.operands[1..]);
    ensure!(env.types.is_int(condition), "Switch condition must have integer type!");
    ensure!(
        inst.types[1..].iter().all(|&ty| ty == condition),
        "Switch constants must all be same type as switch value!"
    );
    let mut seen = FxHashSet::default();
    for &case in cases {
        let constant = case.as_const().filter(|&c| env.types.is_plain_int(c));
        let Some(constant) = constant else {
            ensure!(false, "Case value is not a constant integer.", Related::Value(case));
            return Ok(());
        };
        ensure!(
            seen.insert(env.types.int_key(constant)),
            "Duplicate integer as switch case",
            Related::Value(case)
        );
    }
    Ok(())
}
