//! Pure functions from IR and graph facts to facts: affect map, divergence, summaries of calls, legality of motions.
//!
//! Nothing here keeps state, reads files or knows of queries: an analysis is a function of tables, and tables are made
//! from a function of the IR by [`lower`]. It knows no text format and no salsa.
//!
//! Read first: [`divergence`] (what is computed, from what), [`lower`] (where the tables come from), [`affect`];
//! [`explain`] for why something diverges.

pub mod affect;
pub mod check;
pub mod control;
pub mod convergence;
pub mod data_flow;
pub mod divergence;
pub mod edited;
pub mod explain;
pub mod follow;
pub mod granted;
pub mod launch;
pub mod legality;
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

pub use affect::{AffectMap, User, UserKind, Value};
pub use convergence::Convergence;
pub use divergence::Divergence;
pub use summary::Summary;
