//! Queries on the flow of a function.

use phalanx_graph::{Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, PostDomTree};

use crate::FunctionInput;

type Db<'db> = &'db dyn salsa::Database;

/// The control-flow graph, nodes numbered as the blocks are. None for a declaration.
///
/// *Reads* `flow`. *Changes when* blocks or edges do. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref))]
pub fn cfg(db: Db<'_>, function: FunctionInput) -> Option<Cfg> {
    function.flow(db).cfg()
}

/// Depth-first numbering and reverse post-order.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref))]
pub fn dfs(db: Db<'_>, function: FunctionInput) -> Option<Dfs> {
    cfg(db, function).as_ref().map(Dfs::new)
}

/// The dominator tree.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (semi-NCA).
#[salsa::tracked(returns(ref))]
pub fn dom_tree(db: Db<'_>, function: FunctionInput) -> Option<DomTree> {
    cfg(db, function).as_ref().map(DomTree::new)
}

/// The post-dominator tree over a virtual exit.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (semi-NCA).
#[salsa::tracked(returns(ref))]
pub fn postdom_tree(db: Db<'_>, function: FunctionInput) -> Option<PostDomTree> {
    cfg(db, function).as_ref().map(PostDomTree::new)
}

/// Dominance frontiers.
///
/// *Reads* `cfg`, `dom_tree`. *Changes when* the graph does. *Cost* O(blocks + edges + size of the frontiers).
#[salsa::tracked(returns(ref))]
pub fn dom_frontier(db: Db<'_>, function: FunctionInput) -> Option<DominanceFrontier> {
    let cfg = cfg(db, function).as_ref()?;
    Some(DominanceFrontier::new(cfg, dom_tree(db, function).as_ref()?))
}

/// Control dependence of blocks on edges.
///
/// *Reads* `cfg`, `postdom_tree`. *Changes when* the graph does. *Cost* O(blocks + edges + size of the result).
#[salsa::tracked(returns(ref))]
pub fn control_dependence(db: Db<'_>, function: FunctionInput) -> Option<ControlDependence> {
    let cfg = cfg(db, function).as_ref()?;
    Some(ControlDependence::new(cfg, postdom_tree(db, function).as_ref()?))
}

/// The cycle hierarchy.
///
/// *Reads* `cfg`. *Changes when* the graph does. *Cost* near-linear (Havlak with union-find).
#[salsa::tracked(returns(ref))]
pub fn cycles(db: Db<'_>, function: FunctionInput) -> Option<Cycles> {
    cfg(db, function).as_ref().map(Cycles::new)
}
