//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-core --test suite NAME` runs those of a module.

mod analysis;
mod barriers;
mod explain;
mod llvm;
mod parallel_edges;
mod precise;
mod public;
mod regions;
mod repair;
mod rules;
mod slots;
mod support;
mod verify;
