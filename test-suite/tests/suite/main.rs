//! The `phalanx` binary on the kernels of the test suite.
#![allow(clippy::disallowed_methods, reason = "tests read files and start programs")]

mod accesses;
mod analyze;
mod check;
mod copies;
mod explain;
mod fixes;
mod from_source;
mod generic;
mod json;
mod kernels;
mod library;
mod loads;
mod lost;
mod marks;
mod memory_ssa;
mod numbers;
mod own_functions;
mod pages;
mod performance;
mod report;
mod rules;
mod run;
mod sarif_format;
mod source;
mod spaces;
mod watch;

use phalanx_testing::llvm_tools::{self, Program};

/// The binary under test.
fn phalanx() -> Program {
    llvm_tools::phalanx_binary().unwrap_or_else(|error| panic!("{error:#}"))
}
