//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-analysis --test suite NAME` runs those of a module.

mod memory_ssa;
