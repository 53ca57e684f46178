//! Calls of functions of the module, and arguments of functions whose callers are known, by
//! [summaries](crate::summary).

use phalanx_core::divergence::{self, Definition};
use phalanx_ir::InstId;
use phalanx_target::SourceSet;

use super::rule::{Reads, Rule};
use crate::code::Code;
use crate::{
    code::calls::{CallFacts, Dependence, Input, Outcome, of_call},
    memory::Looked,
};

/// The rule of a call of a function, or of a member of what it returns. None when nothing is known
/// of it.
///
/// Of what is read of private `memory` the rule says what becomes of its sources; who reads what is
/// stated with the versions.
pub(super) fn rule(
    code: Code<'_>,
    facts: &dyn CallFacts,
    memory: Option<Looked<'_>>,
    call: InstId,
    member: Option<u32>,
) -> Option<Rule> {
    let body = code.body;
    let summary = of_call(code, facts, call)?;
    let private = memory.filter(|memory| member.is_none() && !memory.passed(call).is_empty());
    let through = summary.through.as_ref().filter(|_| private.is_some());
    let through = through.and_then(|through| Some((through, through.result.as_ref()?)));
    let outcome = through.map_or_else(|| summary.outcome(member), |(_, outcome)| outcome);
    let inputs = through.map(|(through, _)| &through.inputs);
    let args = body.call_args(call).len();
    let mut all = Dependence::NONE;
    let mut seed = outcome.sources;
    let (mut reads, mut reads_memory) = (0u64, false);
    for (number, &dependence) in outcome.arguments.iter().enumerate() {
        if dependence.is_none() {
            continue;
        }
        match inputs.map_or(Input::Argument(number as u32), |inputs| inputs[number]) {
            Input::Argument(position) if (position as usize) < args => {
                all = all.union(dependence);
                reads |= 1u64.checked_shl(position).unwrap_or(0);
            }
            Input::Argument(_) => {}
            Input::Loaded(position) => {
                let passed = private.map(|memory| memory.passed(call)).unwrap_or_default();
                if !passed.iter().any(|passed| passed.position == position) {
                    seed |= SourceSet::OPAQUE_THREAD;
                }
            }
            Input::Content(_) => {
                all = all.union(dependence);
                reads_memory = true;
            }
        }
    }
    // Operands from there on are read whatever is said here.
    if body.operands(call).len() > 64 {
        all = all.union(Dependence::PLAIN);
        reads = u64::MAX;
    }
    let of = |bit: usize| all.apply(SourceSet::from_bits(1 << bit), outcome.wave);
    let is_plain = all == Dependence::PLAIN || reads == 0 && !reads_memory;
    let definition = Definition {
        seed,
        transfer: divergence::Transfer::Propagate,
        is_pure: summary.is_timeless,
    };
    let image = (!is_plain).then(|| std::array::from_fn(of));
    let rule = Rule { definition, image, reads: Reads::Some(reads) };
    Some(match member {
        None if reads_memory && reads == 0 => with_uses(code, call, rule, true),
        None => with_uses(code, call, rule, false),
        Some(_) => rule,
    })
}

/// Whether all of the structure that a call returns tells more of a member than what is known of
/// that by itself, which can be made of private `memory`.
pub(super) fn is_known_as_whole(
    code: Code<'_>,
    facts: &dyn CallFacts,
    memory: Option<Looked<'_>>,
    (call, member): (InstId, u32),
) -> bool {
    let is_anything = |outcome: &Outcome| outcome.sources.contains(SourceSet::OPAQUE_THREAD);
    if memory.is_none_or(|memory| memory.passed(call).is_empty()) {
        return false;
    }
    of_call(code, facts, call).is_some_and(|summary| {
        let whole = summary.through.as_ref().and_then(|through| through.result.as_ref());
        is_anything(summary.outcome(Some(member))) && whole.is_some_and(|of| !is_anything(of))
    })
}

/// A rule that knows of all uses that matter.
///
/// Operands that the result does not depend on are not read. But threads may have left a cycle with
/// values of different rounds, so what they read of another block is not what was computed there,
/// and that is known of uses only. Such an operand, unless it is computed in the entry, which is in
/// no cycle, is read after all, as if it mattered as much as the others; where none matters, it is
/// read without effect, unless more is read than operands.
pub(super) fn with_uses(code: Code<'_>, call: InstId, mut rule: Rule, reads_more: bool) -> Rule {
    let Reads::Some(reads) = rule.reads else { return rule };
    let body = code.body;
    let here = body.block_of(call);
    let mut unread = 0u64;
    for (position, argument) in body.call_args(call).iter().take(64).enumerate() {
        let inst = argument.as_inst().filter(|_| reads >> position & 1 == 0);
        let block = inst.map(|inst| body.block_of(inst));
        if block.is_some_and(|block| block != here && block != code.flow.entry()) {
            unread |= 1 << position;
        }
    }
    if unread != 0 {
        if reads == 0 && !reads_more && rule.definition.transfer != divergence::Transfer::Fixed {
            rule.image = Some([SourceSet::EMPTY; SourceSet::COUNT]);
        }
        rule.reads = Reads::Some(reads | unread);
    }
    rule
}

/// The sources of an argument of a function that is called. A scalar register holds one value per
/// wave.
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
