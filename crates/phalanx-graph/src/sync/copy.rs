//! A copy of a graph and of the facts that its sync dependence was computed from, retained across
//! an edit.
//!
//! An incremental update compares the graph that an answer was computed for with the edited graph,
//! so it retains a copy of the old one. The retained states of one function share that copy: the
//! table holds a weak reference to it.

use std::sync::{Arc, PoisonError, Weak};

use crate::cfg::Cfg;
use crate::cycles::Cycles;
use crate::dom::DomTree;
use crate::sync::table::{SyncDependence, SyncView};

/// See the [module documentation](self).
#[derive(Debug)]
pub struct GraphCopy {
    cfg: Cfg,
    dom: DomTree,
    cycles: Cycles,
    sync: SyncDependence,
}

impl SyncDependence {
    /// A copy of the graph that the table belongs to, with its facts. O(1) if such a copy is alive,
    /// else O(blocks + edges).
    #[must_use]
    pub fn copy_graph(&self, cfg: &Cfg, dom: &DomTree, cycles: &Cycles) -> Arc<GraphCopy> {
        // Creating a view fills the table, so that the clone below shares its contents.
        let place = &SyncView::new(self, cfg, dom, cycles).tables.copy;
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = place.upgrade() {
            return known;
        }
        let (cfg, dom, cycles) = (cfg.clone(), dom.clone(), cycles.clone());
        let copy = Arc::new(GraphCopy { cfg, dom, cycles, sync: self.clone() });
        *place = Arc::downgrade(&copy);
        copy
    }
}

/// The last copy of a graph, if it is still alive.
pub(super) type Place = std::sync::Mutex<Weak<GraphCopy>>;

impl GraphCopy {
    /// The graph.
    #[must_use]
    pub fn cfg(&self) -> &Cfg {
        &self.cfg
    }

    /// Its dominator tree.
    #[must_use]
    pub fn dom_tree(&self) -> &DomTree {
        &self.dom
    }

    /// Its sync dependence.
    #[must_use]
    pub fn view(&self) -> SyncView<'_> {
        SyncView::new(&self.sync, &self.cfg, &self.dom, &self.cycles)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::cfg::Cfg;
    use crate::cycles::Cycles;
    use crate::dom::DomTree;
    use crate::node::Node;
    use crate::sync::SyncDependence;

    #[test]
    fn those_who_keep_a_graph_share_the_copy() {
        let n = Node::new;
        let cfg = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(2)], vec![]]);
        let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let first = sync.copy_graph(&cfg, &dom, &cycles);
        assert_eq!((first.cfg(), first.dom_tree()), (&cfg, &dom));
        assert!(Arc::ptr_eq(&first, &sync.copy_graph(&cfg, &dom, &cycles)));
        // The copy shares the table.
        let _ = first.view().branch(n(0));
        assert_eq!(sync.filled_slots(), 1);
        let weak = Arc::downgrade(&first);
        drop(first);
        assert!(weak.upgrade().is_none(), "nobody else holds it");
        assert_eq!(sync.copy_graph(&cfg, &dom, &cycles).cfg(), &cfg);
    }
}
