//! A graph with the facts that sync dependence is of, to be kept beyond an edit.
//!
//! Who follows edits compares the graph that an answer was found in with what has become of it, so
//! it keeps the former. Several who follow one function share the copy: while one of them has it,
//! the table knows where it is.

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
    /// A copy of the graph that the table is of, with its facts: the one that somebody has, or a
    /// new one. O(1) or O(blocks + edges).
    #[must_use]
    pub fn copy_graph(&self, cfg: &Cfg, dom: &DomTree, cycles: &Cycles) -> Arc<GraphCopy> {
        // A copy of the table shares what is in it once something is.
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

/// Where the copy of a graph is, if somebody has one.
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
        // The table of the copy is the same.
        let _ = first.view().branch(n(0));
        assert_eq!(sync.filled_slots(), 1);
        let weak = Arc::downgrade(&first);
        drop(first);
        assert!(weak.upgrade().is_none(), "nobody else holds it");
        assert_eq!(sync.copy_graph(&cfg, &dom, &cycles).cfg(), &cfg);
    }
}
