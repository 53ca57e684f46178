//! Summaries: what a call does, as its callers need to know it.
//!
//! # What
//!
//! A [`Summary`] holds
//!
//! - an [`Outcome`], the sources of the result as a function of the sources of the arguments:
//!   `R ∪ f1(mask of argument 1) ∪ f2(mask of argument 2) ∪ ...`, where `R` is what the function brings in by itself and each `f`
//!   is a [`Dependence`]; likewise for each member of a structure that is returned;
//! - whether the result is a function of the arguments and of the thread alone;
//! - the [`Effects`]: convergent operations, barriers, memory;
//! - what it does [`through`] pointers to private memory of the caller.
//!
//! > Two threads that are converged at an instance of the call, and agree on every source of the outcome, get equal results.
//!
//! # How
//!
//! Sources never interact (see [`divergence`](crate::divergence)), so the function is solved a second time with its parameters as
//! the only sources, one bit for each: whatever has the bit in the end depends on that parameter. Where operations collapse
//! sources, a vote for instance, a parameter takes four bits, one for each thing that may become of a source
//! ([`Dependence`]). Parameters beyond the number of bits are solved in further passes, and those beyond the last pass as one.
//!
//! # Returns
//!
//! Threads that left a function by different returns are together again behind the call. Take two such threads, and the last
//! block, in no cycle, that both went through: they were converged there, since it is executed once. Behind it they separated
//! first at some branch, at which they were converged (the key of an instance depends on the path of its own thread alone), so they
//! disagree on a source of that branch; different returns are reached from it, and no block in no cycle that it must come
//! through. The sources of all such branches belong to the result, unless the returns give the same ([`returns`]).
//!
//! # Scope
//!
//! Threads converged at a call are converged at the entry of the callee: the key of a block of the callee ends in the call.
//! "Equal within a wave" is said of threads of one wave that are converged, in the callee as in the caller, so sources of the callee are
//! sources of the caller. Launch facts of the callee alone say what varies within a wave; they must hold for its calls.
//!
//! # Recursion
//!
//! [`Summary::bottom`] for every function of a component of the call graph, and again from what was found until nothing changes: the
//! least solution, since all rules have one antecedent. What a call returns was computed by a finite tree of calls.

mod contents;
mod effects;
pub mod follow;
mod outcome;
mod passes;
pub mod returns;
pub mod through;

pub use contents::{Contents, argument_sources, is_only_content};
pub use effects::{Effects, Spaces};
pub use outcome::{Dependence, Outcome};
pub(crate) use passes::{Passes, arguments};
pub use through::{Part, Through};
pub(crate) use through::{Seeded, may_be_private_argument};

use std::borrow::Cow;
use std::fmt;

use phalanx_graph::{Cycles, PostDomTree};
use phalanx_ir::{
    Context, FunctionHeader, GlobalName, InstId, Opcode, Type, TypeKind, attributes::AttrKind,
    constant::ConstKind, module::Linkage,
};
use phalanx_target::{LaunchFacts, Scope, SourceSet, TransferContext, varying};

use crate::divergence::{Divergence, Flow, Rules, ValueTable, solve};
use crate::lower::{self, Code, Numbering, Single, Surroundings};
use crate::memory::PrivateMemory;
use outcome::Pass;
use returns::Returns;

/// What a function knows of others: of those that it calls, and of those that call it.
pub trait CallFacts {
    /// What a call of a function of the module does; none when it is not known.
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>>;
    /// The sources of an argument; none when not all callers are known. Of a structure that is
    /// passed by value or by reference ([`is_known_by_content`]) those of its content.
    fn argument(&self, position: u32) -> Option<SourceSet>;
}

/// Nothing is known of calls.
#[derive(Clone, Copy, Debug)]
pub struct NoCallFacts;

impl CallFacts for NoCallFacts {
    fn summary(&self, _: GlobalName) -> Option<Cow<'_, Summary>> {
        None
    }

    fn argument(&self, _: u32) -> Option<SourceSet> {
        None
    }
}

/// What a call of a function does. See the [module documentation](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The type that it must be called with.
    pub ty: Option<Type>,
    /// Whether it was found from the code; else it is what attributes say.
    pub is_from_code: bool,
    /// Of the result as a whole.
    pub result: Outcome,
    /// Of each member of a structure; empty when they are not told apart.
    pub members: Box<[Outcome]>,
    /// Whether it gives a thread the same result whenever it is called with the same arguments, and does nothing else.
    pub is_timeless: bool,
    /// What it does besides.
    pub effects: Effects,
    /// What it does with what its arguments point to, if some are followed.
    pub through: Option<Box<Through>>,
}

