//! Renders facts: text in LLVM's words, text for people, JSON, DOT, diagnostics.
//!
//! It writes into buffers and knows no files and no terminal. Read first: [`llvm`] for what LLVM's
//! tests read, [`analyze`] for what people read, [`check`] for what is wrong, [`explain`] for why
//! something diverges, [`page`] for a page to look at, [`dot`] and [`picture`] for graphs.

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
