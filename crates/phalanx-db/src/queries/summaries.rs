//! Summaries of functions, and what is known of their arguments.
//!
//! [`summary`] goes up the call graph: it reads the summaries of the callees. [`argument_facts`]
//! goes down: it reads the divergence of the callers, which reads summaries and what is known of
//! their own arguments. Queries nest as deep as calls do, up to a bound
//! ([`CallPlace`](super::CallPlace)); beyond it nothing is known. Functions in recursion with each
//! other are solved together, in [rounds](super::rounds) from bottom to the least fixpoint.
//!
//! A summary that is equal after an edit stops it there: callers are only validated.

use std::{borrow::Cow, cell::OnceCell, sync::atomic::Ordering};

use phalanx_analysis::{
    Summary, lower,
    memory::PrivateMemory,
    summary::{self as analysis, AtHand, CallFacts, Contents, argument_sources},
};
use phalanx_core::{Divergence, divergence::ValueTable};
use phalanx_ir::{GlobalName, attributes::AttrKind};
use phalanx_target::SourceSet;

use super::argument_rounds::component_arguments;
use super::called::NO_CALLEES;
use super::calls::{DEPTH, closed_calls, is_local};
use super::graph::flow_facts;
use super::launches::{Placed, known_launch};
use super::own_environment::with_code_and;
use super::passed::{Passed, add, unite};
use super::summary_rounds::component_summaries;
use super::summary_state::{Asked, updated_summary};
use super::{call_place, called_kernels, cfg, divergence, dom_tree, postdom_tree, symbols};
use crate::FunctionInput;
use crate::queries::known_calls::{KnownCalls, SummarySource, known_body};

use salsa::Database as Db;

impl<'a> KnownCalls<'a> {
    pub(super) fn new(db: &'a dyn Db, function: FunctionInput) -> Self {
        let (known, symbols, arguments, passed) = Default::default();
        let told = SummarySource::Any;
        KnownCalls { db, function, told, found: &[], known, symbols, arguments, passed }
    }

    /// The same for divergence of a large function. All that is read then is what
    /// [`env`](super::env) hangs on: so whatever one answer has asked of calls, one that has
    /// asked for less has read something that changed as late.
    pub(super) fn of_large(db: &'a dyn Db, function: FunctionInput) -> Self {
        KnownCalls { told: SummarySource::Listed(OnceCell::new()), ..Self::new(db, function) }
    }

    /// The same for who looks at all instructions once: read before the analysis, which drives the
    /// code of queries out of the cache, and without a list that is kept.
    ///
    /// But a list that is there is read. One that is equal counts as unchanged, though what it is
    /// made from has changed and changed back in the meantime: who reads that now, and the list the
    /// next time, would not be seen to have read something else. A list that comes to be later has
    /// changed as late as all that it is made from.
    ///
    /// *Reads* `mentions`, and [`callee_summaries`] or what that reads.
    pub(super) fn of_first(db: &'a dyn Db, function: FunctionInput) -> Self {
        let told = match function.retained(db).is_listed.load(Ordering::Relaxed) {
            true => SummarySource::Listed(OnceCell::from(listed_summaries(db, function))),
            false => SummarySource::Each(each_summary(db, function)),
        };
        KnownCalls { told, ..Self::new(db, function) }
    }

    /// The same for divergence of any function.
    pub(super) fn of_any(db: &'a dyn Db, function: FunctionInput) -> Self {
        match function.is_large(db) {
            true => Self::of_large(db, function),
            false => Self::new(db, function),
        }
    }

    /// The same, with other summaries of some functions.
    pub(super) fn with(self, found: &'a [(FunctionInput, Summary)]) -> Self {
        KnownCalls { found, ..self }
    }

    /// The same, with other sources of the arguments.
    pub(super) fn with_arguments(self, arguments: &'a [SourceSet]) -> Self {
        KnownCalls { arguments: Some(arguments), ..self }
    }
}