impl Summary {
    /// Nothing returns: where a fixpoint begins.
    #[must_use]
    pub fn bottom(header: &FunctionHeader) -> Summary {
        Summary {
            ty: Some(header.ty),
            is_from_code: true,
            result: Outcome::default(),
            members: Box::default(),
            is_timeless: true,
            effects: Effects::NONE,
            through: None,
        }
    }

    /// What its attributes say of a function whose code is not known.
    ///
    /// A result that is no source of divergence is one for the wave when the arguments are; from others it may be anything.
    #[must_use]
    pub fn of_attributes(
        context: &Context,
        header: &FunctionHeader,
        launch: &LaunchFacts,
    ) -> Summary {
        let attributes = context.function_attrs(header.attributes);
        let result = match attributes.has(AttrKind::NoDivergenceSource) {
            false => Outcome::unknown(),
            true => {
                Outcome::of_uniform_arguments(varying(Scope::Wave, launch), header.params.len())
            }
        };
        Summary {
            ty: Some(header.ty),
            is_from_code: false,
            result,
            members: Box::default(),
            is_timeless: false,
            effects: Effects::of_attributes(attributes),
            through: None,
        }
    }

    /// The outcome of a member of the result, or of the whole.
    #[must_use]
    pub fn outcome(&self, member: Option<u32>) -> &Outcome {
        let member = member.and_then(|member| self.members.get(member as usize));
        member.unwrap_or(&self.result)
    }
}

/// Whether a function of the module is the one that is executed, as it stands here: others may be put in place of definitions
/// that are weak, or compiled from the same source in another way. Not where the module is all of the program.
#[must_use]
pub fn is_exact(linkage: Linkage, is_whole: bool) -> bool {
    match linkage {
        Linkage::External | Linkage::Internal | Linkage::Private => true,
        Linkage::LinkOnce | Linkage::LinkOnceOdr | Linkage::Weak | Linkage::WeakOdr => is_whole,
        _ => false,
    }
}

/// Whether a pointer parameter is to a copy that the call makes.
#[must_use]
pub fn is_copied(context: &Context, header: &FunctionHeader, position: usize) -> bool {
    let attributes = context.param_attrs(header.attributes, position);
    [AttrKind::ByVal, AttrKind::InAlloca, AttrKind::Preallocated]
        .into_iter()
        .any(|kind| attributes.has(kind))
}

/// Whether what is known of a pointer parameter is known of what it points to: a copy that the
/// call makes, or a structure that is passed by reference.
#[must_use]
pub fn is_known_by_content(context: &Context, header: &FunctionHeader, position: usize) -> bool {
    is_copied(context, header, position)
        || context.param_attrs(header.attributes, position).has(AttrKind::ByRef)
}

/// The facts of other functions, with no sources from arguments: what a function brings in by itself.
pub(crate) struct WithoutArguments<'a>(pub(crate) &'a dyn CallFacts, pub(crate) Code<'a>);

impl CallFacts for WithoutArguments<'_> {
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>> {
        self.0.summary(callee)
    }

    fn argument(&self, position: u32) -> Option<SourceSet> {
        match is_known_by_content(self.1.context, self.1.header, position as usize) {
            true => None,
            false => Some(SourceSet::EMPTY),
        }
    }
}

/// The summary of a function with a body.
///
/// O(function) for each pass; there are two, and one more for every 12 parameters (3 where sources collapse), at most
/// six.
#[must_use]
pub fn summarize(
    code: Code<'_>,
    around: Surroundings<'_>,
    flow: Flow<'_>,
    postdom: &PostDomTree,
    known: AtHand<'_>,
) -> Summary {
    let returns = || Returns::new(code, flow, postdom);
    summarize_with(code, around, (flow, postdom), (returns, true), known)
}

/// As [`summarize`], as if threads that return apart returned the same: wrong, for tests that want to see that.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn summarize_without_parting(
    code: Code<'_>,
    around: Surroundings<'_>,
    flow: Flow<'_>,
    postdom: &PostDomTree,
) -> Summary {
    let returns = || Returns::new(code, flow, postdom).without_parting();
    summarize_with(code, around, (flow, postdom), (returns, false), AtHand::default())
}

