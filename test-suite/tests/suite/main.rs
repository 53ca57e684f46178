//! The `phalanx` binary on the kernels of the test suite.
#![allow(clippy::disallowed_methods, reason = "tests read files and start programs")]

mod marks;
