//! Rules of exception handling: pads, and the edges that lead to them.

use crate::{
    body::{Body, InstId},
    constant::ConstKind,
    flow::BlockId,
    inst::{InstFlags, Opcode},
    types::{Type, TypeKind},
    value::Value,
    verify::{
        env::Env,
        fault::{Check, Related, ensure},
        function::Context,
        view::InstView,
    },
};

fn is_none(env: &Env<'_>, value: Value) -> bool {
    value.as_const().is_some_and(|c| env.types.context.const_data(c).kind == ConstKind::NoneToken)
}

fn opcode_of(body: &Body, value: Value) -> Option<Opcode> {
    value.as_inst().map(|inst| body.inst(inst).opcode)
}

fn is_funclet_pad(body: &Body, value: Value) -> bool {
    matches!(opcode_of(body, value), Some(Opcode::CatchPad | Opcode::CleanupPad))
}

/// Rules for the operands of pads, and of instructions that leave pads.
pub(crate) fn operands(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let body = inst.body;
    let parent_is_valid = |value| is_none(env, value) || is_funclet_pad(body, value);
    match inst.opcode() {
        Opcode::LandingPad => {
            ensure!(
                !inst.operands.is_empty() || inst.data.flags.contains(InstFlags::CLEANUP),
                "LandingPadInst needs at least one clause or to be a cleanup."
            );
            for (&ty, &kind) in inst.types.iter().zip(inst.indices) {
                if kind == 0 {
                    ensure!(env.types.is_ptr(ty), "Catch operand does not have pointer type!");
                } else {
                    let is_array = matches!(env.types.kind(ty), TypeKind::Array { .. });
                    ensure!(is_array, "Clause operand is not an array of constants!");
                }
            }
        }
        Opcode::CatchPad => ensure!(
            opcode_of(body, inst.operands[0]) == Some(Opcode::CatchSwitch),
            "CatchPadInst needs to be directly nested in a CatchSwitchInst.",
            Related::Value(inst.operands[0])
        ),
        Opcode::CleanupPad => {
            ensure!(parent_is_valid(inst.operands[0]), "CleanupPadInst has an invalid parent.");
        }
        Opcode::CatchSwitch => {
            ensure!(parent_is_valid(inst.operands[0]), "CatchSwitchInst has an invalid parent.");
        }
        Opcode::CatchRet => ensure!(
            opcode_of(body, inst.operands[0]) == Some(Opcode::CatchPad),
            "CatchReturnInst needs to be provided a CatchPad",
            Related::Value(inst.operands[0])
        ),
        _ => ensure!(
            opcode_of(body, inst.operands[0]) == Some(Opcode::CleanupPad),
            "CleanupReturnInst needs to be provided a CleanupPad",
            Related::Value(inst.operands[0])
        ),
    }
    Ok(())
}

/// First instruction of a block that is not a phi.
pub(crate) fn first_non_phi(body: &Body, block: BlockId) -> Option<InstId> {
    body.block_insts(block).find(|&inst| body.inst(inst).opcode != Opcode::Phi)
}

fn pad_opcode(body: &Body, block: BlockId) -> Option<Opcode> {
    let opcode = body.inst(first_non_phi(body, block)?).opcode;
    let is_pad = matches!(
        opcode,
        Opcode::LandingPad | Opcode::CatchPad | Opcode::CleanupPad | Opcode::CatchSwitch
    );
    is_pad.then_some(opcode)
}

/// The unwind successor of a terminator, when it has one.
fn unwind_successor(cx: &Context<'_>, block: BlockId) -> Option<BlockId> {
    let (body, flow) = (cx.function.body, cx.function.flow);
    let terminator = body.inst(body.terminator(block)?);
    let successors = flow.successors(block);
    match terminator.opcode {
        Opcode::Invoke => successors.get(1).copied(),
        Opcode::CleanupRet => successors.first().copied(),
        Opcode::CatchSwitch if terminator.flags.contains(InstFlags::CLEANUP) => {
            successors.last().copied()
        }
        _ => None,
    }
}

/// State of the checks of one function, kept from pad to pad.
#[derive(Default)]
pub(crate) struct PadState {
    /// Result type of the landing pads and operand type of the resumes.
    landing_pad_type: Option<Type>,
}

