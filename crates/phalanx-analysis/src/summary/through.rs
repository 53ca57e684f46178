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
//! As for results, if a pointer is followed; nothing otherwise. Functions with more than [`PARTS`] parts are not followed.

use phalanx_graph::{Node, PostDomTree};
use phalanx_ir::{TypeKind, attributes::AttrKind, flow::node_of};
use phalanx_target::{
    SourceSet, TransferContext,
    address_space::AddressSpace,
    calling_convention::{self, Entry},
};

use super::outcome::Tokens;
use super::returns::{Returns, parting_for};
use super::{Outcome, is_copied};
use crate::affect::Value;
use crate::divergence::{Divergence, Flow, Rules, ValueTable, solve};
use crate::explain::Fact;
use crate::lower::{self, Code, Numbering, PointeeValues, Surroundings};
use crate::memory::{
    PrivateMemory,
    private::{Effect, Touch, pointee_of},
    ssa::{EventKind, Version},
};

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
    /// The result, where arguments that are followed are addresses of private objects; none where that is told by
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
    calling_convention::entry(header.call_conv, architecture) == Entry::Call
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
    let count = code.header.params.len() as u32;
    if !(0..count).any(|position| may_be_private_argument(code, around, position)) {
        return None;
    }
    let memory = PrivateMemory::with_pointees(code, around, flow.cfg, flow.dom);
    let followed: Box<[bool]> =
        (0..count).map(|at| memory.is_object(pointee_of(code.body, at))).collect();
    if !followed.contains(&true) {
        return None;
    }
    let slots = slots(code, &memory, &followed);
    if slots.len() > PARTS {
        return None;
    }
    let (table, values) = lower::full_through(code, around, &memory);
    let solver = Solver { code, flow, postdom, memory: &memory, values: &values, can_part };
    let wave = TransferContext::new(around.launch, around.lockstep).wave;
    Some(solver.through(&table, wave, followed, &slots))
}

/// What an outcome of parts of what an argument points to is read off: what is there at the returns, and the branches at which threads part
/// for returns where something else is there.
pub(crate) fn ends(
    (code, flow, postdom): (Code<'_>, Flow<'_>, &PostDomTree),
    (memory, values): (&PrivateMemory, &PointeeValues),
    parameter: u32,
    ranges: &[Option<(i64, i64)>],
) -> Vec<Fact> {
    let solver = Solver { code, flow, postdom, memory, values, can_part: true };
    let object = pointee_of(code.body, parameter);
    let mut found = Vec::new();
    for (slot, number) in memory.slots().iter().zip(0..) {
        if slot.alloca == object && ranges.contains(&slot.range) {
            let exits = values.exits.iter().filter(|(of, ..)| *of == number);
            found.extend(exits.map(|&(.., value)| Fact::Value(value)));
            found.extend(solver.parting(number).into_iter().map(Fact::Terminator));
        }
    }
    found
}

/// Whether two ranges have a byte in common; one that is not known has with all.
pub(crate) fn meet(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> bool {
    a.zip(b).is_none_or(|((first, end), (at, last))| at < end && first < last)
}

/// The slots of what arguments point to: argument and number.
fn slots(code: Code<'_>, memory: &PrivateMemory, followed: &[bool]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for (position, _) in followed.iter().enumerate().filter(|(_, is_followed)| **is_followed) {
        let object = pointee_of(code.body, position as u32);
        let slots = memory.slots().iter().zip(0..).filter(|(slot, _)| slot.alloca == object);
        found.extend(slots.map(|(_, slot)| (position as u32, slot)));
    }
    found
}

struct Solver<'a> {
    code: Code<'a>,
    flow: Flow<'a>,
    postdom: &'a PostDomTree,
    memory: &'a PrivateMemory,
    values: &'a PointeeValues,
    can_part: bool,
}