/// Parts of a summary, and what it is found from, that somebody has found already. None of it makes a difference to what is found.
#[derive(Default)]
pub struct AtHand<'a> {
    /// What single instructions tell.
    pub besides: Option<Besides>,
    /// What is done through pointers, if anything is known of that.
    pub through: Option<Option<Box<Through>>>,
    /// Gives what the divergence of the function is solved from, whatever its callers pass.
    pub table: Option<&'a dyn Fn() -> Option<ValueTable>>,
}

impl fmt::Debug for AtHand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AtHand { besides, through, table } = self;
        let mut all = f.debug_struct("AtHand");
        all.field("besides", besides).field("through", through);
        all.field("table", &table.is_some()).finish()
    }
}

fn summarize_with(
    code: Code<'_>,
    around: Surroundings<'_>,
    (flow, postdom): (Flow<'_>, &PostDomTree),
    (returns, can_part): (impl FnOnce() -> Returns, bool),
    known: AtHand<'_>,
) -> Summary {
    let besides = known.besides.unwrap_or_else(|| Besides::new(code, around, flow.cycles));
    let facts = WithoutArguments(around.calls, code);
    let around = Surroundings { calls: &facts, ..around };
    let through = known
        .through
        .unwrap_or_else(|| through::through(code, around, (flow, postdom), can_part).map(Box::new));
    if let Some(summary) = besides.without_result(code, through.clone()) {
        return summary;
    }
    let table = match known.table.and_then(|table| table()) {
        Some(table) => with_own_arguments(code, around, table),
        None => {
            let memory = PrivateMemory::through_calls(code, around, flow.cfg, flow.dom);
            lower::full_with(code, around, &memory, 0)
        }
    };
    let is_timeless =
        first_impure(code, |inst| table.is_pure(Numbering::new(code.header).inst(inst))).is_none();
    if code.header.ret == Type::VOID {
        let results = Results { is_timeless, ..Results::default() };
        return besides.with_results(code, through, results);
    }
    let inputs = arguments(code);
    let tokens = passes::tokens(around, &table, inputs.len());
    let returns = returns();
    let mut reading = Reading::new(code, around, &returns);
    let more = tokens.unconditional(&table);
    reading.own(&solve(flow, more.as_ref().unwrap_or(&table), Rules::Precise));
    for (pass, seeds) in passes::seeded(&tokens, &inputs) {
        reading.pass(&pass, &solve(flow, &tokens.table(&table, &seeds), Rules::Precise));
    }
    besides.with_results(code, through, reading.finish(is_timeless))
}

/// The same tables where arguments are what they are in these surroundings. What is known of arguments is in their definitions and nowhere else.
fn with_own_arguments(
    code: Code<'_>,
    around: Surroundings<'_>,
    mut table: ValueTable,
) -> ValueTable {
    let mut rules = Single::new(code, around);
    for position in 0..code.header.params.len() as u32 {
        let argument = Numbering::new(code.header).argument(position);
        table.set_seed(argument, rules.argument(position));
    }
    table
}

/// What a single instruction tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Told {
    effects: Effects,
    writes_memory: bool,
}

impl Told {
    /// What an instruction tells; none if it is nothing.
    #[must_use]
    pub fn by(code: Code<'_>, around: Surroundings<'_>, inst: InstId) -> Option<Told> {
        let effects = Effects::at(code, around, inst);
        let told = Told { effects, writes_memory: writes_memory(code, inst) };
        (told.writes_memory || effects != Effects::NONE).then_some(told)
    }
}

/// What single instructions tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Besides {
    effects: Effects,
    writes_memory: bool,
}

impl Besides {
    /// That of a function. O(instructions).
    #[must_use]
    pub fn new(code: Code<'_>, around: Surroundings<'_>, cycles: &Cycles) -> Besides {
        let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        Besides::of(code, cycles, insts.filter_map(|inst| Told::by(code, around, inst)))
    }

    /// That of a function whose instructions tell this, whatever how often.
    #[must_use]
    pub fn of(code: Code<'_>, cycles: &Cycles, all: impl Iterator<Item = Told>) -> Besides {
        let mut writes_memory = false;
        let all = all.inspect(|told| writes_memory |= told.writes_memory);
        let effects = Effects::of(code, cycles, all.map(|told| told.effects));
        Besides { effects, writes_memory }
    }