impl CallFacts for KnownCalls<'_> {
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>> {
        match &self.told {
            SummarySource::Any => {}
            SummarySource::Listed(all) => {
                let all = all.get_or_init(|| listed_summaries(self.db, self.function));
                let at = all.binary_search_by_key(&callee, |(name, _)| *name).ok()?;
                return Some(Cow::Borrowed(&all[at].1));
            }
            SummarySource::Each(all) => {
                let at = all.binary_search_by_key(&callee, |(name, _)| *name).ok()?;
                return Some(Cow::Borrowed(all[at].1));
            }
        }
        let known = *self.known.borrow_mut().entry(callee).or_insert_with(|| {
            let all = || symbols(self.db, self.function.module(self.db));
            let input = *self.symbols.get_or_init(all).get(&callee)?;
            let found = self.found.iter().find(|(of, _)| *of == input);
            Some(found.map_or_else(|| summary(self.db, input), |(_, found)| found))
        });
        known.map(Cow::Borrowed)
    }

    fn argument(&self, position: u32) -> Option<SourceSet> {
        if let Some(known) = self.arguments {
            return known.get(position as usize).copied();
        }
        let passed = *self.passed.get_or_init(|| {
            let Placed { header, facts, .. } = Placed::new(self.db, self.function);
            let is_known =
                is_local(self.db, self.function) || facts.library.is_called_kernel(header.name);
            is_known.then(|| argument_facts(self.db, self.function).as_deref()).flatten()
        });
        passed?.get(position as usize).copied()
    }
}

/// What a call of a function does.
///
/// *Reads* what [`affect_map`](super::affect_map) reads but for arguments, the graph facts,
/// [`call_place`], and this of the callees; of a large function also `summary_version`. *Changes
/// when* a source reaches the result or memory of a caller, or an effect is new. *Cost* that of
/// solving the function two to six times, twice that if it is given pointers; see
/// [`phalanx_analysis::summary`]. Of a large function as of the edits: see
/// [`phalanx_analysis::update::results`].
#[salsa::tracked(returns(ref))]
pub fn summary(db: &dyn Db, function: FunctionInput) -> Summary {
    let Some(place) = known_body(db, function) else { return by_attributes(db, function) };
    match place.component.first() {
        None => {
            let found = match function.is_large(db) {
                true => updated_summary(&Asked::alone(db, function)),
                false => summarize(db, function, &[], AtHand::default()),
            };
            found.unwrap_or_else(|| by_attributes(db, function))
        }
        Some(&first) => {
            // One for each member, in their order.
            let own = component_summaries(db, first).get(place.position as usize);
            own.map_or_else(|| by_attributes(db, function), |(_, summary)| summary.clone())
        }
    }
}

pub(super) fn by_attributes(db: &dyn Db, function: FunctionInput) -> Summary {
    let context = function.module(db).context(db);
    let launch = known_launch(db, Placed::new(db, function));
    Summary::of_attributes(context, function.header(db), &launch)
}

/// The summary of a function with a body from scratch, where `found` is known of others. Not a
/// query.
pub(super) fn summarize(
    db: &dyn Db,
    function: FunctionInput,
    found: &[(FunctionInput, Summary)],
    known: AtHand<'_>,
) -> Option<Summary> {
    let flow = flow_facts(db, function)?;
    let postdom = postdom_tree(db, function)?;
    let calls = KnownCalls { found, ..KnownCalls::new(db, function) };
    with_code_and(db, function, NO_CALLEES, &calls, |code, env| {
        analysis::summarize(code, env, flow, postdom, known)
    })
}

/// As [`callee_summaries`], without that query where a function calls nothing. Depends on each
/// call.
///
/// *Reads* `mentions`, and [`callee_summaries`].
fn listed_summaries(db: &dyn Db, function: FunctionInput) -> &[(GlobalName, Summary)] {
    match function.mentions(db).calls().is_empty() {
        true => &[],
        false => callee_summaries(db, function),
    }
}

