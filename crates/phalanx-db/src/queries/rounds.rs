//! Functions in recursion with each other, solved together in rounds.
//!
//! Each function of a component of the call graph is found from what is known of the others, from
//! bottom to the least fixpoint: in each round all members, in the order of the module, each from
//! what those before it came to in this round, and those from it on in the round before.
//!
//! What a member comes to in a round is a query of member and round
//! ([`summary_in_round`](super::summary_in_round), `passed_in_round` and so on), and so is what it
//! reads of the others. After an edit salsa finds those again whose body or inputs are others, and
//! an answer that comes out equal stops there. Two things more keep rounds cheap:
//!
//! - A member that reads the same as in the round before has the same result, and is not computed
//!   again. So the last round, which only finds that nothing changes any more, usually costs
//!   nothing.
//! - A large member is repaired, with retained state for each round
//!   ([`RetainedRounds`](crate::retained::place::RetainedRounds)): the state is valid only for the
//!   inputs for which it was computed, and most edits do not change the inputs of a round.
//!
//! **Invariant.** The answer is that of the loop over rounds and members, and nothing is known of a
//! component that needs more than [`ROUNDS`] of them. Rounds are gone through from the first one
//! on, so a query finds what it reads of others answered already: they do not nest deeply.
//!
//! **Memory.** Memos of rounds that are no longer reached stay, at most [`ROUNDS`] for each member;
//! state to repair from is retained for at most
//! [`ROUNDS_KEPT`](phalanx_analysis::policy::ROUNDS_KEPT) rounds.

use rustc_hash::FxHashSet;

use super::{call_place, symbols};
use crate::FunctionInput;

use salsa::Database as Db;

/// How often a component is gone through before it is given up. Each time something grows, of which
/// there is little.
pub(super) const ROUNDS: usize = 64;

/// Of some functions, those in recursion with a member, each with the round in which it was gone
/// through last when the member is gone through in a round from one on. O(functions that are
/// given).
///
/// *Reads* `call_place` of the member and of the functions.
pub(super) fn before(
    db: &dyn Db,
    member: FunctionInput,
    round: usize,
    others: impl Iterator<Item = FunctionInput>,
) -> impl Iterator<Item = (FunctionInput, usize)> {
    let place = call_place(db, member);
    others.filter_map(move |other| {
        let of_other = call_place(db, other);
        let is_before = of_other.position < place.position;
        place.is_with(of_other).then_some((other, if is_before { round } else { round - 1 }))
    })
}

/// The functions with a body in this module that a function calls by name, each once.
///
/// *Reads* `mentions`, `symbols`.
pub(super) fn callees(
    db: &dyn Db,
    member: FunctionInput,
) -> impl Iterator<Item = FunctionInput> + '_ {
    let symbols = symbols(db, member.module(db));
    let mut seen = FxHashSet::default();
    let named = member.mentions(db).callees().iter().filter_map(|name| symbols.get(name).copied());
    named.filter(move |&callee| seen.insert(callee))
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod twin;
