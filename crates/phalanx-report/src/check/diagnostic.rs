//! A finding with its places and sentences, as plain data: the common input of all output formats.

use serde::Serialize;

use super::Fix;
use crate::source::Location;

/// A finding, ready to be printed.
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
    /// The label at the place itself.
    pub label: String,
    /// Reasons, each with its place, in the order of an argument.
    pub reasons: Vec<Reason>,
    /// What could be done, and for which launches the code is correct.
    pub help: Vec<String>,
    /// A change of the source that makes the finding go away, as a test has shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Equal for the same finding in a later version of the program, as long as its line does not
    /// change.
    pub fingerprint: String,
    /// Why the finding is not reported, if it is suppressed.
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

/// What suppresses a finding.
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
    /// `part` (where threads separate), `other` (barrier, or access), `also` (another place with
    /// the same finding), `because` (a link of the chain of causes), `origin` (the last link of a
    /// chain about memory: where the memory enters), `before` (the earlier version), `launch`
    /// (where the difference was seen).
    pub kind: &'static str,
    /// A sentence about that place: in terms of the program if its line is known, otherwise of the
    /// module.
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
