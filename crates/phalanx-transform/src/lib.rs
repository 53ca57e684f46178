//! Transforms that read facts, edit in transactions, and read facts again; and the manager that
//! runs them.
//!
//! A [`Pass`] works on one function of a [`Database`](phalanx_db::Database) through the interface
//! that every driver has: queries for facts, [`Database::edit`](phalanx_db::Database::edit) for
//! changes. Nothing is invalidated by hand. A [`Pipeline`] is read from LLVM's `-passes=` text, and
//! a [`Manager`] runs it.
//!
//! # Convergence
//!
//! A *convergent operation* communicates among the threads that execute it together, so a transform
//! has to keep those groups of threads. A pass copies such an operation, moves it to another block,
//! reuses or deletes it only if that leaves all groups as they were ([`phalanx_core::legality`]). A
//! pass that removes edges keeps the cycles around every convergent operation ([`groups`]).
//!
//! | pass | what it does |
//! |---|---|
//! | [`dce`](dce::Dce) | removes instructions that nothing needs |
//! | [`instsimplify`](inst_simplify::InstSimplify) | replaces values by constants and existing values |
//! | [`simplifycfg`](simplify_cfg::SimplifyCfg) | folds branches, removes and merges blocks, turns small branches into selections |
//! | [`early-cse`](early_cse::EarlyCse) | reuses what was computed or read before |
//! | [`licm`](licm::Licm) | moves loop-invariant instructions before the loop |
//! | [`linearize`](linearize::Linearize) | predicates divergent branches without cycles, for targets without hardware for divergence |
//! | [`jump-threading`](jump_threading::JumpThreading) | copies blocks for the predecessors that decide where they lead |
//! | [`loop-unroll`](loop_unroll::LoopUnroll) | copies rounds of loops; all of them if they are small |
//! | [`move-convergent`](move_convergent::MoveConvergent) | moves convergent operations if all groups stay: above a uniform branch, out of loops, to where they are read |
//! | [`combine-ballots`](combine_ballots::CombineBallots) | makes one vote of two, and removes votes on uniform values |
//! | [`remove-redundant-barriers`](redundant_barriers::RemoveRedundantBarriers) | removes barriers between which nothing is accessed; opt-in |
//! | [`infer-address-spaces`](infer_address_spaces::InferAddressSpaces) | makes generic accesses accesses of the space they lead to |
//! | [`infer-convergence-attrs`](infer_convergence_attrs::InferConvergenceAttrs) | drops `convergent`, infers `memory(..)` and `nodivergencesource` |
//! | [`infer-convergence-tokens`](convergence_tokens::InferConvergenceTokens) | states by tokens which threads execute convergent operations together |
//! | [`drop-convergence-tokens`](convergence_tokens::DropConvergenceTokens) | removes tokens where control flow says the same |
//! | [`annotate-uniform`](annotate_uniform::AnnotateUniform) | tells AMDGPU's backend what is uniform |
//! | [`mark-loads`](mark_loads::MarkLoads) | tells backends which loads may take a cheaper path |
//!
//! It knows no files, no terminal and no salsa.
//!
//! Read first: [`Pass`], [`Manager`], [`code::Code`].

pub mod annotate_uniform;
mod answers;
pub mod code;
pub mod combine_ballots;
pub mod convergence_tokens;
mod convergent;
mod copies;
pub mod dce;
mod dominating;
pub mod early_cse;
mod ends;
mod equal;
mod evaluate;
pub mod fold;
pub mod groups;
pub mod infer_address_spaces;
pub mod infer_convergence_attrs;
pub mod inst_simplify;
pub mod jump_threading;
pub mod licm;
pub mod linearize;
mod locations;
pub mod loop_unroll;
mod manager;
pub mod mark_loads;
mod memory;
pub mod move_convergent;
mod pass;
mod pipeline;
pub mod redundant_barriers;
mod registry;
pub mod simplify_cfg;
mod speculated;
pub mod ssa;
mod stacks;
mod statistics;

pub use manager::{Event, Manager, Options};
pub use pass::{Outcome, Parameters, Pass, PassError};
pub use pipeline::{Group, Pipeline, PipelineError, Step};
pub use registry::Registry;
pub use statistics::{Statistics, StepStatistics};
