//! A finding with its places and words, as plain data: what all formats are made of.

use serde::Serialize;

use super::Fix;
use crate::source::Location;

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
    /// The function that it is in, as the program calls it.
    pub function: String,
    /// The same as the module calls it.
    pub symbol: String,
    /// Threads start there.
    pub kernel: bool,
    /// Where.
    pub location: Location,
    /// What is said at the place itself.
    pub label: String,
    /// Reasons, each with its place, in the order of an argument.
    pub reasons: Vec<Reason>,
    /// What could be done, and for which launches nothing has to be.
    pub help: Vec<String>,
    /// A change of the source after which the finding is gone: it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// The same for the same finding in a later version of a program, as long as its line stays as
    /// it is.
    pub fingerprint: String,
    /// Why it is not to be told, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Suppression>,
}

impl Diagnostic {
    /// What is wrong, and in which function.
    #[must_use]
    pub fn headline(&self) -> String {
        let what = if self.kernel { "kernel" } else { "function" };
        match self.function.is_empty() {
            true => self.message.clone(),
            false => format!("{}, in {what} `{}`", self.message, self.function),
        }
    }
}

/// Who says that a finding is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suppression {
    /// The program: a comment, or metadata.
    InSource,
    /// A list of what was found before.
    Baseline,
}

/// A step of the argument.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reason {
    /// `part` (threads do), `other` (barrier, or access), `also` (the same holds there), `because`
    /// (a link of the chain of causes), `origin` (the last link of a chain about memory: where that
    /// comes in), `before` (what an earlier version did), `launch` (in which that was seen).
    pub kind: &'static str,
    /// What holds there: in words of the program where its line is known, or else of the module.
    pub message: String,
    /// Where.
    pub location: Location,
}

impl Reason {
    /// Whether it is a link of the chain of causes.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.kind == "because"
    }
}
