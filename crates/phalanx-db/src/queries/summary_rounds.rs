//! Summaries of functions in recursion with each other, by member and [round](super::rounds).
//!
//! A member begins as a function that never returns. What it does through pointers does not only
//! grow, so it is left out until nothing else changes, and then it is found once from what the last
//! round came to.
//!
//! A summary that shrinks with an edit is found: a round reads nothing of what was there before the
//! edit but of rounds before it.

use phalanx_analysis::{
    Summary,
    summary::{AtHand, Through},
};
use phalanx_ir::GlobalName;

use super::known_calls::known_body;
use super::own_environment::read_alone;
use super::rounds::{ROUNDS, before, callees};
use super::summaries::{by_attributes, summarize};
use super::summary_state::{Asked, through_after, updated_summary};
use super::{call_place, summary, symbols};
use crate::FunctionInput;
use crate::retained::place::fresh;

use salsa::Database as Db;

/// The summaries of functions in recursion with each other, by the first of them.
///
/// *Reads* [`call_place`], [`summary_in_round`] and [`through_in_recursion`] of all of them. *Cost*
/// O(members) for each round, two or three as a rule.
#[salsa::tracked(returns(ref))]
pub(super) fn component_summaries(
    db: &dyn Db,
    first: FunctionInput,
) -> Vec<(FunctionInput, Summary)> {
    let members = &call_place(db, first).component;
    let start = |&member: &FunctionInput| (member, summary_in_round(db, member, 0));
    let mut found: Vec<(FunctionInput, &Summary)> = members.iter().map(start).collect();
    for round in 1..=ROUNDS {
        let mut is_stable = true;
        for (member, known) in &mut found {
            let new = summary_in_round(db, *member, round);
            is_stable &= new == *known;
            *known = new;
        }
        if is_stable {
            let with_pointers = |(member, known): (FunctionInput, &Summary)| {
                let through = through_in_recursion(db, member, round).clone();
                (member, Summary { through, ..known.clone() })
            };
            return found.into_iter().map(with_pointers).collect();
        }
    }
    members.iter().map(|&member| (member, by_attributes(db, member))).collect()
}

/// What a function in recursion comes to in a round; in round 0 what all begin with.
///
/// One whose code does not count is what its attributes say, for the others too.
///
/// *Reads* what [`summary()`](super::summary()) does, but of callees in the recursion
/// [`callees_in_round`]; of a large function where something is kept of the round also
/// [`summary_round_version`]. *Changes when* a source reaches the result, or an effect is new.
/// *Cost* that of [`summary()`](super::summary()), of a large function as of the edits; none where
/// the same is read as in the round before.
#[salsa::tracked(returns(ref))]
pub(crate) fn summary_in_round(db: &dyn Db, member: FunctionInput, round: usize) -> Summary {
    if known_body(db, member).is_none() {
        return by_attributes(db, member);
    }
    if round == 0 {
        return Summary::bottom(member.header(db));
    }
    let found = callees_in_round(db, member, round);
    if round > 1 && found == callees_in_round(db, member, round - 1) {
        return summary_in_round(db, member, round - 1).clone();
    }
    let new = match kept(db, member, round) {
        Some(asked) => updated_summary(&asked),
        None => summarize(db, member, found, AtHand::default()),
    };
    match new {
        Some(mut new) => {
            new.effects.may_not_return = true;
            new.through = None;
            new
        }
        None => summary_in_round(db, member, round - 1).clone(),
    }
}

/// What a round reads of the functions in recursion with one that it calls.
///
/// *Reads* [`call_place`], `mentions`, `symbols`, [`summary_in_round`]. *Changes when* one of these
/// does. *Cost* O(calls).
#[salsa::tracked(returns(ref))]
pub(crate) fn callees_in_round(
    db: &dyn Db,
    member: FunctionInput,
    round: usize,
) -> Vec<(FunctionInput, Summary)> {
    let others = before(db, member, round, callees(db, member));
    others.map(|(other, round)| (other, summary_in_round(db, other, round).clone())).collect()
}

/// What a function in recursion does through pointers, as the last round came to.
///
/// *Reads* what [`summary_in_round`] does. *Changes when* an outcome does. *Cost* that of
/// [`summary()`](super::summary()), if a pointer is followed.
#[salsa::tracked(returns(ref))]
fn through_in_recursion(db: &dyn Db, member: FunctionInput, last: usize) -> Option<Box<Through>> {
    known_body(db, member)?;
    match kept(db, member, last) {
        Some(asked) => through_after(&asked),
        None => {
            summarize(db, member, callees_in_round(db, member, last), AtHand::default())?.through
        }
    }
}

/// The summary of a large function in a round, to be followed; none of a round of which nothing is
/// kept, and of other functions.
fn kept(db: &dyn Db, member: FunctionInput, round: usize) -> Option<Asked<'_>> {
    if !member.is_large(db) {
        return None;
    }
    let slot = member.retained(db).large().summary_rounds.of(round)?;
    Some(Asked::in_round(db, member, round, slot))
}

/// Summaries of the functions that a function in recursion calls and is not in recursion with.
///
/// *Reads* [`call_place`], `mentions`, [`summary()`](super::summary()) of these. *Changes when* one
/// of them does. *Cost* O(calls).
#[salsa::tracked(returns(ref))]
fn callees_outside(db: &dyn Db, member: FunctionInput) -> Vec<(GlobalName, Summary)> {
    let place = call_place(db, member);
    let symbols = symbols(db, member.module(db));
    let callees = member.mentions(db).callees().iter().copied();
    let callees = callees.filter_map(|name| Some((name, *symbols.get(&name)?)));
    let outside = callees.filter(|(_, callee)| !place.is_with(call_place(db, *callee)));
    outside.map(|(name, callee)| (name, summary(db, callee).clone())).collect()
}

/// Identity of what a summary is found from in a round besides flow and body.
///
/// *Reads* `header`, `module_facts`, `launch` or [`launch_facts`](super::launch_facts),
/// [`callees_in_round`], summaries of the other callees. *Changes when* one of them does. *Cost*
/// O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn summary_round_version(db: &dyn Db, member: FunctionInput, round: usize) -> u64 {
    read_alone(db, member);
    let _ = (callees_outside(db, member), callees_in_round(db, member, round));
    fresh()
}
