//! Least fixpoints that follow edits: an analysis states its rules once, and asks for its solution,
//! for the solution after an edit, and for why something holds.
//!
//! # What it holds
//!
//! An analysis is a set of monotone rules over *subjects*, which are dense numbers. What is known
//! of a subject is a set of *bits*, and each bit goes its own way: a rule that turns the bits of
//! one subject into bits of another does so bit by bit. A rule may rest on two facts. From the one
//! statement follow
//!
//! | call | what |
//! |---|---|
//! | [`Fixpoint::solve`] | the least solution |
//! | [`Fixpoint::repair`] | the same after an edit, at the price of what follows from it |
//! | [`Fixpoint::changes`] | the subjects whose facts have changed |
//! | [`explain()`] | the shortest chain of rules from a seed to a fact |
//! | [`twin::check`] | for tests: whether the solution is right and the rules are well stated |
//!
//! # What it must not know
//!
//! No instructions, no graphs, no queries: subjects are numbers, and what they stand for is up to
//! the rules. Nothing is kept of the rules between two calls, so they may borrow the program as it
//! is at the moment.
//!
//! # Where to start
//!
//! [`Rules`] is what an analysis writes. [`Fixpoint`] is what it keeps. [`Seen`] is how a rule
//! reads facts: all of them while facts are derived, those of before while they are retracted.
//!
//! # Example
//!
//! Which variables may hold what a user has typed? Bit 0 is the keyboard, bit 1 a file. An
//! assignment gives what it reads.
//!
//! ```
//! use std::ops::ControlFlow;
//! use phalanx_fixpoint::{Fixpoint, Limits, Ranks, Rules, Seen, Update, explain};
//!
//! /// For each variable: what it is read from, and the variables that are assigned to it.
//! struct Program(Vec<(u32, Vec<u32>)>);
//!
//! impl Rules for Program {
//!     type Subject = u32;
//!     type Bits = u32;
//!     type Step = &'static str;
//!
//!     fn seed(&mut self, of: u32) -> u32 {
//!         self.0[of as usize].0
//!     }
//!
//!     fn gives(
//!         &mut self,
//!         of: u32,
//!         bits: u32,
//!         _: Seen<'_, u32, u32>,
//!         tell: &mut impl FnMut(u32, u32, &'static str) -> ControlFlow<()>,
//!     ) -> ControlFlow<()> {
//!         for (to, (_, from)) in self.0.iter().enumerate() {
//!             if bits != 0 && from.contains(&of) {
//!                 tell(to as u32, bits, "assigned")?;
//!             }
//!         }
//!         ControlFlow::Continue(())
//!     }
//!
//!     fn supported(&mut self, of: u32, want: u32, seen: Seen<'_, u32, u32>) -> u32 {
//!         let (seed, from) = &self.0[of as usize];
//!         want & from.iter().fold(*seed, |all, from| all | seen.get(*from))
//!     }
//! }
//!
//! // 1 and 2 are assigned to each other in a loop; 1 is read from 0, which is typed.
//! let mut program = Program(vec![(1, vec![]), (0, vec![0, 2]), (0, vec![1])]);
//! let mut solution = Fixpoint::new(Ranks::Kept);
//! assert_eq!(solution.solve(&mut program, 0..3, Limits::NONE), Update::Changed);
//! assert_eq!(solution.get(2), 1);
//!
//! let chain = explain(&mut program, &solution, 0..3, (2, 1)).unwrap();
//! assert_eq!(chain.iter().map(|link| link.subject).collect::<Vec<_>>(), [0, 1, 2]);
//!
//! // 1 is not read from 0 any more. The loop does not hold itself up.
//! program.0[1].1 = vec![2];
//! assert_eq!(solution.repair(&mut program, &[1], Limits::NONE), Update::Changed);
//! assert_eq!((solution.get(1), solution.get(2)), (0, 0));
//! let changed: Vec<u32> = solution.changes().iter().map(|change| change.subject).collect();
//! assert_eq!(changed, [1, 2]);
//! ```
//!
//! Whatever runs for long can be [interrupted](interrupt).
//!
//! # Contract
//!
//! The caller of [`Fixpoint::repair`] names every subject whose seed or support has changed. The
//! rules keep the laws that [`Rules`] states. The engine promises that the facts are then the least
//! solution, as if found from scratch.

mod agenda;
mod explain;
mod facts;
mod fixpoint;
pub mod interrupt;
mod rules;
pub mod twin;

pub use explain::{Chain, Link, explain};
pub use facts::Seen;
pub use fixpoint::{Change, Fixpoint, Limits, Ranks, Update};
pub use rules::{Bits, Rules, Subject};
