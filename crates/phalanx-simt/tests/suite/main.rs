//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-simt --test suite NAME` runs those of a module.

mod addresses;
mod clusters;
mod layout;
mod library;
mod operations;
mod partial;
mod reconverge;
mod semantics;
mod spirv;
mod unknown;
mod variables;
mod work_groups;