impl Solver<'_> {
    fn through(
        &self,
        table: &ValueTable,
        wave: SourceSet,
        followed: Box<[bool]>,
        slots: &[(u32, u32)],
    ) -> Through {
        let Solver { code, flow, .. } = *self;
        let numbering = Numbering::new(code.header);
        let parameters = 0..code.header.params.len() as u32;
        // A copy is its own source; of which argument does not matter.
        let open = parameters.filter(|&at| !is_copied(code.context, code.header, at as usize));
        let mut inputs: Vec<(Input, Value)> =
            open.map(|at| (Input::Argument(at), numbering.argument(at))).collect();
        let loaded = &self.values.loaded;
        inputs.extend(loaded.iter().map(|&(at, value)| (Input::Loaded(at), value)));
        for (part, (_, slot)) in slots.iter().enumerate() {
            let entry = self.values.entries.iter().find(|(of, _)| of == slot);
            inputs.extend(entry.map(|&(_, value)| (Input::Content(part as u32), value)));
        }
        let written: Vec<bool> = slots.iter().map(|(_, slot)| self.is_written(*slot)).collect();
        let parting: Vec<Vec<Node>> = slots.iter().map(|(_, slot)| self.parting(*slot)).collect();
        let returns = self.returns();
        let mut outcomes = vec![Outcome::new(wave, inputs.len()); slots.len()];
        let mut result = returns.is_some().then(|| Outcome::new(wave, inputs.len()));
        let mut read = |answer: &Divergence, add: &mut dyn FnMut(&mut Outcome, SourceSet)| {
            if let (Some(result), Some(returns)) = (&mut result, &returns) {
                add(result, returns.whole(answer));
            }
            for (at, (_, slot)) in slots.iter().enumerate().filter(|(at, _)| written[*at]) {
                let exits = self.values.exits.iter().filter(|(of, ..)| of == slot);
                let mut sources: SourceSet =
                    exits.map(|&(.., value)| answer.value(value)).collect();
                sources |= parting[at].iter().map(|node| answer.terminator(*node)).collect();
                add(&mut outcomes[at], sources);
            }
        };
        let tokens = Tokens::new(table, wave, inputs.len());
        let more = tokens.unconditional(table);
        let own = solve(flow, more.as_ref().unwrap_or(table), Rules::Precise);
        read(&own, &mut |outcome, sources| outcome.sources |= sources);
        for pass in tokens.passes(|_| true) {
            let seeds: Vec<(Value, SourceSet)> = pass.seeds(|input| inputs[input].1).collect();
            if seeds.is_empty() {
                continue;
            }
            let answer = solve(flow, &tokens.table(table, &seeds), Rules::Precise);
            read(&answer, &mut |outcome, found| pass.note(outcome, found));
        }
        let is_read = |part: u32| {
            let at = inputs.iter().position(|(input, _)| *input == Input::Content(part));
            let reads = |outcome: &Outcome| at.is_some_and(|at| !outcome.arguments[at].is_none());
            result.as_ref().is_some_and(reads) || outcomes.iter().any(reads)
        };
        let read: Vec<bool> = (0..slots.len() as u32).map(is_read).collect();
        let parts =
            slots.iter().zip(outcomes).enumerate().map(|(at, (&(parameter, slot), content))| {
                Part {
                    parameter,
                    range: self.memory.slots()[slot as usize].range,
                    is_read: read[at],
                    content: written[at].then_some(content),
                    is_certain: self.is_certain(slot),
                }
            });
        Through {
            parts: parts.collect(),
            inputs: inputs.iter().map(|(input, _)| *input).collect(),
            result,
            followed,
        }
    }

    /// What is returned, if that is told for private objects apart.
    fn returns(&self) -> Option<Returns> {
        let Code { context, header, .. } = self.code;
        let promises = context.function_attrs(header.attributes).has(AttrKind::NoDivergenceSource);
        let is_whole = !promises
            && header.ret != phalanx_ir::Type::VOID
            && super::member_count(self.code) == 0;
        is_whole.then(|| Returns::new(self.code, self.flow, self.postdom))
    }

    fn definitions(&self, slot: u32) -> impl Iterator<Item = &Touch> {
        self.memory.touches().iter().filter(move |touch| {
            touch.slot == slot && self.memory.events().event(touch.event).kind != EventKind::Use
        })
    }

    fn is_written(&self, slot: u32) -> bool {
        self.definitions(slot).next().is_some()
    }

    fn exits(&self, slot: u32) -> impl Iterator<Item = &Touch> {
        let touches = self.memory.touches().iter();
        touches.filter(move |touch| touch.slot == slot && touch.effect == Effect::Return)
    }

    /// Whether what is there at the entry is nowhere left at a return.
    fn is_certain(&self, slot: u32) -> bool {
        let ssa = self.memory.ssa();
        let mut work: Vec<Version> =
            self.exits(slot).map(|touch| self.memory.reaching(touch)).collect();
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(version) = work.pop() {
            match version {
                Version::Entry => return false,
                Version::Def(event) => {
                    let is_partial = self.memory.events().event(event).kind == EventKind::MayDef;
                    if is_partial && seen.insert(version) {
                        work.push(ssa.reaching(event));
                    }
                }
                Version::Phi(phi) => {
                    if seen.insert(version) {
                        let phi = &ssa.phis()[phi as usize];
                        work.extend(ssa.incoming(phi).iter().map(|(_, version)| *version));
                    }
                }
            }
        }
        true
    }

    /// The branches at which threads part for returns where a slot holds different things.
    fn parting(&self, slot: u32) -> Vec<Node> {
        let exit = |touch: &Touch| {
            let node = node_of(self.code.body.block_of(touch.inst)?);
            let version = self.memory.reaching(touch);
            Some((node, version, self.is_once(version)))
        };
        let given: Vec<(Node, Version, bool)> = self.exits(slot).filter_map(exit).collect();
        match self.can_part {
            true => parting_for(self.flow, self.postdom, self.code.flow.id_count(), &given),
            false => Vec::new(),
        }
    }

    /// Whether a version is one per call.
    fn is_once(&self, version: Version) -> bool {
        let block = match version {
            Version::Entry => return true,
            Version::Phi(phi) => Some(self.memory.ssa().phis()[phi as usize].block),
            Version::Def(event) => {
                let touch = self.memory.touch_of(event);
                self.code.body.block_of(touch.inst).map(node_of)
            }
        };
        block.is_some_and(|block| self.flow.cycles.innermost(block).is_none())
    }
}
