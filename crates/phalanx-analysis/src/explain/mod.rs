//! Chains of causes, and what a summary says about a callee.
//!
//! Chains within a function are found by [`phalanx_core::explain`]. The modules here continue a
//! chain inside the function that is called: [`returned`] for the result of the call, [`left`] for
//! memory that the call writes.

pub mod left;
pub mod returned;

pub use phalanx_core::explain::*;
