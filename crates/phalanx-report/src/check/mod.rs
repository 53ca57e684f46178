//! `phalanx check`: findings with places, reasons and remedies, as plain data, as text, as JSON and as SARIF.
//!
//! A [`Diagnostic`] is made from a finding by a [`Checker`]: where it is in the program that was compiled, as far as debug locations say
//! so, where in the text of the module, what it follows from. [`write_text`] draws it with the lines of the source;
//! serde makes JSON of it (field names are the format); [`sarif()`] writes a log that code-scanning services read.
//!
//! Files are not read here: a [`Sources`] is asked for their contents.

mod allow;
mod build;
mod compare;
mod pages;
mod place;
mod sarif;
mod text;
mod words;

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use serde::Serialize;

pub use crate::analyze::Place;
pub use allow::{Allowed, allows_in_comment};
pub use build::Checker;
pub use compare::compare;
pub use pages::{page, page_of};
pub use place::{Location, SourceFile, Sources};
pub use sarif::{Run, sarif};
pub use text::{write_summary, write_text};

/// A finding, ready to be told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Diagnostic {
    /// The stable code: `PHX001`.
    pub code: &'static str,
    /// The name of the rule.
    pub rule: &'static str,
    /// `error`, `warning` or `note`.
    pub level: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The function that it is in.
    pub function: String,
    /// Where.
    pub location: Location,
    /// What is said at the place itself.
    pub label: String,
    /// Reasons, each with its place, in the order of an argument.
    pub reasons: Vec<Reason>,
    /// What could be done, and for which launches nothing has to be.
    pub help: Vec<String>,
    /// The same for the same finding in a later version of a program, as long as its line stays as it is.
    pub fingerprint: String,
}

/// A step of the argument.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reason {
    /// `part` (threads do), `other` (barrier, or access), `because` (a link of the chain of causes), `origin` (the last link of a chain about
    /// memory: where that comes in).
    pub kind: &'static str,
    /// What holds there.
    pub message: String,
    /// Where.
    pub location: Location,
}

/// Leaves out findings that are said already: code that was inlined into several functions is one line of the source. The first
/// of those with the highest level stays.
#[must_use]
pub fn distinct(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let rank = |level: &str| ["note", "warning", "error"].iter().position(|&name| name == level);
    let mut best: FxHashMap<(&'static str, SourceFile), usize> = FxHashMap::default();
    let mut is_kept = vec![true; diagnostics.len()];
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        let Some(place) = &diagnostic.location.source else { continue };
        match best.entry((diagnostic.code, place.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(at);
            }
            Entry::Occupied(mut entry) => {
                let other = *entry.get();
                let is_better = rank(diagnostic.level) > rank(diagnostics[other].level);
                is_kept[if is_better { entry.insert(at) } else { at }] = false;
            }
        }
    }
    let mut kept = is_kept.into_iter();
    diagnostics.retain(|_| kept.next().unwrap_or(true));
    diagnostics
}
