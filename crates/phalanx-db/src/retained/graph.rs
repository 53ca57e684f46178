//! Facts that follow from the graph of a function, retained with the graph.
//!
//! Each fact is computed once, at its first use, and shared by all threads. All facts depend on the
//! graph alone, so a single salsa query, [`graph_facts`](crate::queries::graph_facts()), represents
//! them: it changes when the graph does. Reading a fact costs a lookup. A salsa query for each fact
//! would cost a memo with dependences of its own, in each of thousands of small functions and after
//! each edit.
//!
//! The retained state of the function holds the facts of the last graph. If the next graph is
//! equal, it is that graph, facts included. If one place of a large graph has changed ([`Change`]),
//! a fact that was computed for the previous graph is updated at its first use; so the previous
//! graph is retained until the next change. All other facts are computed from scratch. Either way
//! the facts are the same, orders included.

use std::sync::{Arc, Mutex, OnceLock};

use phalanx_analysis::policy::GRAPH_REPAIRED;
use phalanx_core::divergence::FlowFacts;
use phalanx_graph::{
    Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, PostDomTree, change::Change,
    sync::SyncDependence,
};

use super::place::{fresh, locked};

/// The graph of a function, and the facts of it that were asked for.
#[derive(Debug)]
pub struct GraphFacts {
    cfg: Arc<Cfg>,
    number: u64,
    /// The graph before, and how it became this one.
    before: Mutex<Option<(Change, Arc<GraphFacts>)>>,
    dfs: OnceLock<Dfs>,
    dom: OnceLock<Arc<DomTree>>,
    postdom: OnceLock<Arc<PostDomTree>>,
    frontier: OnceLock<DominanceFrontier>,
    control: OnceLock<ControlDependence>,
    cycles: OnceLock<Cycles>,
    sync: OnceLock<SyncDependence>,
}

/// Facts of equal graphs are equal.
impl PartialEq for GraphFacts {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cfg, &other.cfg) || self.cfg == other.cfg
    }
}

impl GraphFacts {
    fn new(cfg: Cfg, before: Option<(Change, Arc<GraphFacts>)>) -> Self {
        Self {
            cfg: Arc::new(cfg),
            number: fresh(),
            before: Mutex::new(before),
            dfs: OnceLock::new(),
            dom: OnceLock::new(),
            postdom: OnceLock::new(),
            frontier: OnceLock::new(),
            control: OnceLock::new(),
            cycles: OnceLock::new(),
            sync: OnceLock::new(),
        }
    }

    /// Identity of the graph: equal numbers are of the same one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How it became of the graph with a number; none if that is not the one before, or more than
    /// one place has changed.
    pub(crate) fn change_from(&self, number: u64) -> Option<Change> {
        let before = locked(&self.before);
        let (change, old) = before.as_ref()?;
        (old.number == number).then_some(*change)
    }

    /// The graph.
    #[must_use]
    pub fn cfg(&self) -> &Arc<Cfg> {
        &self.cfg
    }

    /// See [`dfs`](crate::queries::dfs).
    #[must_use]
    pub fn dfs(&self) -> &Dfs {
        self.dfs.get_or_init(|| Dfs::new(&*self.cfg))
    }

    /// See [`dom_tree`](crate::queries::dom_tree).
    #[must_use]
    pub fn dom_tree(&self) -> &Arc<DomTree> {
        let update = |change: Change, old: &Arc<_>| change.dom_tree(old, &self.cfg).map(Arc::new);
        self.fact(|of| &of.dom, update, || Arc::new(DomTree::new(&*self.cfg)))
    }

    /// See [`postdom_tree`](crate::queries::postdom_tree).
    #[must_use]
    pub fn postdom_tree(&self) -> &Arc<PostDomTree> {
        let update =
            |change: Change, old: &Arc<_>| change.postdom_tree(old, &self.cfg).map(Arc::new);
        self.fact(|of| &of.postdom, update, || Arc::new(PostDomTree::new(&self.cfg)))
    }

    /// See [`dom_frontier`](crate::queries::dom_frontier).
    #[must_use]
    pub fn dom_frontier(&self) -> &DominanceFrontier {
        self.frontier.get_or_init(|| DominanceFrontier::new(&*self.cfg, self.dom_tree()))
    }

    /// See [`control_dependence`](crate::queries::control_dependence).
    #[must_use]
    pub fn control_dependence(&self) -> &ControlDependence {
        let make = || ControlDependence::new(&self.cfg, self.dom_tree(), self.postdom_tree());
        self.control.get_or_init(make)
    }

    /// See [`cycles`](crate::queries::cycles).
    #[must_use]
    pub fn cycles(&self) -> &Cycles {
        let update = |change: Change, old: &_| change.cycles(old, &self.cfg);
        self.fact(|of| &of.cycles, update, || Cycles::new(&*self.cfg))
    }

    /// See [`sync_dependence`](crate::queries::sync_dependence).
    #[must_use]
    pub fn sync_dependence(&self) -> &SyncDependence {
        let (cfg, dom, cycles) = (&self.cfg, self.dom_tree(), self.cycles());
        let update = |change: Change, old: &_| change.sync_dependence(old, (cfg, dom, cycles));
        self.fact(|of| &of.sync, update, || SyncDependence::new(cfg, dom, cycles))
    }