    /// The summary of a function that returns nothing, where it is known without looking at results.
    #[must_use]
    pub fn without_result(self, code: Code<'_>, through: Option<Box<Through>>) -> Option<Summary> {
        let is_known = code.header.ret == Type::VOID && self.writes_memory;
        is_known.then(|| self.with_results(code, through, Results::default()))
    }

    /// The summary of a function with these results.
    #[must_use]
    pub fn with_results(
        self,
        code: Code<'_>,
        through: Option<Box<Through>>,
        Results { result, members, is_timeless }: Results,
    ) -> Summary {
        let Besides { effects, .. } = self;
        let bottom = Summary::bottom(code.header);
        Summary { effects, through, result, members, is_timeless, ..bottom }
    }
}

/// What solving a function tells of its result; by default that there is none, and that a call has a time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Results {
    result: Outcome,
    members: Box<[Outcome]>,
    is_timeless: bool,
}

/// Reads results off solutions.
struct Reading<'a> {
    code: Code<'a>,
    returns: &'a Returns,
    result: Outcome,
    members: Vec<Outcome>,
}

impl<'a> Reading<'a> {
    fn new(code: Code<'a>, around: Surroundings<'_>, returns: &'a Returns) -> Self {
        let wave = TransferContext::new(around.launch, around.lockstep).wave;
        let result = Outcome::new(wave, code.header.params.len());
        Reading { code, returns, members: vec![result.clone(); member_count(code)], result }
    }

    fn read(&mut self, answer: &Divergence, mut add: impl FnMut(&mut Outcome, SourceSet)) {
        let numbering = Numbering::new(self.code.header);
        add(&mut self.result, self.returns.whole(answer));
        for (position, member) in self.members.iter_mut().enumerate() {
            add(member, self.returns.member(self.code, numbering, answer, position as u32));
        }
    }

    /// The solution with the function's own sources.
    fn own(&mut self, answer: &Divergence) {
        self.read(answer, |outcome, sources| outcome.sources |= sources);
    }

    /// One with arguments as the only sources.
    fn pass(&mut self, pass: &Pass, answer: &Divergence) {
        self.read(answer, |outcome, found| pass.note(outcome, found));
    }

    fn finish(mut self, is_timeless: bool) -> Results {
        let Code { context, header, .. } = self.code;
        if context.function_attrs(header.attributes).has(AttrKind::NoDivergenceSource) {
            self.members.iter_mut().for_each(Outcome::promise_no_source);
            self.result.promise_no_source();
        }
        Results { result: self.result, members: self.members.into(), is_timeless }
    }
}

/// What is known of the function that an instruction calls by its name, with its own type.
pub(crate) fn of_call<'a>(
    code: Code<'_>,
    facts: &'a dyn CallFacts,
    call: InstId,
) -> Option<Cow<'a, Summary>> {
    let callee = code.body.const_callee(call)?;
    let ConstKind::Global(name) = code.context.const_data(callee).kind else { return None };
    // Called as something else, a function may do anything.
    facts.summary(name).filter(|known| known.ty == Some(code.body.call_info(call).function_type))
}

/// How many members of the result are told apart.
fn member_count(code: Code<'_>) -> usize {
    const MOST: usize = 8;
    match code.context.type_kind(code.header.ret) {
        TypeKind::Struct { fields, .. } if fields.len() <= MOST => fields.len(),
        _ => 0,
    }
}

/// Whether an instruction writes to memory or orders accesses, so that a call has a time.
fn writes_memory(code: Code<'_>, inst: InstId) -> bool {
    matches!(
        code.body.inst(inst).opcode,
        Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg | Opcode::Fence
    )
}

/// The first instruction that is no pure function of its operands and of the thread, if there is one; `is_pure` tells it of those that are neither
/// phis, comparisons nor terminators.
fn first_impure(code: Code<'_>, mut is_pure: impl FnMut(InstId) -> bool) -> Option<InstId> {
    let mut insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    insts.find(|&inst| !is_timeless(code, inst, &mut is_pure))
}

fn is_timeless(code: Code<'_>, inst: InstId, is_pure: impl FnOnce(InstId) -> bool) -> bool {
    match code.body.inst(inst).opcode {
        // A comparison may be said to depend on less than its operands, and then on the round of a loop.
        Opcode::Phi | Opcode::ICmp => true,
        opcode if opcode.is_terminator() => !opcode.is_call(),
        _ => is_pure(inst),
    }
}
