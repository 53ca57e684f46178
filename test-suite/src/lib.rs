//! Our own kernels, their expected results, and the code to run them.
//!
//! - [`kernels`]: the sources under `kernels/`, as `kernels.toml` lists them, compiled by clang
//!   where it is installed;
//! - [`giants`]: all of these, inlined into one function by LLVM where it is installed;
//! - [`marks`]: the right answers that the hand-written functions under `ll/` carry in their
//!   comments;
//! - [`pages`]: the commands and code in documents.
//!
//! The tests of this crate run the `phalanx` binary on all of them; `cargo xtask conformance` takes
//! the kernels from here.
#![allow(clippy::disallowed_methods, reason = "tests read files and start programs")]

pub mod giants;
pub mod kernels;
pub mod marks;
pub mod pages;

use std::path::{Path, PathBuf};

/// The folder of the test suite.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The functions that are ready to run, `ll/*.ll`, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn shipped() -> anyhow::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder().join("ll"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ll") {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}
