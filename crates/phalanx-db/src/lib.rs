//! The salsa database: inputs, tracked queries, event log. **The only crate that names salsa.**
//!
//! A query here is a few lines that fetch what an analysis reads and call the pure function that
//! computes it (`phalanx-graph`, `phalanx-analysis`). It knows no files and no terminal.
//!
//! State that is retained of a function beside the memos is plain data, in `retained`; the queries
//! bring it up to date.
//!
//! Read first: [`Database`], [`FunctionInput`], and the list of [`queries`].

mod database;
mod edit;
mod edit_log;
mod edit_module;
mod handles;
mod inputs;
mod load;
mod marks;
mod mentions;
mod module_facts;
mod part_cell;
mod presence;
pub mod queries;
mod remove;
mod replace;
mod retained;

pub use database::{Database, Did, Id, LogEntry};
pub use edit_module::ModuleEditError;
pub use handles::{Busy, Cancelled};
pub use inputs::{FunctionEntry, FunctionInput, ModuleInput, TargetOverrides};
pub use load::ReloadReport;
pub use mentions::Mentions;
pub use presence::Stamp;
