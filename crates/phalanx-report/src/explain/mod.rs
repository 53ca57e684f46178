//! `phalanx explain`: chains of causes as plain data, as text and as JSON.
//!
//! A model of what there is to say ([`Explanation`]) is made from the links of a chain;
//! [`write_texts`] draws it, serde makes JSON of it (field names are the format). One sentence per
//! link, in the order of the chain: from what was asked about to what introduces the source.
//!
//! Where the text of the program is at hand, each step shows its line and below it the instruction;
//! a value is named after its variable:
//!
//! ```text
//! k.cu:4:35: because: 2. `i` (%8) is computed from `tid` (%4)
//!   |
//! 4 |   int i = blockIdx.x * blockDim.x + threadIdx.x;
//!   |                                   ^
//!   = line 18 of the IR: %8 = add i32 %7, %4
//! ```

mod build;
mod calls;
mod names;
mod sentences;
mod text;
pub(crate) mod words;

use serde::Serialize;

pub use build::Explainer;
pub use names::UnknownName;
pub(crate) use text::offset_of;
pub use text::write_texts;

pub use crate::analyze::Place;
use crate::source::SourceFile;

/// Why something diverges, or that it does not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explanation {
    /// What was asked about: `%v`, `%bb`, `operand 0 of %v`.
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
    /// The scope that was asked about.
    pub scope: &'static str,
    /// Whether it differs between threads of the scope.
    pub divergent: bool,
    /// Everything that it depends on.
    pub sources: Vec<&'static str>,
    /// The chain, what was asked about first; empty when it is uniform.
    pub steps: Vec<Step>,
}

/// One link of the chain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// `source`, `operand`, `argument` (of a call), `address` (of a load), `memory`, `join`, `temporal`, `assumed`, `control`; `call` (of a
    /// function that brings the source in), `return`, `passed` (what a parameter is).
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
    /// Two ways from the branch to the join that bring different values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ways: Option<[Vec<String>; 2]>,
}