/// Rules of pads and resumes that need the flow. `block` is the one the instruction is in.
pub(crate) fn check(cx: &Context<'_>, state: &mut PadState, block: BlockId, inst: InstId) -> Check {
    let (body, flow) = (cx.function.body, cx.function.flow);
    let opcode = body.inst(inst).opcode;
    let has_personality = cx.function.header.personality.is_some();
    // Computed for pads only: a search over all phis for each instruction would be quadratic.
    let is_first = || first_non_phi(body, block) == Some(inst);
    match opcode {
        Opcode::Invoke => {
            let unwind = flow.successors(block)[1];
            ensure!(
                pad_opcode(body, unwind).is_some(),
                "The unwind destination does not have an exception handling instruction!"
            );
        }
        Opcode::Resume => {
            ensure!(has_personality, "ResumeInst needs to be in a function with a personality.");
            let ty = cx.type_of(body.operands(inst)[0]);
            ensure!(
                *state.landing_pad_type.get_or_insert(ty) == ty,
                "The resume instruction should have a consistent result type inside a function."
            );
        }
        Opcode::LandingPad => {
            predecessors(cx, block, inst)?;
            let ty = body.inst(inst).ty;
            ensure!(
                *state.landing_pad_type.get_or_insert(ty) == ty,
                "The landingpad instruction should have a consistent result type inside a function."
            );
            ensure!(
                has_personality,
                "LandingPadInst needs to be in a function with a personality."
            );
            ensure!(is_first(), "LandingPadInst not the first non-PHI instruction in the block.");
        }
        Opcode::CatchPad => {
            predecessors(cx, block, inst)?;
            ensure!(has_personality, "CatchPadInst needs to be in a function with a personality.");
            ensure!(is_first(), "CatchPadInst not the first non-PHI instruction in the block.");
        }
        Opcode::CleanupPad => {
            predecessors(cx, block, inst)?;
            ensure!(
                has_personality,
                "CleanupPadInst needs to be in a function with a personality."
            );
            ensure!(is_first(), "CleanupPadInst not the first non-PHI instruction in the block.");
        }
        Opcode::CatchSwitch => {
            ensure!(
                has_personality,
                "CatchSwitchInst needs to be in a function with a personality."
            );
            ensure!(is_first(), "CatchSwitchInst not the first non-PHI instruction in the block.");
            catch_switch(cx, block)?;
            predecessors(cx, block, inst)?;
        }
        Opcode::CleanupRet => {
            if let Some(&unwind) = flow.successors(block).first() {
                let fits = pad_opcode(body, unwind).is_some_and(|pad| pad != Opcode::LandingPad);
                ensure!(
                    fits,
                    "CleanupReturnInst must unwind to an EH block which is not a landingpad."
                );
            }
        }
        _ => {}
    }
    Ok(())
}

fn catch_switch(cx: &Context<'_>, block: BlockId) -> Check {
    let (body, flow) = (cx.function.body, cx.function.flow);
    let unwind = unwind_successor(cx, block);
    if let Some(unwind) = unwind {
        let fits = pad_opcode(body, unwind).is_some_and(|pad| pad != Opcode::LandingPad);
        ensure!(fits, "CatchSwitchInst must unwind to an EH block which is not a landingpad.");
    }
    let successors = flow.successors(block);
    let handlers = &successors[..successors.len() - usize::from(unwind.is_some())];
    ensure!(!handlers.is_empty(), "CatchSwitchInst cannot have empty handler list");
    let all_catch = handlers.iter().all(|&h| pad_opcode(body, h) == Some(Opcode::CatchPad));
    ensure!(all_catch, "CatchSwitchInst handlers must be catchpads");
    Ok(())
}

/// Blocks with pads are entered by unwinding alone.
fn predecessors(cx: &Context<'_>, block: BlockId, pad: InstId) -> Check {
    let body = cx.function.body;
    ensure!(cx.function.flow.entry() != Some(block), "EH pad cannot be in entry block.");
    let preds = || cx.predecessors(block);
    let terminator = |pred| body.terminator(pred).map(|inst| body.inst(inst).opcode);
    let by_unwinding = |pred: BlockId| {
        unwind_successor(cx, pred) == Some(block)
            && cx.function.flow.successors(pred).iter().filter(|&&s| s == block).count() == 1
    };
    match body.inst(pad).opcode {
        Opcode::LandingPad => {
            let fits = preds().all(|p| terminator(p) == Some(Opcode::Invoke) && by_unwinding(p));
            ensure!(
                fits,
                "Block containing LandingPadInst must be jumped to only by the unwind edge of an invoke."
            );
        }
        Opcode::CatchPad => {
            let Some(switch) = body.operands(pad)[0].as_inst() else { return Ok(()) };
            let home = body.block_of(switch);
            ensure!(
                preds().all(|p| Some(p) == home),
                "Block containg CatchPadInst must be jumped to only by its catchswitch."
            );
            let unwinds_here = home.and_then(|home| unwind_successor(cx, home)) == Some(block);
            ensure!(
                !unwinds_here,
                "Catchswitch cannot unwind to one of its catchpads",
                Related::Inst(switch)
            );
        }
        _ => {
            for pred in preds() {
                let terminator = body.terminator(pred);
                ensure!(
                    by_unwinding(pred),
                    "EH pad must be jumped to via an unwind edge",
                    Related::Inst(terminator.unwrap_or(pad))
                );
            }
        }
    }
    Ok(())
}
