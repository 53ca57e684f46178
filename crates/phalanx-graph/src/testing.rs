//! Graphs for tests and benches, and slow twins of the algorithms.
//!
//! Behind the feature `testing`. Everything is a function of its arguments: the same seed makes the
//! same graph on every machine, so a failing seed is a complete report.
//!
//! - [`random`]: random graphs, from program-like to arbitrary;
//! - [`families`]: regular graphs of any size that stress one thing each;
//! - [`checks`]: every fact against its twin;
//! - [`twins`]: the facts of this crate computed straight from their definitions, for small graphs.

pub mod checks;
pub mod families;
pub mod random;
pub mod twins;
