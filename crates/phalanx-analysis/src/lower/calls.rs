//! Rules for calls of functions of the module, from [summaries](crate::summary), and for arguments
//! of functions whose callers are known.

use phalanx_core::divergence::{self, Definition};
use phalanx_ir::InstId;
use phalanx_target::SourceSet;

use super::rule::{Reads, Rule};
use crate::code::Code;
use crate::{
    code::calls::{CallFacts, Dependence, Input, Outcome, of_call},
    memory::PrivateView,
};

/// The rule of a call of a function, or of a member of what it returns. None if nothing is known of
/// the callee.
///
/// If the result depends on private `memory`, the rule says what becomes of the sources of that
/// memory. The memory that is read is stated later, with its versions.
pub(super) fn rule(
    code: Code<'_>,
    facts: &dyn CallFacts,
    memory: Option<PrivateView<'_>>,
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
    // Operands from 64 on always count as read.
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

/// Whether the outcome of the whole structure that a call returns tells more about a member than
/// the member's own outcome, which may depend on private `memory`.
pub(super) fn is_known_as_whole(
    code: Code<'_>,
    facts: &dyn CallFacts,
    memory: Option<PrivateView<'_>>,
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

/// Adds reads to a rule, so that the table has all uses of operands that may be temporally
/// divergent.
///
/// By itself a rule does not read operands that the result does not depend on. But threads that
/// left a cycle in different rounds have values of different rounds of an operand from another
/// block. The analysis finds such differences at uses only. So an operand from another block is
/// read after all, with the same effect as the other operands, unless it is computed in the entry,
/// which is in no cycle. If the result depends on no operand, such operands are read without
/// effect, unless the rule also reads memory.
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

/// The sources of an argument of a function that is called. An argument in a scalar register has
/// one value per wave.
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
