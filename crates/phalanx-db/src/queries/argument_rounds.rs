//! What is known of the arguments of functions in recursion with each other, by member and
//! [round](super::rounds).
//!
//! A member that is gone through has been passed what others passed so far: those before it in this
//! round, all of them in the rounds before. What it passes itself follows from its divergence with
//! these arguments. Sets only grow from round to round, but each round is found from those before
//! it alone, so after an edit arguments can be less than they were.
//!
//! The divergence of a large member is followed in each round, as [`update`](super::update) does
//! for the query.

use std::cell::OnceCell;
use std::sync::Arc;

use phalanx_analysis::{
    assumed_facts::AssumedFacts,
    update::{Changes, DivergenceUpdater, Found, Sources, Stamp, Subject},
};
use phalanx_core::{
    Divergence,
    divergence::{Rules, solve},
};
use phalanx_target::SourceSet;

use super::call_place;
use super::called::NO_CALLEES;
use super::divergence_update::read_environment;
use super::graph::flow_facts;
use super::graph_facts;
use super::known_calls::KnownCalls;
use super::own_environment::with_code_and;
use super::passed::{Passed, pass_before, within_component};
use super::summaries::{first_arguments, passed, table_with};
use crate::FunctionInput;
use crate::retained::{
    place::{Repairs, UpdaterPlace, fresh, locked},
    state::RetainedPlace,
};

use salsa::Database as Db;

/// The arguments of functions in recursion with each other, by the first of them. None for one that
/// is not closed.
///
/// *Reads* [`call_place`], `passed_arguments` of callers outside, `passed_in_round`. *Cost*
/// O(members and calls) for each round.
#[salsa::tracked(returns(ref))]
pub(super) fn component_arguments(
    db: &dyn Db,
    first: FunctionInput,
) -> Vec<(FunctionInput, Option<Vec<SourceSet>>)> {
    let members = &call_place(db, first).component;
    let start = |&member: &FunctionInput| (member, arguments_in_round(db, member, 0).clone());
    within_component(members.iter().map(start).collect(), |member, round| {
        passed_in_round(db, member, round)
    })
}

/// The sources of a function's arguments when it is gone through in a round; in round 0 what others
/// than those in recursion with it pass. None for one that is not closed.
///
/// *Reads* [`call_place`], `passed_arguments` of callers outside, `passed_in_round` of the others.
/// *Changes when* an argument's sources do. *Cost* O(members and calls).
#[salsa::tracked(returns(ref))]
pub(super) fn arguments_in_round(
    db: &dyn Db,
    member: FunctionInput,
    round: usize,
) -> Option<Vec<SourceSet>> {
    if !call_place(db, member).is_closed {
        return None;
    }
    let Some(last) = round.checked_sub(1) else { return Some(first_arguments(db, member)) };
    let mut all = arguments_in_round(db, member, last).clone()?;
    pass_before(db, (member, round), &mut all, |other, round| passed_in_round(db, other, round));
    Some(all)
}

/// What a function in recursion passes in a round.
///
/// *Reads* what [`divergence()`](super::divergence()) reads, but for arguments those of the round;
/// of a large function where something is kept of the round also [`arguments_round_version`].
/// *Changes when* an argument's sources do. *Cost* that of [`divergence()`](super::divergence());
/// none where the arguments are those of the round before.
#[salsa::tracked(returns(ref))]
fn passed_in_round(db: &dyn Db, member: FunctionInput, round: usize) -> Passed<SourceSet> {
    let arguments = arguments_in_round(db, member, round);
    if round > 1 && arguments == arguments_in_round(db, member, round - 1) {
        return passed_in_round(db, member, round - 1).clone();
    }
    // Nothing is known of more arguments than there are.
    let arguments = arguments.as_deref().unwrap_or_default();
    let slot = || member.retained(db).large().divergence_rounds.of(round);
    let answer = match member.is_large(db).then(slot).flatten() {
        Some(slot) => updated(db, (member, round), arguments, &slot),
        None => solved(db, member, arguments).map(Arc::new),
    };
    let calls = KnownCalls::new(db, member).with_arguments(arguments);
    answer.map_or_else(Vec::new, |answer| passed(db, member, &answer, &calls))
}

/// The divergence of a function whose arguments have these sources, from scratch.
pub(super) fn solved(
    db: &dyn Db,
    function: FunctionInput,
    arguments: &[SourceSet],
) -> Option<Divergence> {
    let table = table_with(db, function, arguments)?;
    Some(solve(flow_facts(db, function)?, &table, Rules::Precise))
}

/// How the divergence of a function in recursion was found in all rounds so far, for what it passes
/// to the others; all zero for small functions. Not a query.
pub fn round_repairs(db: &dyn Db, function: FunctionInput) -> Repairs {
    let mut repairs = Repairs::default();
    let slots = function.retained(db).counted(|slots| slots.divergence_rounds.all());
    slots.iter().for_each(|slot| repairs.merge(*locked(&slot.counts)));
    repairs
}

/// Identity of what the divergence of a function in recursion follows from in a round besides flow
/// and body.
///
/// *Reads* `header`, `module_facts`, `launch` or [`launch_facts`](super::launch_facts), summaries
/// of the callees, `arguments_in_round`. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn arguments_round_version(db: &dyn Db, member: FunctionInput, round: usize) -> u64 {
    read_environment(db, member);
    let _ = arguments_in_round(db, member, round);
    fresh()
}

/// The divergence of a large function in a round, as its journal says it has become. None for a
/// declaration.
///
/// *Reads* `flow`, `body`, [`graph_facts()`], [`arguments_round_version`]. *Cost* from scratch the
/// first times; then that of what changed.
fn updated(
    db: &dyn Db,
    (member, round): (FunctionInput, usize),
    arguments: &[SourceSet],
    slot: &RetainedPlace,
) -> Option<Arc<Divergence>> {
    let journal = member.body(db).journal();
    let position = journal.position();
    let seen = |position| DivergenceUpdater::seen(Sources::Full, position);
    let taken = locked(&slot.place).take(position, seen);
    let Some(mut updater) = taken else {
        locked(&slot.counts).count(Found::Solved);
        return solved(db, member, arguments).map(Arc::new);
    };
    let facts = graph_facts(db, member).as_ref()?;
    let flow = facts.flow();
    let number = arguments_round_version(db, member, round);
    let stamp = Stamp { position, flow: facts.number(), env: number };
    let changes = OnceCell::new();
    let since = |position| {
        let changes = changes.get_or_init(|| journal.since(position)).as_ref()?;
        Some(Changes { insts: &changes.insts, blocks: &changes.blocks, flow: changes.flow })
    };
    let calls = KnownCalls::new(db, member).with_arguments(arguments);
    let (answer, found) = with_code_and(db, member, NO_CALLEES, &calls, |code, env| {
        let (assumed_facts, private) = (AssumedFacts::nothing(), None);
        let subject = Subject { code, env, flow, stamp, assumed_facts, private };
        updater.answer(subject, since, || solved(db, member, arguments).unwrap_or_default())
    })?;
    *locked(&slot.place) = UpdaterPlace::Idle(updater);
    locked(&slot.counts).count(found);
    Some(answer)
}
