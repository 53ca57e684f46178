//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-graph --test suite NAME` runs those of a module.

mod opt22;
mod twins;
mod updates;