/// Summaries of the functions that a function calls, in the order of their names' numbers: what its
/// divergence reads of them.
///
/// *Reads* `mentions`, [`summary`] of the callees. *Changes when* one of them does. *Cost*
/// O(calls).
#[salsa::tracked(returns(ref))]
pub(super) fn callee_summaries(db: &dyn Db, function: FunctionInput) -> Vec<(GlobalName, Summary)> {
    // Who does not see this yet reads in the same revision what the list is made from.
    function.retained(db).is_listed.store(true, Ordering::Relaxed);
    let all = each_summary(db, function).into_iter();
    all.map(|(name, summary)| (name, summary.clone())).collect()
}

/// As [`callee_summaries`]. Not a query.
///
/// *Reads* `mentions`, [`symbols`] where anything is called, [`summary`] of the callees.
fn each_summary(db: &dyn Db, function: FunctionInput) -> Vec<(GlobalName, &Summary)> {
    let callees = function.mentions(db).callees();
    if callees.is_empty() {
        return Vec::new();
    }
    let symbols = symbols(db, function.module(db));
    let found = |&name| Some((name, summary(db, *symbols.get(&name)?)));
    callees.iter().filter_map(found).collect()
}

/// Sources of the arguments that a function passes, by callee of those that cannot be named from
/// outside of the module: the union over its calls.
///
/// *Reads* `header`, `flow`, `body`, [`closed_calls`], [`divergence()`], and [`argument_facts`]
/// where something is passed by value; where something is passed by reference also what
/// [`affect_map`](super::affect_map) reads and the graph facts. *Changes when* an argument's
/// sources do. *Cost* O(calls) after those; where something is passed by reference that of solving
/// the function once more.
#[salsa::tracked(returns(ref))]
pub(super) fn passed_arguments(db: &dyn Db, function: FunctionInput) -> Passed<SourceSet> {
    match divergence(db, function) {
        None => Vec::new(),
        Some(answer) => passed(db, function, answer, &KnownCalls::new(db, function)),
    }
}

/// As [`passed_arguments`], by an answer that is at hand, and what that was found from.
pub(super) fn passed(
    db: &dyn Db,
    function: FunctionInput,
    answer: &Divergence,
    calls: &KnownCalls<'_>,
) -> Passed<SourceSet> {
    let mut all: Passed<SourceSet> = Vec::new();
    let closed = closed_calls(db, function);
    with_code_and(db, function, NO_CALLEES, calls, |code, env| {
        let flow = || flow_facts(db, function);
        let contents = Contents::new(code, env, flow, closed.iter().map(|(inst, _)| *inst));
        for &(inst, callee) in closed {
            let header = callee.header(db);
            let mut sources = vec![SourceSet::OPAQUE_THREAD; header.params.len()];
            if code.body.call_info(inst).function_type == header.ty {
                let passed = argument_sources(code, env, (answer, &contents), inst);
                let attributes = code.body.call_info(inst).attributes;
                for (at, (into, from)) in sources.iter_mut().zip(passed).enumerate() {
                    // A function that is passed a structure has to say so.
                    let attributes = code.context.param_attrs(attributes, at);
                    let is_content =
                        attributes.has(AttrKind::ByVal) || attributes.has(AttrKind::ByRef);
                    if is_content == analysis::is_known_by_content(code.context, header, at) {
                        *into = from;
                    }
                }
            }
            add(&mut all, callee, sources);
        }
    });
    all
}

/// Callers that are asked together: a group without an edited one is validated in one step, of
/// others each caller is looked at.
const GROUP: usize = 16;

/// The sources of a function's arguments, as one group of its callers passes them.
///
/// *Reads* [`call_place`], [`passed_arguments`] of the group. *Cost* O(callers of the group).
#[salsa::tracked(returns(ref))]
fn arguments_of_group(db: &dyn Db, function: FunctionInput, group: usize) -> Vec<SourceSet> {
    let place = call_place(db, function);
    let callers = place.callers.iter().skip(group * GROUP).take(GROUP);
    let mut all = vec![SourceSet::EMPTY; function.header(db).params.len()];
    for &caller in callers.filter(|caller| !place.is_with(call_place(db, **caller))) {
        let passed = passed_arguments(db, caller).iter().find(|(of, _)| *of == function);
        if let Some((_, sources)) = passed {
            unite(&mut all, sources);
        }
    }
    all
}

