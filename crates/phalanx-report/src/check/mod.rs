//! `phalanx check`: findings with places, reasons and fixes, as plain data, text, JSON and SARIF.
//!
//! A [`Checker`] makes a [`Diagnostic`] from a finding: its place in the program that was compiled
//! (as far as debug locations are known), its place in the text of the module, and its reasons.
//! [`write_text`] prints it with the lines of the source; serde makes JSON of it (field names are
//! the format); [`sarif()`] writes a log that code-scanning services read.
//!
//! This crate reads no files: a [`Sources`] gives their contents.

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
pub use names::{demangled, source_name, symbol_name};
pub use pages::{page, page_of};
pub use sarif::{LogOptions, Run, sarif};
pub use short::{write_github, write_github_summary, write_line};
pub use text::{ModuleText, write_summary, write_text};
