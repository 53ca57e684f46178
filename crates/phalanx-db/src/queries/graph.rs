//! Queries on the flow of a function.

use phalanx_graph::{
    Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, PostDomTree,
    sync::SyncDependence,
};

use crate::FunctionInput;

use salsa::Database as Db;

/// The control-flow graph, nodes numbered as the blocks are. None for a declaration.
///
/// *Reads* `flow`. *Changes when* blocks or edges do. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref))]
pub fn cfg(db: &dyn Db, function: FunctionInput) -> Option<Cfg> {
    function.flow(db).cfg()
}

/// Depth-first numbering and reverse post-order.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref))]
pub fn dfs(db: &dyn Db, function: FunctionInput) -> Option<Dfs> {
    cfg(db, function).as_ref().map(Dfs::new)
}

/// The dominator tree.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (semi-NCA).
#[salsa::tracked(returns(ref))]
pub fn dom_tree(db: &dyn Db, function: FunctionInput) -> Option<DomTree> {
    cfg(db, function).as_ref().map(DomTree::new)
}

/// The post-dominator tree over a virtual exit.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (semi-NCA).
#[salsa::tracked(returns(ref))]
pub fn postdom_tree(db: &dyn Db, function: FunctionInput) -> Option<PostDomTree> {
    cfg(db, function).as_ref().map(PostDomTree::new)
}

/// Dominance frontiers.
///
/// *Reads* `cfg`, `dom_tree`. *Changes when* the graph does. *Cost* O(blocks + edges); asking it costs the
/// size of the answer.
#[salsa::tracked(returns(ref))]
pub fn dom_frontier(db: &dyn Db, function: FunctionInput) -> Option<DominanceFrontier> {
    let cfg = cfg(db, function).as_ref()?;
    Some(DominanceFrontier::new(cfg, dom_tree(db, function).as_ref()?))
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
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (Havlak with union-find).
#[salsa::tracked(returns(ref))]
pub fn cycles(db: &dyn Db, function: FunctionInput) -> Option<Cycles> {
    cfg(db, function).as_ref().map(Cycles::new)
}

/// Where threads that separate at a branch meet again: a table with a slot per branch.
///
/// *Reads* `cfg`, `dom_tree`, `cycles`. *Changes when* the graph does; a slot is filled when its branch turns out divergent
/// and kept across edits of instructions. *Cost* O(blocks), and near-linear over all slots.
#[salsa::tracked(returns(ref), no_eq)]
pub fn sync_dependence(db: &dyn Db, function: FunctionInput) -> Option<SyncDependence> {
    let cfg = cfg(db, function).as_ref()?;
    let (dom, cycles) = (dom_tree(db, function).as_ref()?, cycles(db, function).as_ref()?);
    Some(SyncDependence::new(cfg, dom, cycles))
}
