//! Barriers and operations of a wave in inline assembly.
//!
//! ```text
//! call void asm sideeffect "bar.sync 0;", "~{memory}"()      a barrier, as llvm.nvvm.barrier.cta.sync.aligned.all(0)
//! call void asm "wgmma.fence.sync.aligned;", ""()            not known: it may wait for others
//! ```
//!
//! The text says what is done ([`phalanx_target::assembly`]); whether the call is marked `convergent`
//! makes no difference. O(length of the text).

use phalanx_ir::{
    InstId,
    constant::{ConstKind, InlineAsm},
};
use phalanx_target::{
    Architecture,
    assembly::{AsmOperand, Assembly, Statement, Synchronizes},
    inline_asm::{Constraints, Role},
};

use super::sites::{Members, SiteKind, integer};
use crate::lower::Code;

/// The inline assembly that an instruction calls; none if its text is empty.
pub(super) fn of<'a>(code: Code<'a>, inst: InstId) -> Option<&'a InlineAsm> {
    if !code.body.inst(inst).opcode.is_call() {
        return None;
    }
    let callee = code.body.callee(inst).as_const()?;
    match &code.context.const_data(callee).kind {
        ConstKind::InlineAsm(asm) => {
            let text = code.context.bytes(asm.template);
            (!text.trim_ascii().is_empty()).then_some(asm)
        }
        _ => None,
    }
}

/// What assembly is, if rules are about it.
pub(super) fn kind(
    code: Code<'_>,
    inst: InstId,
    asm: &InlineAsm,
    architecture: Architecture,
) -> Option<SiteKind> {
    let template = code.context.text(asm.template);
    let assembly = Assembly::read(architecture, &template);
    let at = match assembly.synchronizes() {
        Synchronizes::No => return None,
        Synchronizes::Unknown(_) => return Some(SiteKind::Unknown),
        Synchronizes::By(at) => at,
    };
    let argument = |number: u32| argument(code, asm, number);
    Some(match assembly.statements[at] {
        Statement::Barrier { barrier, number, threads } => {
            let value = |operand: Option<AsmOperand<'_>>| match operand? {
                AsmOperand::Number(number) => u64::try_from(number).ok(),
                AsmOperand::Call(number) => {
                    let value = code.body.call_args(inst).get(argument(number)?)?;
                    integer(code, *value)
                }
                AsmOperand::Other(_) => None,
            };
            SiteKind::Barrier { barrier, number: value(number), threads: value(threads) }
        }
        Statement::Group { members } => {
            let members = members.map(|operand| match operand {
                AsmOperand::Number(lanes) => Members::Lanes(u64::from(lanes as u32)),
                AsmOperand::Call(number) => match argument(number).map(u8::try_from) {
                    Some(Ok(at)) => Members::Argument(at),
                    _ => Members::Computed,
                },
                AsmOperand::Other(_) => Members::Computed,
            });
            SiteKind::Group { members }
        }
        _ => SiteKind::Unknown,
    })
}

/// What assembly may do that nobody knows, in the words of its text; none if it waits for nobody, or
/// if it is known for whom.
pub(super) fn unknown(
    code: Code<'_>,
    asm: &InlineAsm,
    architecture: Architecture,
) -> Option<String> {
    let template = code.context.text(asm.template);
    match Assembly::read(architecture, &template).synchronizes() {
        Synchronizes::Unknown(text) => Some(text.to_owned()),
        Synchronizes::No | Synchronizes::By(_) => None,
    }
}

/// The argument of the call that operand `$number` of the text is; none for a result.
fn argument(code: Code<'_>, asm: &InlineAsm, number: u32) -> Option<usize> {
    let constraints = code.context.text(asm.constraints);
    let constraints = Constraints::parse(&constraints).ok()?;
    let operands = constraints.all().iter().filter(|c| c.role != Role::Clobber);
    let is_argument = |c: &phalanx_target::inline_asm::Constraint<'_>| {
        c.role == Role::Input || (c.role == Role::Output && c.indirect)
    };
    let before: Vec<bool> = operands.take(number as usize + 1).map(is_argument).collect();
    let (&is_last, before) = before.split_last()?;
    (before.len() == number as usize && is_last)
        .then(|| before.iter().filter(|&&is_argument| is_argument).count())
}
