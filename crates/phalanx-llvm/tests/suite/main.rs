//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-llvm --test suite NAME` runs those of a module.

mod attributes;
mod corpus;
mod declarations;
mod errors;
mod fold;
mod metadata;
mod metadata_schema;
mod parse;
mod parts;
mod print;
mod robust;
mod round_trip;
mod same_module;
mod support;
mod threads;
mod upgrade;
mod verifier;
mod verifier_convergence;
