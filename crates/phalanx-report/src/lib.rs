//! Renders facts: text in the format of LLVM's printers, text for people, JSON, DOT, diagnostics.
//!
//! This crate writes into buffers; it knows no files and no terminal. Read first: [`llvm`] for
//! output that LLVM's tests read, [`analyze`] for reports, [`check`] for findings, [`explain`] for
//! why something diverges, [`page`] for the HTML page, [`dot`] and [`picture`] for graphs.

pub mod alias;
pub mod analyze;
pub mod check;
pub mod diagnostics;
pub mod dot;
pub mod explain;
pub mod hssa;
mod indent;
mod levels;
mod lines;
pub mod llvm;
pub mod loads;
pub mod page;
pub mod performance;
pub mod picture;
pub mod source;
pub mod spaces;
