//! Queries on the flow of a function.

use std::sync::Arc;

use phalanx_graph::{
    Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, PostDomTree, change::Change,
    sync::SyncDependence,
};

use super::graph_slot::{GraphSlot, Kept, LARGE, Place};
use crate::FunctionInput;

use salsa::Database as Db;

/// Where facts of the last graph are kept; only large functions have that.
fn slot<'d>(db: &'d dyn Db, function: FunctionInput, cfg: &Cfg) -> Option<&'d GraphSlot> {
    (cfg.node_count() >= LARGE).then(|| &function.slots(db).graph)
}

/// A fact of the graph: kept, or made from the last one, or made anew.
fn fact<T>(
    db: &dyn Db,
    function: FunctionInput,
    cfg: &Arc<Cfg>,
    place: fn(&mut Kept) -> &mut Place<T>,
    update: impl FnOnce(Change, &T) -> Option<T>,
    make: impl FnOnce() -> T,
) -> Arc<T> {
    match slot(db, function, cfg) {
        Some(slot) => slot.fact(cfg, place, update, make),
        None => Arc::new(make()),
    }
}

/// The control-flow graph, nodes numbered as the blocks are. None for a declaration.
///
/// *Reads* `flow`. *Changes when* blocks or edges do. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref))]
pub fn cfg(db: &dyn Db, function: FunctionInput) -> Option<Arc<Cfg>> {
    let cfg = function.flow(db).cfg()?;
    Some(match slot(db, function, &cfg) {
        Some(slot) => slot.advance(cfg),
        None => Arc::new(cfg),
    })
}

/// Depth-first numbering and reverse post-order.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref))]
pub fn dfs(db: &dyn Db, function: FunctionInput) -> Option<Dfs> {
    Some(Dfs::new(&**cfg(db, function).as_ref()?))
}

/// The dominator tree.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (semi-NCA); after the split of a block or an edge, or the
/// merge of two blocks of a large function, that of a copy. So with the next three.
#[salsa::tracked(returns(ref))]
pub fn dom_tree(db: &dyn Db, function: FunctionInput) -> Option<Arc<DomTree>> {
    let cfg = cfg(db, function).as_ref()?;
    let update = |change: Change, old: &_| change.dom_tree(old, cfg);
    Some(fact(db, function, cfg, |kept| &mut kept.dom, update, || DomTree::new(&**cfg)))
}

/// The post-dominator tree over a virtual exit.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* as [`dom_tree`].
#[salsa::tracked(returns(ref))]
pub fn postdom_tree(db: &dyn Db, function: FunctionInput) -> Option<Arc<PostDomTree>> {
    let cfg = cfg(db, function).as_ref()?;
    let update = |change: Change, old: &_| change.postdom_tree(old, cfg);
    Some(fact(db, function, cfg, |kept| &mut kept.postdom, update, || PostDomTree::new(cfg)))
}

/// Dominance frontiers.
///
/// *Reads* `cfg`, `dom_tree`. *Changes when* the graph does. *Cost* O(blocks + edges); asking it costs the
/// size of the answer.
#[salsa::tracked(returns(ref))]
pub fn dom_frontier(db: &dyn Db, function: FunctionInput) -> Option<DominanceFrontier> {
    let cfg = cfg(db, function).as_ref()?;
    Some(DominanceFrontier::new(&**cfg, dom_tree(db, function).as_ref()?))
}

/// Control dependence of blocks on edges.
///
/// *Reads* `cfg`, `dom_tree`, `postdom_tree`. *Changes when* the graph does. *Cost* O(blocks + edges); asking it costs the size
/// of the answer.
#[salsa::tracked(returns(ref))]
pub fn control_dependence(db: &dyn Db, function: FunctionInput) -> Option<ControlDependence> {
    let cfg = cfg(db, function).as_ref()?;
    let (dom, postdom) = (dom_tree(db, function).as_ref()?, postdom_tree(db, function).as_ref()?);
    Some(ControlDependence::new(cfg, dom, postdom))
}

/// The cycle hierarchy.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (Havlak with union-find), or as [`dom_tree`].
#[salsa::tracked(returns(ref))]
pub fn cycles(db: &dyn Db, function: FunctionInput) -> Option<Arc<Cycles>> {
    let cfg = cfg(db, function).as_ref()?;
    let update = |change: Change, old: &_| change.cycles(old, cfg);
    Some(fact(db, function, cfg, |kept| &mut kept.cycles, update, || Cycles::new(&**cfg)))
}

/// Where threads that separate at a branch meet again: a table with a slot per branch.
///
/// *Reads* `cfg`, `dom_tree`, `cycles`. *Changes when* the graph does; a slot is filled when its branch turns out divergent
/// and kept across edits of instructions. *Cost* O(blocks), and near-linear over all slots; or as [`dom_tree`].
#[salsa::tracked(returns(ref), no_eq)]
pub fn sync_dependence(db: &dyn Db, function: FunctionInput) -> Option<Arc<SyncDependence>> {
    let cfg = cfg(db, function).as_ref()?;
    let (dom, cycles) = (dom_tree(db, function).as_ref()?, cycles(db, function).as_ref()?);
    let update = |change: Change, old: &_| change.sync_dependence(old, (cfg, dom, cycles));
    Some(fact(
        db,
        function,
        cfg,
        |kept| &mut kept.sync,
        update,
        || SyncDependence::new(cfg, dom, cycles),
    ))
}
