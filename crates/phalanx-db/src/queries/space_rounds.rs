//! Where addresses lead in functions in recursion with each other, by member and
//! [round](super::rounds): what they return, and what they pass.
//!
//! As [`summary_rounds`](super::summary_rounds) and [`argument_rounds`](super::argument_rounds) do
//! for divergence. The kinds of a large member are followed in each round for what it passes; what
//! it returns is found from scratch when its body or what it reads is another.

use phalanx_analysis::spaces::{Returned, SpaceSet};

use super::call_place;
use super::kinds_state::{read_environment, updated};
use super::known_calls::known_body;
use super::passed::{Passed, pass_before, within_component};
use super::rounds::{ROUNDS, before, callees};
use super::spaces::{Known, from_outside, kinds, passed, returned};
use crate::FunctionInput;
use crate::retained::place::fresh;

use salsa::Database as Db;

/// What functions in recursion with each other return, by the first of them: in the order of the
/// members, none for one that is not known. Empty where it takes too many rounds.
///
/// *Reads* [`call_place`], `returned_in_round` of all of them. *Cost* O(members) for each round.
#[salsa::tracked(returns(ref))]
pub(super) fn component_returned_spaces(
    db: &dyn Db,
    first: FunctionInput,
) -> Vec<Option<Returned>> {
    let members = &call_place(db, first).component;
    let in_round = |round: usize| {
        let all = members.iter();
        all.map(|&member| returned_in_round(db, member, round)).collect::<Vec<_>>()
    };
    let mut found = in_round(0);
    for round in 1..=ROUNDS {
        let new = in_round(round);
        if new == found {
            return found;
        }
        found = new;
    }
    Vec::new()
}

/// What a function in recursion returns in a round, in round 0 nothing; none if its code is not
/// known to be what runs.
///
/// *Reads* what `returned_spaces` does, but of callees in the recursion `returned_by_callees`.
/// *Changes when* the result may lead elsewhere. *Cost* that of `returned_spaces`; none where the
/// same is read as in the round before.
#[salsa::tracked(returns(copy))]
fn returned_in_round(db: &dyn Db, member: FunctionInput, round: usize) -> Option<Returned> {
    known_body(db, member)?;
    let Some(last) = round.checked_sub(1) else {
        return Some(Returned::bottom(member.header(db).ty));
    };
    let found = returned_by_callees(db, member, round);
    if last > 0 && found == returned_by_callees(db, member, last) {
        return returned_in_round(db, member, last);
    }
    returned(db, member, found).or_else(|| returned_in_round(db, member, last))
}

/// What a round reads of the functions in recursion with one that it calls; those only that are
/// known.
///
/// *Reads* [`call_place`], `mentions`, `symbols`, `returned_in_round`. *Changes when* one of these
/// does. *Cost* O(calls).
#[salsa::tracked(returns(ref))]
fn returned_by_callees(
    db: &dyn Db,
    member: FunctionInput,
    round: usize,
) -> Vec<(FunctionInput, Returned)> {
    let others = before(db, member, round, callees(db, member));
    others.filter_map(|(of, round)| Some((of, returned_in_round(db, of, round)?))).collect()
}

/// The arguments of functions in recursion with each other, by the first of them. None for one that
/// is not closed.
///
/// *Reads* [`call_place`], `passed_spaces` of callers outside, `spaces_passed_in_round`. *Cost*
/// O(members and calls) for each round.
#[salsa::tracked(returns(ref))]
pub(super) fn component_argument_spaces(
    db: &dyn Db,
    first: FunctionInput,
) -> Vec<(FunctionInput, Option<Vec<SpaceSet>>)> {
    let members = &call_place(db, first).component;
    let start = |&member: &FunctionInput| (member, spaces_in_round(db, member, 0).clone());
    within_component(members.iter().map(start).collect(), |member, round| {
        spaces_passed_in_round(db, member, round)
    })
}

/// What a function's arguments may lead to when it is gone through in a round; in round 0 what
/// others than those in recursion with it pass. None for one that is not closed.
///
/// *Reads* [`call_place`], `passed_spaces` of callers outside, `spaces_passed_in_round` of the
/// others. *Changes when* something else may be passed. *Cost* O(members and calls).
#[salsa::tracked(returns(ref))]
fn spaces_in_round(db: &dyn Db, member: FunctionInput, round: usize) -> Option<Vec<SpaceSet>> {
    if !call_place(db, member).is_closed {
        return None;
    }
    let Some(last) = round.checked_sub(1) else { return Some(from_outside(db, member)) };
    let mut all = spaces_in_round(db, member, last).clone()?;
    pass_before(db, (member, round), &mut all, |other, round| {
        spaces_passed_in_round(db, other, round)
    });
    Some(all)
}

/// What a function in recursion passes in a round.
///
/// *Reads* what [`memory_kinds`](super::memory_kinds) reads, but for arguments those of the round,
/// and where it does `kinds_version` [`kinds_round_version`]. *Changes when* something else may be
/// passed. *Cost* that of [`memory_kinds`](super::memory_kinds); none where the arguments are those
/// of the round before.
#[salsa::tracked(returns(ref))]
fn spaces_passed_in_round(db: &dyn Db, member: FunctionInput, round: usize) -> Passed<SpaceSet> {
    let arguments = spaces_in_round(db, member, round);
    if round > 1 && arguments == spaces_in_round(db, member, round - 1) {
        return spaces_passed_in_round(db, member, round - 1).clone();
    }
    let known = known_in_round(db, member, arguments);
    let slot = || member.retained(db).large().kinds_rounds.of(round);
    let kinds = match member.is_large(db).then(slot).flatten() {
        Some(slot) => {
            let version = kinds_round_version(db, member, round);
            updated(db, member, &slot, (version, &known))
        }
        None => kinds(db, member, &known),
    };
    kinds.map_or_else(Vec::new, |kinds| passed(db, member, &kinds))
}

/// What is around a function whose arguments lead there. Nothing is known of more arguments than
/// there are.
fn known_in_round<'a>(
    db: &'a dyn Db,
    member: FunctionInput,
    arguments: &'a Option<Vec<SpaceSet>>,
) -> Known<'a> {
    Known::new(db, member).with_arguments(arguments.as_deref().unwrap_or_default())
}

/// Identity of what the kinds of a function in recursion follow from in a round besides flow and
/// body.
///
/// *Reads* what [`kinds_version`](super::kinds_version) does, but for arguments those of the round.
/// *Changes when* one of them does. *Cost* O(callees).
#[salsa::tracked(returns(copy))]
pub(crate) fn kinds_round_version(db: &dyn Db, member: FunctionInput, round: usize) -> u64 {
    read_environment(db, member);
    let _ = spaces_in_round(db, member, round);
    fresh()
}
