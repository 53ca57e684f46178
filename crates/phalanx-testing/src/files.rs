//! Files that tests read: whatever is wrong with one, the test says which.
#![allow(clippy::disallowed_methods, reason = "this is where tests read files")]

use std::{fs, path::Path};

/// What is in a file.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is in a file of text.
///
/// # Panics
/// When it cannot be read or is no text.
#[must_use]
pub fn text(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
