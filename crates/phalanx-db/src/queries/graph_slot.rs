//! Graph facts of a function that is edited, made from those of the graph before where one place has changed.
//!
//! A large function has a slot in which the facts of its last graph are kept beside the memos; they are shared with these, so
//! nothing is stored twice. When the graph comes out otherwise, the slot remembers how it has changed
//! ([`Change`]), and each fact that is asked again is copied with the difference put in, if it was kept for the graph
//! just before. Everything else is made anew. Either way the answer is the same, orders included.
//!
//! A fact is used for the very graph only that it was made for: facts carry the number of their graph.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use phalanx_graph::{Cfg, Cycles, DomTree, PostDomTree, change::Change, sync::SyncDependence};

/// Functions with fewer blocks have no slot.
pub(super) const LARGE: usize = 64;

/// A fact, and the number of the graph that it is of.
#[derive(Debug)]
pub(super) struct Place<T>(Option<(u64, Arc<T>)>);

impl<T> Default for Place<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Place<T> {
    fn drop_before(&mut self, number: u64) {
        self.0.take_if(|(of, _)| *of < number);
    }
}

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    number: u64,
    cfg: Option<Arc<Cfg>>,
    /// How the graph before became this one.
    change: Option<Change>,
    pub(super) dom: Place<DomTree>,
    pub(super) postdom: Place<PostDomTree>,
    pub(super) cycles: Place<Cycles>,
    pub(super) sync: Place<SyncDependence>,
}

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct GraphSlot(Mutex<Kept>);

impl GraphSlot {
    /// Nothing is done under the lock but moving, so what a panic leaves is whole.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// States what the graph is now; gives it back as it is to be shared.
    pub(super) fn advance(&self, cfg: Cfg) -> Arc<Cfg> {
        let old = self.kept().cfg.clone();
        let change = match &old {
            Some(old) if **old == cfg => return Arc::clone(old),
            Some(old) => Change::between(old, &cfg),
            None => None,
        };
        let cfg = Arc::new(cfg);
        let mut kept = self.kept();
        kept.number += 1;
        kept.change = change;
        kept.cfg = Some(Arc::clone(&cfg));
        let number = kept.number;
        let useful = if change.is_some() { number - 1 } else { number };
        kept.dom.drop_before(useful);
        kept.postdom.drop_before(useful);
        kept.cycles.drop_before(useful);
        kept.sync.drop_before(useful);
        cfg
    }

    /// A fact of a graph: the one that is kept, or the one of the graph before with the difference put in, or a new one.
    pub(super) fn fact<T>(
        &self,
        cfg: &Arc<Cfg>,
        place: fn(&mut Kept) -> &mut Place<T>,
        update: impl FnOnce(Change, &T) -> Option<T>,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let is_of = |kept: &Kept| kept.cfg.as_ref().is_some_and(|own| Arc::ptr_eq(own, cfg));
        let before = {
            let mut kept = self.kept();
            if !is_of(&kept) {
                return Arc::new(make());
            }
            let (number, change) = (kept.number, kept.change);
            match &place(&mut kept).0 {
                Some((of, fact)) if *of == number => return Arc::clone(fact),
                Some((of, fact)) if of + 1 == number => change.zip(Some(Arc::clone(fact))),
                _ => None,
            }
        };
        let fact = before.and_then(|(change, old)| update(change, &old)).unwrap_or_else(make);
        let fact = Arc::new(fact);
        let mut kept = self.kept();
        if is_of(&kept) {
            let number = kept.number;
            place(&mut kept).0 = Some((number, Arc::clone(&fact)));
        }
        fact
    }

    /// Drops what is kept.
    pub(crate) fn clear(&self) {
        *self.kept() = Kept::default();
    }
}

#[cfg(test)]
mod tests {
    use phalanx_graph::Node;

    use super::*;

    fn node(number: usize) -> Node {
        Node::new(number)
    }

    fn diamond() -> Cfg {
        Cfg::new(node(0), [vec![node(1), node(2)], vec![node(3)], vec![node(3)], vec![]])
    }

    /// The dominator tree, and whether it was made anew.
    fn dom(slot: &GraphSlot, cfg: &Arc<Cfg>) -> (Arc<DomTree>, bool) {
        let mut is_new = false;
        let tree = slot.fact(
            cfg,
            |kept| &mut kept.dom,
            |change, old| change.dom_tree(old, cfg),
            || {
                is_new = true;
                DomTree::new(&**cfg)
            },
        );
        assert_eq!(*tree, DomTree::new(&**cfg));
        (tree, is_new)
    }

    #[test]
    fn a_fact_follows_one_change_and_no_more() {
        let slot = GraphSlot::default();
        let first = slot.advance(diamond());
        let (tree, is_new) = dom(&slot, &first);
        assert!(is_new);
        assert!(Arc::ptr_eq(&dom(&slot, &first).0, &tree), "the same again");
        let second = slot.advance(first.after_split(node(1)));
        assert!(!dom(&slot, &second).1, "copied");
        // Nobody asks in between.
        let third = slot.advance(second.after_split(node(2)));
        let fourth = slot.advance(third.after_split(node(0)));
        assert!(dom(&slot, &fourth).1);
        let other = slot.advance(diamond());
        assert!(dom(&slot, &other).1, "another graph altogether");
    }

    #[test]
    fn an_equal_graph_is_the_same_one() {
        let slot = GraphSlot::default();
        let first = slot.advance(diamond());
        assert!(Arc::ptr_eq(&slot.advance(diamond()), &first));
        assert!(dom(&slot, &first).1);
        slot.clear();
        assert!(dom(&slot, &first).1, "a graph that is not kept has nothing kept");
        assert!(dom(&slot, &first).1);
    }
}
