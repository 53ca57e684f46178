//! What a function does through pointers that it is given.
//!
//! # What
//!
//! A caller that passes the address of a [private object](crate::memory::private) has to know what
//! becomes of it. For each argument that is a pointer [`Through`] says whether the function
//! *follows* it, which is to say that nobody keeps it; and if so, what the function does with the
//! parts of what it points to: bytes at constant offsets from the pointer, or all of it. Of each
//! [`Part`](crate::code::calls::Part):
//!
//! - whether what is there at the call matters for anything;
//! - what is there afterwards, as an [`Outcome`](crate::code::calls::Outcome), if the function may
//!   write there;
//! - whether it surely replaces all of the part before it returns.
//!
//! Outcomes are as for results: two threads that are converged at an instance of the call, and
//! agree on every source of the outcome, find equal contents afterwards. Besides arguments an
//! outcome may depend on what is in parts when the function is called
//! ([`Input`](crate::code::calls::Input)).
//!
//! > All of this holds for a call whose argument is the address of an object that is private to the caller, of which no other argument is an
//! > address.
//!
//! Where such an argument stands beside others that are not, what is loaded through the others may
//! be anything: an outcome that depends on it
//! ([`Input::Loaded`](crate::code::calls::Input::Loaded)) is known at a call only if that argument
//! is the address of a private object as well.
//!
//! # How
//!
//! During the call nobody else has a pointer to the object, so what the argument points to is as
//! good as a stack slot of the callee: [`PrivateMemory::with_pointees`] divides it and puts it into
//! SSA form. The function is solved with it, and solved again with arguments and contents as the
//! only sources, as for [results](super). What a part holds where the function returns is the
//! version that reaches the return; threads that return apart are together again behind the call,
//! and hold what they returned with: the sources of the branches that parted them belong to the
//! outcome unless the version is the same.
//!
//! A part is replaced if the version at the entry reaches no return over definitions that are not
//! certain and over memory phis.
//!
//! # Cost
//!
//! As for results, if a pointer is followed; nothing otherwise. Functions with more than
//! [`PARTS`](crate::code::calls::PARTS) parts are not followed. After an edit what was found is
//! repaired: [`follow`](crate::follow::ThroughFollower).

mod reading;
mod seeded;
mod slots;

pub(crate) use reading::Reading;
pub(crate) use seeded::{Seeded, positions};
pub(crate) use slots::SlotFacts;

use phalanx_core::{
    affect::Value,
    divergence::{Flow, Rules, solve},
};
use phalanx_graph::PostDomTree;
use phalanx_ir::attributes::AttrKind;
use phalanx_target::TransferContext;

use self::seeded::Pointee;
use super::passes;
use super::returns::Returns;
use crate::code::{
    Code, Surroundings,
    calls::{Through, may_be_private_argument},
};
use crate::explain::Fact;
use crate::lower::{self, PointeeValues};
use crate::memory::PrivateMemory;

/// What a function does through its arguments. None if none is followed. `can_part` is only left
/// out by tests.
pub(crate) fn through(
    code: Code<'_>,
    around: Surroundings<'_>,
    (flow, postdom): (Flow<'_>, &PostDomTree),
    can_part: bool,
) -> Option<Through> {
    if !may_be_followed(code, around) {
        return None;
    }
    let memory = PrivateMemory::with_pointees(code, around, flow.cfg, flow.dom);
    if !Seeded::is_told_by(&memory) {
        return None;
    }
    let (table, values) = lower::full_through(code, around, &memory);
    let seeded = Seeded::new(code, &memory, &values);
    let mut slots = SlotFacts::all((code, flow, postdom), &memory);
    if !can_part {
        slots.iter_mut().for_each(SlotFacts::forget_parting);
    }
    let facts = seeded.arguments().map(|of| SlotFacts::of_pointee(&slots, of)).collect::<Vec<_>>();
    let inputs = seeded.inputs(code);
    let returns = returns(code, flow, postdom);
    let wave = TransferContext::new(around.launch, around.lockstep).wave;
    let values: Vec<Option<Value>> = inputs.iter().map(|&(_, value)| Some(value)).collect();
    let tokens = passes::tokens(around, &table, inputs.len());
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

/// Whether there is an argument that may be followed at all.
pub(crate) fn may_be_followed(code: Code<'_>, around: Surroundings<'_>) -> bool {
    let mut arguments = 0..code.header.params.len() as u32;
    arguments.any(|position| may_be_private_argument(code, around, position))
}

/// What is returned, if that is told for private objects apart.
pub(crate) fn returns(code: Code<'_>, flow: Flow<'_>, postdom: &PostDomTree) -> Option<Returns> {
    let Code { context, header, .. } = code;
    let promises = context.function_attrs(header.attributes).has(AttrKind::NoDivergenceSource);
    let is_told = !promises && header.ret != phalanx_ir::Type::VOID;
    is_told.then(|| Returns::new(code, flow, postdom))
}

/// What an outcome of parts of what an argument points to is read off: what is there at the
/// returns, and the branches at which threads part for returns where something else is there.
pub(crate) fn ends(
    (code, flow, postdom): (Code<'_>, Flow<'_>, &PostDomTree),
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