fn from_outside(db: &dyn Db, function: FunctionInput) -> Vec<SourceSet> {
    let groups = call_place(db, function).callers.len().div_ceil(GROUP);
    let mut all = vec![SourceSet::EMPTY; function.header(db).params.len()];
    for group in 0..groups {
        unite(&mut all, arguments_of_group(db, function, group));
    }
    all
}

/// The sources of each argument of a function all of whose callers are known: those of what is
/// passed. None for others.
///
/// What decides whether a call is executed adds nothing: threads are together in the callee only if
/// they were at the call.
///
/// *Reads* [`call_place`], [`passed_arguments`] of the callers, `body` where something is passed by
/// value. *Changes when* an argument's sources do. *Cost* O(callers).
#[salsa::tracked(returns(ref))]
pub fn argument_facts(db: &dyn Db, function: FunctionInput) -> Option<Vec<SourceSet>> {
    if !are_callers_known(db, function) {
        return None;
    }
    let place = call_place(db, function);
    match place.component.first() {
        None => Some(first_arguments(db, function)),
        Some(&first) => {
            let own = component_arguments(db, first).get(place.position as usize);
            own.and_then(|(_, arguments)| arguments.clone())
        }
    }
}

/// Whether something is known of what a function is passed: all callers are known, and not too far
/// below the functions that anyone may call.
pub(super) fn are_callers_known(db: &dyn Db, function: FunctionInput) -> bool {
    let place = call_place(db, function);
    let is_known = match place.is_closed {
        true => place.depth <= DEPTH,
        // What a launch passes to a kernel is the same in all threads, so callers alone make a
        // difference.
        false => is_kernel_called_by_name(db, function) && place.component.is_empty(),
    };
    is_known && !place.callers.is_empty()
}

/// Whether a function is a kernel that is called by name only, by functions that are not called
/// kernels themselves: facts about arguments do not recurse along chains of kernels.
fn is_kernel_called_by_name(db: &dyn Db, function: FunctionInput) -> bool {
    let called = called_kernels(db, function.module(db));
    let of = |function: FunctionInput| called.get(&function.header(db).name);
    !called.is_empty()
        && of(function) == Some(&true)
        && call_place(db, function).callers.iter().all(|&caller| of(caller).is_none())
}

/// What callers that a function is not in recursion with pass. A pointer to a structure is
/// another pointer, unless only its content matters.
pub(super) fn first_arguments(db: &dyn Db, function: FunctionInput) -> Vec<SourceSet> {
    let mut arguments = from_outside(db, function);
    let (context, header) = (function.module(db).context(db), function.header(db));
    let is_content = |position: usize| {
        let calls = KnownCalls::new(db, function).with_arguments(&[]);
        let is_only_content = with_code_and(db, function, NO_CALLEES, &calls, |code, _| {
            analysis::is_only_content(code, position as u32)
        });
        is_only_content.unwrap_or(false)
    };
    for (position, sources) in arguments.iter_mut().enumerate() {
        if analysis::is_known_by_content(context, header, position) && !is_content(position) {
            *sources = SourceSet::OPAQUE_THREAD;
        }
    }
    arguments
}

/// The affect map of a function whose arguments have these sources. Not a query.
pub(super) fn table_with(
    db: &dyn Db,
    function: FunctionInput,
    arguments: &[SourceSet],
) -> Option<ValueTable> {
    let calls = KnownCalls::new(db, function).with_arguments(arguments);
    let (cfg, dom) = (cfg(db, function)?, dom_tree(db, function)?);
    with_code_and(db, function, NO_CALLEES, &calls, |code, env| {
        let memory = PrivateMemory::through_calls(code, env, cfg, dom);
        lower::full_with(code, env, &memory, 0)
    })
}
