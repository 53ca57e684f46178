//! `phalanx performance`: what each access, branch and loop of a function costs a wave, the most
//! expensive first, and what could be done.
//!
//! ```text
//! kernel `transpose`
//!     28  a.cu:6:26  store of global memory: 4 * height bytes from lane to lane of a row, ...
//!             assumed: no index wraps
//!             fix: let lanes that follow each other access what follows each other: ...
//! ```
//!
//! **Cost.** One unit is a transaction, a turn of a bank, an update, or an instruction. An access
//! costs what it takes beyond the least; a branch, what a wave executes beyond the longest side; a
//! loop, a round. Each loop around multiplies by [`ROUNDS`], up to four of them. That is an order,
//! and no time.

mod build;
mod model;
mod text;

pub use build::performance;
pub use model::{
    AccessEntry, BranchEntry, Entry, FunctionCosts, LoopEntry, ModuleCosts, WaveEntry,
};
pub use text::write_performance;

/// Rounds that a loop is taken to have.
pub const ROUNDS: u32 = 8;
