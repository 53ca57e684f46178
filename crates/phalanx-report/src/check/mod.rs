//! `phalanx check`: findings with places, reasons and remedies, as plain data, as text, as JSON and
//! as SARIF.
//!
//! A [`Diagnostic`] is made from a finding by a [`Checker`]: where it is in the program that was
//! compiled, as far as debug locations say so, where in the text of the module, what it follows
//! from. [`write_text`] draws it with the lines of the source; serde makes JSON of it (field names
//! are the format); [`sarif()`] writes a log that code-scanning services read.
//!
//! Files are not read here: a [`Sources`] is asked for their contents.

mod access;
mod allow;
mod build;
mod compare;
mod coverage;
mod diagnostic;
mod distinct;
mod fixes;
mod found;
mod guarded;
mod memory;
mod names;
mod pages;
mod sarif;
mod short;
mod text;
mod words;

pub use crate::{
    lines::Place,
    source::{LinedText, Location, SourceFile, Sources},
};
pub(crate) use access::distance;
pub use allow::{Allowed, allows_in_comment};
pub use build::Checker;
pub use compare::{Comparison, Side, against};
pub use coverage::{Judged, REASONS, Unjudged, write_judged};
pub use diagnostic::{Diagnostic, Reason, Suppression};
pub use distinct::distinct;
pub use fixes::{ChangedLines, Edit, Fix, Words, applied, changed_lines, proposals};
pub use found::findings;
pub use names::{demangled, source_name};
pub use pages::{page, page_of};
pub use sarif::{LogOptions, Run, sarif};
pub use short::{write_github, write_github_summary, write_line};
pub use text::{ModuleText, write_summary, write_text};
