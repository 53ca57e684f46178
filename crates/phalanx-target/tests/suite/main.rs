//! All integration tests of the crate, a module each: one program is linked instead of many.
//!
//! `cargo test -p phalanx-target --test suite NAME` runs those of a module.

mod data_layouts;
mod llvm_intrinsics;
mod llvm_rules;
mod llvm_signatures;
mod oracle;
