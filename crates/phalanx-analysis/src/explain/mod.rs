//! Chains of causes, and what a summary says about a callee.
//!
//! Chains within a function are found by [`phalanx_core::explain`]. The modules here continue a
//! chain in the function that a link calls: [`returned`] for its result, [`left`] for memory that
//! it writes.

pub mod left;
pub mod returned;

pub use phalanx_core::explain::*;
