//! Summaries: what a call does, as its callers need to know it.
//!
//! # What
//!
//! A [`Summary`] holds
//!
//! - an [`Outcome`], the sources of the result as a function of the sources of the arguments:
//!   `R ∪ f1(mask of argument 1) ∪ f2(mask of argument 2) ∪ ...`, where `R` are the sources that
//!   the function itself adds, and each `f` is a [`Dependence`]; likewise for each member of a
//!   structure that is returned;
//! - whether the result is a function of the arguments and of the thread alone;
//! - the [`Effects`]: convergent operations, barriers, memory;
//! - what it does [`through`] pointers to private memory of the caller.
//!
//! > Two threads that are converged at an instance of the call, and agree on every source of the
//! > outcome, get equal results.
//!
//! # How
//!
//! Sources never interact (see [`divergence`](phalanx_core::divergence)). So the solver runs a
//! second time with the parameters as the only sources, one bit for each: a result with that bit
//! depends on the parameter. If the function has operations that convert sources, such as a vote, a
//! parameter takes four bits, one for each case of a [`Dependence`]. Parameters beyond the number
//! of bits take further passes. All parameters beyond the last pass share its last bits.
//!
//! # Returns
//!
//! Threads that left a function by different returns are together again behind the call. Take two
//! such threads, and the last block outside of all cycles that both went through: they were
//! converged there, since it is executed once. Behind it they first separated at some branch. They
//! were converged at that branch (the key of an instance depends on the path of its own thread
//! alone), so they disagree on a source of it. The branch reaches different returns, and no block
//! outside of all cycles follows on every path from it. The sources of all such branches belong to
//! the result, unless the returns give the same value ([`returns`]).
//!
//! # Scope
//!
//! Threads converged at a call are converged at the entry of the callee: the key of a block of the
//! callee ends in the call. "Equal within a wave" is said of threads of one wave that are
//! converged, in the callee as in the caller, so sources of the callee are sources of the caller.
//! Only the launch facts of the callee decide what varies within a wave; they must hold for its
//! calls.
//!
//! # Recursion
//!
//! The summaries of a recursive component of the call graph start with [`Summary::bottom`]. Each
//! round computes all of them from those of the round before, until none changes. The result is the
//! least solution, since all rules have one antecedent. It is correct because the result of a call
//! was computed by a finite tree of calls.

//! # Example
//!
//! ```text
//! define i32 @pick(i32 %a, i32 %b) {                   ; result: sources {thread x}, and those of %a and %b
//!   %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()     ; is_timeless: nothing here writes or is ordered
//!   %c = icmp eq i32 %t, 0                             ; effects: none
//!   %r = select i1 %c, i32 %a, i32 %b
//!   ret i32 %r
//! }
//! ```
//!
//! # Where to start
//!
//! [`Summary`] and its parts are plain data, in [`code::calls`](crate::code::calls). [`summarize`]
//! computes one from scratch: `passes` solves with arguments as the only sources, `results` reads
//! results off the solutions, `besides` and `scan` examine single instructions, [`through`] handles
//! pointers, and [`returns`] threads that leave by different returns. [`update`](crate::update)
//! updates all of it after edits.

mod besides;
mod contents;
mod facts;
mod outcome;
mod passes;
mod results;
pub mod returns;
mod scan;
mod summarize;
pub mod through;

pub use besides::{Besides, InstEffects};
pub use contents::{Contents, argument_sources, is_only_content};
pub(crate) use facts::WithoutArguments;
pub use facts::is_exact;
pub(crate) use passes::{Passes, arguments};
pub use results::Results;
pub(crate) use results::{Reading, first_impure, is_timeless};
#[cfg(any(test, feature = "testing"))]
pub use summarize::summarize_without_parting;
pub use summarize::{AtHand, summarize};
pub(crate) use through::Seeded;

pub use crate::code::calls::{
    CallFacts, Dependence, Effects, Input, NoCallFacts, Outcome, PARTS, Part, Spaces, Summary,
    Through, is_copied, is_known_by_content,
};
