//! What callers pass to functions of which all callers are known, of facts that are sets: sources
//! of divergence, memory spaces.
//!
//! What is known of an argument is the union of what the calls pass. Functions in recursion with
//! each other are gone through together, in [rounds](super::rounds) from what others pass them,
//! until nothing grows: the least fixpoint, since sets only grow.

use phalanx_analysis::spaces::SpaceSet;
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;

use super::call_place;
use super::rounds::{ROUNDS, before};
use crate::FunctionInput;

use salsa::Database as Db;

/// A set that says something about an argument.
pub(super) trait Facts: Copy + PartialEq + std::ops::BitOrAssign + 'static {
    /// Whether all of another set is in it.
    fn contains(self, other: Self) -> bool;
}

impl Facts for SourceSet {
    fn contains(self, other: Self) -> bool {
        SourceSet::contains(self, other)
    }
}

impl Facts for SpaceSet {
    fn contains(self, other: Self) -> bool {
        SpaceSet::contains(self, other)
    }
}

/// What functions are passed, by callee: a set per parameter.
pub(super) type Passed<S> = Vec<(FunctionInput, Vec<S>)>;

/// Adds sets position by position; whether one grew.
pub(super) fn unite<S: Facts>(into: &mut [S], from: &[S]) -> bool {
    let mut grew = false;
    for (into, &from) in into.iter_mut().zip(from) {
        grew |= !into.contains(from);
        *into |= from;
    }
    grew
}

/// Adds what one call passes.
pub(super) fn add<S: Facts>(all: &mut Passed<S>, callee: FunctionInput, sets: Vec<S>) {
    match all.iter_mut().find(|(of, _)| *of == callee) {
        None => all.push((callee, sets)),
        Some((_, known)) => {
            unite(known, &sets);
        }
    }
}

/// Adds what a function in recursion has been passed by the others between two rounds in which it
/// is gone through, the one before and this one.
pub(super) fn pass_before<'a, S: Facts>(
    db: &'a dyn Db,
    (member, round): (FunctionInput, usize),
    all: &mut [S],
    passed_in: impl Fn(FunctionInput, usize) -> &'a Passed<S>,
) {
    let callers = call_place(db, member).callers.iter().copied();
    for (other, round) in before(db, member, round, callers) {
        if round == 0 {
            continue;
        }
        if let Some((_, sets)) = passed_in(other, round).iter().find(|(of, _)| *of == member) {
            unite(all, sets);
        }
    }
}

/// The arguments of functions in recursion with each other, from what others pass them, and from
/// what each passes in a round. `None` is for those not all of whose callers are known, and for all
/// of them when it takes too long.
pub(super) fn within_component<'a, S: Facts>(
    mut found: Vec<(FunctionInput, Option<Vec<S>>)>,
    passed_in: impl Fn(FunctionInput, usize) -> &'a Passed<S>,
) -> Vec<(FunctionInput, Option<Vec<S>>)> {
    let places: FxHashMap<FunctionInput, usize> =
        found.iter().map(|(member, _)| *member).zip(0..).collect();
    for round in 1..=ROUNDS {
        let mut is_stable = true;
        for at in 0..found.len() {
            for (callee, sets) in passed_in(found[at].0, round) {
                let known = places.get(callee).map(|&at| &mut found[at]);
                if let Some((_, Some(known))) = known {
                    is_stable &= !unite(known, sets);
                }
            }
        }
        if is_stable {
            return found;
        }
    }
    found.iter_mut().for_each(|(_, arguments)| *arguments = None);
    found
}
