//! Sync dependence: where threads that separate at a branch meet again.

pub mod arrivals;
mod irreducible;
pub mod label;
pub mod order;
mod reduced;
mod table;
mod wave;

pub use label::{LabelPropagation, LabelSync, LlvmFixes, unreliable_cycle};
pub use order::ModifiedPostOrder;
pub use reduced::LeavingEdge;
pub use table::{Answer, SyncDependence, SyncView};
pub use wave::{Consequence, EnteringEdges};
