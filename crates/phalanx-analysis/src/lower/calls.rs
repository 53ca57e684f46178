//! Calls of functions of the module, and arguments of functions whose callers are known, by [summaries](crate::summary).

use phalanx_ir::{InstId, Value, constant::ConstKind};
use phalanx_target::SourceSet;

use super::{Code, Reads, Rule};
use crate::{
    divergence::{self, Definition},
    summary::{CallFacts, Dependence},
};

/// The rule of a call of a function, or of a member of what it returns. None when nothing is known of it.
///
/// Arguments that do not matter are not read. But a use of a value from another block is a use: threads may have left a cycle with
/// values of different rounds. Such an operand is read after all, as if it mattered as much as the others; where none matters, it
/// is read without effect.
pub(super) fn rule(
    code: Code<'_>,
    facts: &dyn CallFacts,
    call: InstId,
    member: Option<u32>,
) -> Option<Rule> {
    let body = code.body;
    let ConstKind::Global(name) = code.context.const_data(body.const_callee(call)?).kind else {
        return None;
    };
    let summary = facts.summary(name)?;
    // Called as something else, a function may do anything.
    if summary.ty != Some(body.call_info(call).function_type) {
        return None;
    }
    let outcome = summary.outcome(member);
    let here = body.block_of(call);
    let is_from_elsewhere = |value: Value| {
        let inst = value.as_inst().filter(|_| member.is_none());
        inst.is_some_and(|inst| body.block_of(inst) != here)
    };
    let mut all = Dependence::NONE;
    let mut reads = 0u64;
    for (position, &argument) in body.call_args(call).iter().enumerate() {
        let dependence = outcome.arguments.get(position).copied().unwrap_or(Dependence::NONE);
        all = all.union(dependence);
        if !dependence.is_none() || is_from_elsewhere(argument) {
            reads |= 1u64.checked_shl(position as u32).unwrap_or(0);
        }
    }
    // Operands from there on are read whatever is said here.
    if body.operands(call).len() > 64 {
        all = all.union(Dependence::PLAIN);
        reads = u64::MAX;
    }
    let of = |bit: usize| {
        let source = SourceSet::from_bits(1 << bit);
        all.apply(source, outcome.wave)
    };
    let image: [SourceSet; SourceSet::COUNT] = std::array::from_fn(of);
    let is_plain = all == Dependence::PLAIN || reads == 0;
    let definition = Definition {
        seed: outcome.sources,
        transfer: divergence::Transfer::Propagate,
        is_pure: summary.is_timeless,
    };
    Some(Rule { definition, image: (!is_plain).then_some(image), reads: Reads::Some(reads) })
}

/// The sources of an argument of a function that is called. A scalar register holds one value per wave.
pub(super) fn argument(
    facts: &dyn CallFacts,
    position: u32,
    is_scalar: bool,
    wave: SourceSet,
) -> SourceSet {
    match (facts.argument(position), is_scalar) {
        (Some(sources), true) if sources.intersects(wave) => {
            (sources - wave) | SourceSet::OPAQUE_WAVE
        }
        (Some(sources), _) => sources,
        (None, true) => SourceSet::OPAQUE_WAVE,
        (None, false) => SourceSet::OPAQUE_THREAD,
    }
}
