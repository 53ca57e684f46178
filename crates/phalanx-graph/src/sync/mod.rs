//! Sync dependence: where threads that separate at a branch meet again.

pub mod arrivals;
pub mod label;
pub mod order;
mod table;

pub use label::{LabelPropagation, LabelSync, LlvmFixes};
pub use order::ModifiedPostOrder;
pub use table::SyncDependence;