    /// What the solver of divergence needs.
    #[must_use]
    pub fn flow(&self) -> FlowFacts<'_> {
        let (dom, cycles) = (self.dom_tree(), self.cycles());
        FlowFacts { cfg: &self.cfg, dom, cycles, sync: self.sync_dependence() }
    }

    /// A fact: the one that is there, or that of the graph before with the difference put in, or a
    /// new one.
    fn fact<T>(
        &self,
        of: fn(&GraphFacts) -> &OnceLock<T>,
        update: impl FnOnce(Change, &T) -> Option<T>,
        make: impl FnOnce() -> T,
    ) -> &T {
        of(self).get_or_init(|| {
            let before = locked(&self.before).clone();
            let updated = before.and_then(|(change, old)| update(change, of(&old).get()?));
            updated.unwrap_or_else(make)
        })
    }

    /// Which facts were asked for, by the names of their queries.
    #[must_use]
    pub fn made(&self) -> Vec<&'static str> {
        let all = [
            ("control_dependence", self.control.get().is_some()),
            ("cycles", self.cycles.get().is_some()),
            ("dfs", self.dfs.get().is_some()),
            ("dom_frontier", self.frontier.get().is_some()),
            ("dom_tree", self.dom.get().is_some()),
            ("postdom_tree", self.postdom.get().is_some()),
            ("sync_dependence", self.sync.get().is_some()),
        ];
        all.into_iter().filter(|(_, is_made)| *is_made).map(|(name, _)| name).collect()
    }
}

/// The last graph of a function that is edited.
#[derive(Debug, Default)]
pub(crate) struct RetainedGraph(Mutex<Option<Arc<GraphFacts>>>);

impl RetainedGraph {
    /// States what the graph is now.
    pub(crate) fn advance(&self, cfg: Cfg) -> Arc<GraphFacts> {
        let old = locked(&self.0).clone();
        let before = match old {
            Some(old) if *old.cfg == cfg => return old,
            Some(old) => {
                // One graph back is as far as anybody looks.
                *locked(&old.before) = None;
                let change =
                    (cfg.node_count() >= GRAPH_REPAIRED).then(|| Change::between(&old.cfg, &cfg));
                change.flatten().map(|change| (change, old))
            }
            None => None,
        };
        let facts = Arc::new(GraphFacts::new(cfg, before));
        *locked(&self.0) = Some(Arc::clone(&facts));
        facts
    }

    /// Drops the retained state, also for other holders of the last graph.
    pub(crate) fn clear(&self) {
        if let Some(facts) = locked(&self.0).take() {
            *locked(&facts.before) = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use phalanx_graph::Node;

    use super::*;

    fn node(number: usize) -> Node {
        Node::new(number)
    }

    /// Diamonds in a row: large enough, and a change of it is one of one place.
    fn diamonds() -> Cfg {
        let count = GRAPH_REPAIRED / 4 + 1;
        let rows = (0..count).flat_map(|number| {
            let at = 4 * number;
            let next = if number + 1 == count { vec![] } else { vec![node(at + 4)] };
            [vec![node(at + 1), node(at + 2)], vec![node(at + 3)], vec![node(at + 3)], next]
        });
        Cfg::new(node(0), rows)
    }

    /// Whether the dominator tree was made from that of the graph before.
    fn follows(facts: &GraphFacts) -> bool {
        let mut is_new = false;
        let update = |change: Change, old: &Arc<_>| change.dom_tree(old, &facts.cfg).map(Arc::new);
        let tree = facts.fact(
            |of| &of.dom,
            update,
            || {
                is_new = true;
                Arc::new(DomTree::new(&*facts.cfg))
            },
        );
        assert_eq!(**tree, DomTree::new(&*facts.cfg));
        !is_new
    }

    #[test]
    fn a_fact_follows_one_change_and_no_more() {
        let slot = RetainedGraph::default();
        let first = slot.advance(diamonds());
        assert!(!follows(&first));
        assert_eq!(first.made(), ["dom_tree"]);
        let second = slot.advance(first.cfg.after_split(node(1)));
        assert!(follows(&second));
        // No query runs in between.
        let third = slot.advance(second.cfg.after_split(node(2)));
        let fourth = slot.advance(third.cfg.after_split(node(0)));
        assert!(!follows(&fourth));
        let other = slot.advance(diamonds());
        assert!(!follows(&other), "another graph altogether");
    }

    #[test]
    fn one_graph_back_is_kept_and_no_more() {
        let slot = RetainedGraph::default();
        let first = slot.advance(diamonds());
        let second = slot.advance(first.cfg.after_split(node(1)));
        let weak = Arc::downgrade(&first);
        drop(first);
        assert!(weak.upgrade().is_some());
        let third = slot.advance(second.cfg.after_split(node(2)));
        assert!(weak.upgrade().is_none());
        let weak = Arc::downgrade(&second);
        drop(second);
        slot.clear();
        assert!(weak.upgrade().is_none(), "the last one is still held, and holds nothing");
        drop(third);
    }

    #[test]
    fn an_equal_graph_is_the_same_one() {
        let slot = RetainedGraph::default();
        let small = || Cfg::new(node(0), [vec![node(1)], vec![]]);
        for graph in [diamonds as fn() -> Cfg, small] {
            let first = slot.advance(graph());
            assert!(Arc::ptr_eq(&slot.advance(graph()), &first));
            slot.clear();
            let again = slot.advance(graph());
            assert!(!Arc::ptr_eq(&again, &first));
            assert_eq!(again, first, "facts of equal graphs");
            assert_ne!(again.number(), first.number());
        }
    }
}
