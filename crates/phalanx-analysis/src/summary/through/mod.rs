//! What a function does through pointers that it is passed.
//!
//! # What
//!
//! A caller that passes the address of a [private object](crate::memory::private) has to know what
//! the callee does with the object. For each pointer argument, [`Through`] says whether it is
//! *followed*: the callee does not capture the address, and the analysis knows all accesses through
//! it. Then the object of the argument has parts: bytes at constant offsets from the pointer, or
//! all of it. For each [`Part`](crate::code::calls::Part), [`Through`] has
//!
//! - whether the content at the call matters for anything;
//! - the content after the call, as an [`Outcome`](crate::code::calls::Outcome), if the function
//!   may write there;
//! - whether the function certainly replaces all of the part before it returns.
//!
//! ```text
//! define void @set(ptr %p, i32 %v) {   ; %p is followed, with one part: bytes 0..4
//!   store i32 %v, ptr %p               ; replaced for certain; the content depends on %v
//!   ret void
//! }
//! ```
//!
//! Outcomes are as for results: two threads that are converged at an instance of the call, and
//! agree on every source of the outcome, find equal contents afterwards. Besides arguments, an
//! outcome may depend on the content of parts at the call ([`Input`](crate::code::calls::Input)).
//!
//! > All of this holds for a call whose argument is the address of an object that is private to the
//! > caller, and no other argument is an address of the same object.
//!
//! If a call passes other pointers as well, a value loaded through them may be anything. An outcome
//! that depends on such a value ([`Input::Loaded`](crate::code::calls::Input::Loaded)) is known at
//! a call only if that argument is the address of a private object as well.
//!
//! # How
//!
//! During the call no other code has a pointer to the object. So the callee can treat the object
//! like an alloca of its own: [`PrivateMemory::with_pointees`] divides it into slots and puts these
//! into SSA form. The function is solved with this form, and again with arguments and contents as
//! the only sources, as for [results](super). The content of a part at a return is the version that
//! reaches the return. Threads that left by different returns are together again behind the call.
//! So the sources of the branches that parted them belong to the outcome, unless the version is the
//! same.
//!
//! A part is replaced for certain if the version at the entry reaches no return over
//! may-definitions and memory phis.
//!
//! # Cost
//!
//! As for results, if a pointer may be followed; nothing otherwise. If there are more than
//! [`PARTS`](crate::code::calls::PARTS) parts, no argument is followed. After an edit the facts are
//! updated incrementally: [`update`](crate::update::ThroughUpdater).

mod reading;
mod seeded;
mod slots;

pub(crate) use reading::Reading;
pub(crate) use seeded::{Seeded, positions};
pub(crate) use slots::SlotFacts;

use phalanx_core::{
    affect::Value,
    divergence::{FlowFacts, Rules, solve},
};
use phalanx_graph::PostDomTree;
use phalanx_ir::attributes::AttrKind;
use phalanx_target::TransferContext;

use self::seeded::Pointee;
use super::passes;
use super::returns::Returns;
use crate::code::{
    Code, Environment,
    calls::{Through, may_be_private_argument},
};
use crate::explain::Fact;
use crate::lower::{self, PointeeValues};
use crate::memory::PrivateMemory;

/// What a function does through its arguments. `None` if none is followed. Only tests pass
/// `can_part = false`, which ignores parting branches.
pub(crate) fn through(
    code: Code<'_>,
    env: Environment<'_>,
    (flow, postdom): (FlowFacts<'_>, &PostDomTree),
    can_part: bool,
) -> Option<Through> {
    if !may_be_followed(code, env) {
        return None;
    }
    let memory = PrivateMemory::with_pointees(code, env, flow.cfg, flow.dom);
    if !Seeded::is_known_by(&memory) {
        return None;
    }
    let (table, values) = lower::full_through(code, env, &memory);
    let seeded = Seeded::new(code, &memory, &values);
    let mut slots = SlotFacts::all((code, flow, postdom), &memory);
    if !can_part {
        slots.iter_mut().for_each(SlotFacts::forget_parting);
    }
    let facts = seeded.arguments().map(|of| SlotFacts::of_pointee(&slots, of)).collect::<Vec<_>>();
    let inputs = seeded.inputs(code);
    let returns = returns(code, flow, postdom);
    let wave = TransferContext::new(env.launch, env.lockstep).wave;
    let values: Vec<Option<Value>> = inputs.iter().map(|&(_, value)| Some(value)).collect();
    let tokens = passes::tokens(env, &table, inputs.len());
    let mut reading = Reading::new((&seeded, &facts), returns.as_ref(), &inputs, wave);
    let more = tokens.unconditional(&table);
    let own = solve(flow, more.as_ref().unwrap_or(&table), Rules::Precise);
    reading.own(&own, |value| own.value(value));
    for (pass, seeds) in passes::seeded(&tokens, &values) {
        let answer = solve(flow, &tokens.table(&table, &seeds), Rules::Precise);
        reading.pass(&pass, &answer, |value| answer.value(value));
    }
    Some(reading.finish())
}

/// Whether any argument may be followed.
pub(crate) fn may_be_followed(code: Code<'_>, env: Environment<'_>) -> bool {
    let mut arguments = 0..code.header.params.len() as u32;
    arguments.any(|position| may_be_private_argument(code, env, position))
}

/// The returns, if the result gets an outcome of its own for calls with private objects.
pub(crate) fn returns(
    code: Code<'_>,
    flow: FlowFacts<'_>,
    postdom: &PostDomTree,
) -> Option<Returns> {
    let Code { context, header, .. } = code;
    let promises = context.function_attrs(header.attributes).has(AttrKind::NoDivergenceSource);
    let is_told = !promises && header.ret != phalanx_ir::Type::VOID;
    is_told.then(|| Returns::new(code, flow, postdom))
}

/// The facts whose union is the outcome of some parts of an argument: the contents at returns, and
/// the branches that part threads for returns with different contents.
pub(crate) fn ends(
    (code, flow, postdom): (Code<'_>, FlowFacts<'_>, &PostDomTree),
    (memory, values): (&PrivateMemory, &PointeeValues),
    parameter: u32,
    ranges: &[Option<(i64, i64)>],
) -> Vec<Fact> {
    let Some(pointee) = Pointee::of(memory, values, parameter) else { return Vec::new() };
    let facts =
        SlotFacts::of_pointee(&SlotFacts::all((code, flow, postdom), memory), Some(&pointee));
    let mut found = Vec::new();
    let slots = pointee.slots.iter().zip(&facts);
    for (slot, facts) in slots.filter(|(slot, _)| ranges.contains(&slot.range)) {
        found.extend(slot.exits.iter().map(|&value| Fact::Value(value)));
        found.extend(facts.parting.iter().map(|&node| Fact::Terminator(node)));
    }
    found
}
