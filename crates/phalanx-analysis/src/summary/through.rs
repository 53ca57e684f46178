//! What a function does through pointers that it is given.
//!
//! # What
//!
//! A caller that passes the address of a [private object](crate::memory::private) has to know what becomes of it. For each
//! argument that is a pointer [`Through`] says whether the function *follows* it, which is to say that nobody keeps it; and if so, what
//! the function does with the parts of what it points to: bytes at constant offsets from the pointer, or all of it. Of each [`Part`]:
//!
//! - whether what is there at the call matters for anything;
//! - what is there afterwards, as an [`Outcome`], if the function may write there;
//! - whether it surely replaces all of the part before it returns.
//!
//! Outcomes are as for results: two threads that are converged at an instance of the call, and agree on every source of the outcome,
//! find equal contents afterwards. Besides arguments an outcome may depend on what is in parts when the function is called ([`Input`]).
//!
//! > All of this holds for a call whose argument is the address of an object that is private to the caller, of which no other argument is an
//! > address.
//!
//! Where such an argument stands beside others that are not, what is loaded through the others may be anything: an outcome that
//! depends on it ([`Input::Loaded`]) is known at a call only if that argument is the address of a private object as well.
//!
//! # How
//!
//! During the call nobody else has a pointer to the object, so what the argument points to is as good as a stack slot of the callee:
//! [`PrivateMemory::with_pointees`] divides it and puts it into SSA form. The function is solved with it, and solved again with
//! arguments and contents as the only sources, as for [results](super). What a part holds where the function returns is the version that
//! reaches the return; threads that return apart are together again behind the call, and hold what they returned with: the sources of
//! the branches that parted them belong to the outcome unless the version is the same.
//!
//! A part is replaced if the version at the entry reaches no return over definitions that are not certain and over memory phis.
//!
//! # Cost
//!
//! As for results, if a pointer is followed; nothing otherwise. Functions with more than [`PARTS`] parts are not followed. After an edit
//! what was found is repaired: [`follow`].

pub mod follow;
mod reading;
mod seeded;
mod slots;

pub(crate) use seeded::Seeded;

use phalanx_graph::PostDomTree;
use phalanx_ir::{TypeKind, attributes::AttrKind};
use phalanx_target::{TransferContext, address_space::AddressSpace, calling_convention::Entry};

use self::reading::Reading;
use self::seeded::Pointee;
use self::slots::SlotFacts;
use super::returns::Returns;
use super::{Outcome, is_copied, passes};
use crate::affect::Value;
use crate::divergence::{Flow, Rules, solve};
use crate::explain::Fact;
use crate::lower::{self, Code, PointeeValues, Surroundings};
use crate::memory::PrivateMemory;

/// So many parts are told apart in a function.
pub const PARTS: usize = 32;

/// What an [`Outcome`] of [`Through`] may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// An argument.
    Argument(u32),
    /// Whatever is loaded through an argument.
    Loaded(u32),
    /// What is in a part when the function is called, by number of the part.
    Content(u32),
}

/// Some bytes of what an argument points to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The argument.
    pub parameter: u32,
    /// The bytes, counted from the pointer; any, if that is not known.
    pub range: Option<(i64, i64)>,
    /// Whether what is there when the function is called matters for a result or for what it leaves.
    pub is_read: bool,
    /// What is there afterwards, of the inputs of [`Through::inputs`]; none if it is not written.
    pub content: Option<Outcome>,
    /// Whether all of it is surely replaced.
    pub is_certain: bool,
}

/// What a function does with what its arguments point to. See the [module documentation](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Through {
    /// What outcomes depend on: what each of [`Outcome::arguments`] stands for.
    pub inputs: Box<[Input]>,
    /// By argument and range.
    pub parts: Box<[Part]>,
    /// The result, where arguments that are followed are addresses of private objects, of a structure all of it; none where that is told by
    /// [`Summary::result`](super::Summary::result) as well.
    pub result: Option<Outcome>,
    followed: Box<[bool]>,
}

impl Through {
    /// Whether it is known what the function does through an argument.
    #[must_use]
    pub fn is_followed(&self, position: usize) -> bool {
        self.followed.get(position) == Some(&true)
    }

    /// The parts of what an argument points to.
    pub fn parts_of(&self, position: u32) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.parameter == position)
    }
}

/// Whether an argument of a function that is called is a pointer that may be the address of private memory.
pub(crate) fn may_be_private_argument(
    code: Code<'_>,
    around: Surroundings<'_>,
    position: u32,
) -> bool {
    let (context, header) = (code.context, code.header);
    let architecture = around.target.architecture();
    let ty = header.params.get(position as usize).map(|&ty| context.type_kind(ty));
    let Some(TypeKind::Ptr(space)) = ty else { return false };
    let attributes = context.param_attrs(header.attributes, position as usize);
    code.entry(architecture) == Entry::Call
        && AddressSpace::of(architecture, *space).may_be_private(false)
        && !is_copied(context, header, position as usize)
        && !attributes.has(AttrKind::SwiftError)
}

/// What a function does through its arguments. None if none is followed. `can_part` is only left out by tests.
pub(super) fn through(
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
pub(super) fn may_be_followed(code: Code<'_>, around: Surroundings<'_>) -> bool {
    let mut arguments = 0..code.header.params.len() as u32;
    arguments.any(|position| may_be_private_argument(code, around, position))
}

/// What is returned, if that is told for private objects apart.
fn returns(code: Code<'_>, flow: Flow<'_>, postdom: &PostDomTree) -> Option<Returns> {
    let Code { context, header, .. } = code;
    let promises = context.function_attrs(header.attributes).has(AttrKind::NoDivergenceSource);
    let is_told = !promises && header.ret != phalanx_ir::Type::VOID;
    is_told.then(|| Returns::new(code, flow, postdom))
}

/// What an outcome of parts of what an argument points to is read off: what is there at the returns, and the branches at which threads part
/// for returns where something else is there.
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

/// Whether two ranges have a byte in common; one that is not known has with all.
pub(crate) fn meet(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> bool {
    a.zip(b).is_none_or(|((first, end), (at, last))| at < end && first < last)
}
