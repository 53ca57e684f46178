//! A chain of causes as plain data: field names are the format of the JSON.

use serde::Serialize;

use crate::lines::Place;
use crate::source::SourceFile;

/// Why something diverges, or that it does not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explanation {
    /// The subject: `%v`, `%bb`, `operand 0 of %v`.
    pub subject: String,
    /// What kind of thing that is: `value`, `use`, `branch`, `block`.
    pub kind: &'static str,
    /// The variable of the program whose value it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Where it is.
    pub place: Place,
    /// Where it stands in the program that was compiled, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<SourceFile>,
    /// The scope of the query.
    pub scope: &'static str,
    /// Whether it differs between threads of the scope.
    pub divergent: bool,
    /// Everything that it depends on.
    pub sources: Vec<&'static str>,
    /// The chain, the subject first; empty when it is uniform.
    pub steps: Vec<Step>,
}

/// One link of the chain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// `source`, `operand`, `argument` (of a call), `address` (of a load), `memory`, `join`,
    /// `temporal`, `assumed`, `control`; `call` (of a function that introduces the source),
    /// `return`, `passed` (the argument that a caller passes).
    pub kind: &'static str,
    /// The function that it is in, where that is another than that of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The value, use, branch or block that this is about.
    pub what: String,
    /// The variable of the program whose value that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Its instruction or label as text.
    pub text: String,
    /// The source that it depends on.
    pub source: &'static str,
    /// Where it stands.
    pub place: Place,
    /// Where it stands in the program that was compiled, if that is known: the user's own line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<SourceFile>,
    /// Why, in a sentence.
    pub sentence: String,
    /// The block at whose end threads separate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The entries of the cycle that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Vec<String>>,
    /// The edge by which threads leave it in different iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<[String; 2]>,
    /// Two paths from the branch to the join that bring different values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ways: Option<[Vec<String>; 2]>,
}
