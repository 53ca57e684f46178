//! Queries on the flow of a function.
//!
//! Only [`graph_facts()`] is a salsa query. The others read facts from its result, so a query that
//! calls one of them depends on the graph.

use std::sync::Arc;

use phalanx_graph::{
    Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, PostDomTree,
    sync::SyncDependence,
};

use crate::FunctionInput;
use crate::retained::graph::GraphFacts;

use salsa::Database as Db;

/// The control-flow graph with the facts that follow from it, which are made when they are asked
/// for. None for a declaration.
///
/// *Reads* `flow`. *Changes when* blocks or edges do. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref))]
pub fn graph_facts(db: &dyn Db, function: FunctionInput) -> Option<Arc<GraphFacts>> {
    Some(function.retained(db).graph.advance(function.flow(db).cfg()?))
}

/// The control-flow graph, nodes numbered as the blocks are. None for a declaration.
///
/// *Reads* [`graph_facts()`]; so do all others here. *Changes when* blocks or edges do. *Cost*
/// O(1).
pub fn cfg(db: &dyn Db, function: FunctionInput) -> Option<&Cfg> {
    Some(graph_facts(db, function).as_ref()?.cfg())
}

/// Depth-first numbering and reverse post-order.
///
/// *Changes when* the graph does. *Cost* O(blocks + edges).
pub fn dfs(db: &dyn Db, function: FunctionInput) -> Option<&Dfs> {
    Some(graph_facts(db, function).as_ref()?.dfs())
}

/// The dominator tree.
///
/// *Changes when* the graph does. *Cost* near-linear (semi-NCA); of a large function, after the
/// split of a block or an edge, the merge of two blocks or the end of a small branch, that of a
/// copy. So with the post-dominator tree, the cycles and sync dependence.
pub fn dom_tree(db: &dyn Db, function: FunctionInput) -> Option<&DomTree> {
    Some(graph_facts(db, function).as_ref()?.dom_tree())
}

/// The post-dominator tree over a virtual exit.
///
/// *Changes when* the graph does. *Cost* as [`dom_tree`].
pub fn postdom_tree(db: &dyn Db, function: FunctionInput) -> Option<&PostDomTree> {
    Some(graph_facts(db, function).as_ref()?.postdom_tree())
}

/// Dominance frontiers.
///
/// *Changes when* the graph does. *Cost* that of [`dom_tree`] and O(blocks + edges); asking it
/// costs the size of the answer.
pub fn dom_frontier(db: &dyn Db, function: FunctionInput) -> Option<&DominanceFrontier> {
    Some(graph_facts(db, function).as_ref()?.dom_frontier())
}

/// Control dependence of blocks on edges.
///
/// *Changes when* the graph does. *Cost* that of [`dom_tree`] and [`postdom_tree`], and O(blocks +
/// edges); asking it costs the size of the answer.
pub fn control_dependence(db: &dyn Db, function: FunctionInput) -> Option<&ControlDependence> {
    Some(graph_facts(db, function).as_ref()?.control_dependence())
}

/// The cycle hierarchy.
///
/// *Changes when* the graph does. *Cost* near-linear (Havlak with union-find), or as [`dom_tree`].
pub fn cycles(db: &dyn Db, function: FunctionInput) -> Option<&Cycles> {
    Some(graph_facts(db, function).as_ref()?.cycles())
}

/// Where threads that separate at a branch meet again: a table with a slot per branch.
///
/// *Changes when* the graph does; a slot is filled when its branch turns out divergent and kept
/// across edits of instructions. *Cost* that of [`dom_tree`] and [`cycles`]; O(blocks), and
/// near-linear over all slots; or as [`dom_tree`].
pub fn sync_dependence(db: &dyn Db, function: FunctionInput) -> Option<&SyncDependence> {
    Some(graph_facts(db, function).as_ref()?.sync_dependence())
}

/// What the solver needs to know of the control flow.
pub(super) fn flow_facts(
    db: &dyn Db,
    function: FunctionInput,
) -> Option<phalanx_core::divergence::FlowFacts<'_>> {
    Some(graph_facts(db, function).as_ref()?.flow())
}
