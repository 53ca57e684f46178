//! Calls of functions of the module, and arguments of functions whose callers are known, by [summaries](crate::summary).

use phalanx_ir::{InstId, constant::ConstKind};
use phalanx_target::SourceSet;

use super::{Code, Reads, Rule};
use crate::{
    divergence::{self, Definition},
    summary::{CallFacts, Dependence},
};

/// The rule of a call of a function, or of a member of what it returns. None when nothing is known of it.
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
    let args = body.call_args(call).len();
    let mut all = Dependence::NONE;
    let mut reads = 0u64;
    for (position, &dependence) in outcome.arguments.iter().take(args).enumerate() {
        if !dependence.is_none() {
            all = all.union(dependence);
            reads |= 1u64.checked_shl(position as u32).unwrap_or(0);
        }
    }
    // Operands from there on are read whatever is said here.
    if body.operands(call).len() > 64 {
        all = all.union(Dependence::PLAIN);
        reads = u64::MAX;
    }
    let of = |bit: usize| all.apply(SourceSet::from_bits(1 << bit), outcome.wave);
    let is_plain = all == Dependence::PLAIN || reads == 0;
    let definition = Definition {
        seed: outcome.sources,
        transfer: divergence::Transfer::Propagate,
        is_pure: summary.is_timeless,
    };
    let image = (!is_plain).then(|| std::array::from_fn(of));
    let rule = Rule { definition, image, reads: Reads::Some(reads) };
    Some(match member {
        None => with_uses(code, call, rule),
        Some(_) => rule,
    })
}

/// A rule that knows of all uses that matter.
///
/// Operands that the result does not depend on are not read. But threads may have left a cycle with values of different rounds, so
/// what they read of another block is not what was computed there, and that is known of uses only. Such an operand is read
/// after all, as if it mattered as much as the others; where none matters, it is read without effect.
pub(super) fn with_uses(code: Code<'_>, call: InstId, mut rule: Rule) -> Rule {
    let Reads::Some(reads) = rule.reads else { return rule };
    let body = code.body;
    let here = body.block_of(call);
    let mut unread = 0u64;
    for (position, argument) in body.call_args(call).iter().take(64).enumerate() {
        let inst = argument.as_inst().filter(|_| reads >> position & 1 == 0);
        if inst.is_some_and(|inst| body.block_of(inst) != here) {
            unread |= 1 << position;
        }
    }
    if unread != 0 {
        if reads == 0 && rule.definition.transfer != divergence::Transfer::Fixed {
            rule.image = Some([SourceSet::EMPTY; SourceSet::COUNT]);
        }
        rule.reads = Reads::Some(reads | unread);
    }
    rule
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
