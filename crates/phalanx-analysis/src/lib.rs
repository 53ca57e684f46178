//! Pure functions from our IR to facts: tables for the core, memory, spaces, shapes, summaries of
//! calls, checks.
//!
//! Nothing here keeps state, reads files or knows of queries. Divergence itself is computed by [`phalanx_core`], which knows
//! no IR: it is a function of tables, and [`lower`] makes these from a function of the IR. The crate knows no text format
//! and no salsa.
//!
//! Read first: [`divergence`] (what is computed, from what), [`lower`] (where the tables come
//! from), [`memory`].

pub mod check;
pub mod convergence;
pub mod data_flow;
pub mod edited;
pub mod explain;
pub mod follow;
pub mod granted;
pub mod joins;
pub mod launch;
pub mod listing;
pub mod loads;
pub mod lower;
pub mod memory;
pub mod policy;
pub mod readers;
pub mod shape;
pub mod spaces;
pub mod stable;
pub mod summary;
pub mod true_uniformity;
pub mod variance;

pub use convergence::Convergence;
pub use phalanx_core::{AffectMap, Divergence, User, UserKind, Value};
pub use phalanx_core::{affect, control, divergence, legality};
pub use summary::Summary;
