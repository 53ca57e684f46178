//! Functions in recursion with each other, solved together in rounds.
//!
//! Each function of a component of the call graph is found from what is known of the others, from bottom to the least fixpoint: in each round all members, in
//! the order of the module, each from what those before it came to in this round, and those from it on in the round before.
//!
//! What a member comes to in a round is a query of member and round ([`summary_in_round`](super::summary_in_round), `passed_in_round`
//! and so on), and so is what it reads of the others. After an edit salsa finds those again whose body or inputs are others, and an answer that comes
//! out equal stops there. Two things more keep rounds cheap:
//!
//! - A member that reads what it read in the round before comes to what it came to then, and is not looked at. So the last round, which only finds that nothing
//!   changes any more, costs nothing as a rule.
//! - A large member is repaired, in each round by what is kept for that round
//!   ([`RoundSlots`](crate::retained::place::RoundSlots)): what is kept counts for the inputs only
//!   that it was brought up to, and those of a round stay as they are after most edits.
//!
//! **Invariant.** The answer is that of the loop over rounds and members, and nothing is known of a component that needs more than [`ROUNDS`] of them. Rounds are
//! gone through from the first one on, so a query finds what it reads of others answered already: they do not nest deeply.
//!
//! **Memory.** Memos of rounds that are no longer reached stay, at most [`ROUNDS`] for each member;
//! state to repair from is retained for at most
//! [`ROUNDS_KEPT`](phalanx_analysis::policy::ROUNDS_KEPT) rounds.

use super::call_place;
use crate::FunctionInput;

use salsa::Database as Db;

/// How often a component is gone through before it is given up. Each time something grows, of which there is little.
pub(super) const ROUNDS: usize = 64;

/// The functions of a member's component, each with the round in which it was gone through last when the member is gone through in a round from one on.
///
/// *Reads* `call_place`.
pub(super) fn before(
    db: &dyn Db,
    member: FunctionInput,
    round: usize,
) -> impl Iterator<Item = (FunctionInput, usize)> + '_ {
    let mut is_before = true;
    call_place(db, member).component.iter().map(move |&other| {
        is_before &= other != member;
        (other, if is_before { round } else { round - 1 })
    })
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod twin;
