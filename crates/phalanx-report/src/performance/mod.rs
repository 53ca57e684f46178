//! `phalanx performance`: how much each access, branch and loop of a function costs a wave, the
//! most expensive first, and what could be done.
//!
//! ```text
//! kernel `transpose`
//!     28  a.cu:6:26  store of global memory: 4 * height bytes from lane to lane of a row, ...
//!             assumed: no index wraps
//!             fix: let lanes that follow each other access what follows each other: ...
//! ```
//!
//! **Cost.** One unit is a transaction, a bank cycle, an atomic update, or an instruction. The cost
//! of an access is the number of units beyond the least possible one. The cost of a branch is the
//! number of instructions that a wave executes beyond the longest side. The cost of a loop is that
//! of one round. Each loop around multiplies the cost by [`ROUNDS`], up to four of them. Costs
//! order the entries; they are no times.

mod build;
mod model;
mod text;

pub use build::performance;
pub use model::{
    AccessEntry, BranchEntry, Entry, FunctionCosts, LoopEntry, ModuleCosts, WaveEntry,
};
pub use text::write_performance;

/// The assumed number of rounds of a loop.
pub const ROUNDS: u32 = 8;
