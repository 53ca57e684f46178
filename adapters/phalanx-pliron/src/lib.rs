//! Divergence over [pliron](pliron)'s IR: which values, branches and blocks of a function differ
//! among the threads of a GPU, and why.
//!
//! # What a dialect says
//!
//! An operation says what its results are made of by implementing [`SimtOp`], one with regions what
//! decides on the way that threads take through them by implementing [`SimtRegionOp`]. Nothing else
//! is needed: edges are those of pliron's `BranchOpInterface` and `RegionBranchOpInterface`,
//! private variables those of its `PromotableAllocationInterface`. An operation that says nothing
//! gives each thread another value, and an operation with regions that says nothing sends each
//! another way. Of operations that another crate defines, the driver says the same by a
//! [`Dialect`].
//!
//! ```
//! use phalanx_pliron::{Meaning, Rule, SimtOp, SourceSet};
//! use pliron::{context::Context, derive::{op_interface_impl, pliron_op}};
//!
//! #[pliron_op(name = "gpu.thread_id", format, verifier = "succ")]
//! struct ThreadId;
//! #[op_interface_impl]
//! impl SimtOp for ThreadId {
//!     fn meaning(&self, _: &Context, _result: usize) -> Meaning {
//!         Meaning::Source(SourceSet::X)
//!     }
//! }
//!
//! #[pliron_op(name = "gpu.ballot", format, verifier = "succ")]
//! struct Ballot;
//! #[op_interface_impl]
//! impl SimtOp for Ballot {
//!     fn meaning(&self, _: &Context, _result: usize) -> Meaning {
//!         Meaning::Rule(Rule::Collective)
//!     }
//! }
//! ```
//!
//! # What a compiler asks
//!
//! An [`Analysis`] of a region, such as a function's, answers. After a change that a pass reports
//! by a [`Changes`] listener of its rewriter, [`Analysis::after`] repairs the answers. Code that
//! edits in place reports nothing: after it, make a new one.
//!
//! | module | has |
//! |---|---|
//! | [`interfaces`] | what operations implement |
//! | [`dialect`] | the same, said by the driver of operations of other crates |
//! | `map` | which blocks and values there are: pliron's numbered for the analysis |
//! | `say` | how a function is said to the analysis |
//! | [`analysis`] | questions |
//! | [`changes`] | edits |

pub mod analysis;
pub mod changes;
pub mod dialect;
pub mod interfaces;
mod map;
mod say;
mod slots;

pub use analysis::Analysis;
pub use changes::Changes;
pub use dialect::Dialect;
pub use interfaces::{Convergence, Decision, Meaning, SimtOp, SimtRegionOp};
pub use phalanx_core::analysis::Rule;
pub use phalanx_core::divergence::repair::Outcome;
pub use phalanx_core::legality::machines::Machines;
pub use phalanx_core::legality::{Legality, Refusal};
pub use phalanx_core::{Extent, LaunchFacts, Node, Scope, SourceSet, varying};
