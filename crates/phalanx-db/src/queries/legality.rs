//! Queries on which motions of convergent operations are legal.

use phalanx_analysis::joins;
use phalanx_core::legality::{
    Legality,
    edges::EdgeDivergence,
    machines::{Machine, Machines, Rounds},
};
use phalanx_target::{Scope, SourceSet, varying};

use super::graph::flow_facts;
use super::{branch_divergence, divergence, launch_facts, rounds_around};
use crate::{Database, FunctionInput};

use salsa::Database as Db;

/// Sources by which threads that are together in a block may have come by different edges.
///
/// *Reads* [`branch_divergence`] and the graph facts. *Changes when* a branch's sources or the
/// graph do. *Cost* that of one [`divergence()`].
#[salsa::tracked(returns(ref))]
pub fn edge_divergence(db: &dyn Db, function: FunctionInput) -> Option<EdgeDivergence> {
    let branches = branch_divergence(db, function).as_ref()?;
    Some(EdgeDivergence::new(flow_facts(db, function)?, branches))
}

/// Answers about motions of operations that communicate within a scope. None for a declaration. Not
/// a query.
///
/// They are facts about the graph. Whether a call between two places returns in all threads is for
/// the pass that moves an operation to check ([`same_set`](phalanx_core::legality::same_set)).
///
/// *Reads* [`divergence()`], [`edge_divergence`], [`launch_facts`], the graph facts and the flow;
/// what [`rounds_around`] reads. *Cost* that of the latter, so ask once for many motions.
pub fn legality(db: &Database, function: FunctionInput, scope: Scope) -> Option<Legality<'_>> {
    let varying: SourceSet = varying(scope, launch_facts(db, function));
    let flow = flow_facts(db, function)?;
    let divergence = divergence(db, function).as_ref()?;
    let rounds = rounds_around(db, function);
    let edges = edge_divergence(db, function).as_ref()?;
    Some(Legality { flow, divergence, edges, varying, rounds, machines: Machines::All })
}

/// Whether branches of a function alone mix rounds on machines that reconverge at post-dominators.
///
/// *Reads* [`divergence()`], [`launch_facts`], the graph facts, flow and body. *Changes when* a
/// branch comes to mix rounds, or no longer does. *Cost* that of a post-dominator tree, and of a
/// search from each divergent branch that joins in a cycle; nothing without cycles.
#[salsa::tracked(returns(copy))]
pub fn own_rounds(db: &dyn Db, function: FunctionInput) -> Rounds {
    let (Some(flow), Some(divergence)) =
        (flow_facts(db, function), divergence(db, function).as_ref())
    else {
        return Rounds::Apart;
    };
    if flow.cycles.is_empty() {
        return Rounds::Apart;
    }
    let Some(joins) = joins::of(function.flow(db), function.body(db)) else {
        return Rounds::Apart;
    };
    let within = varying(Scope::Wave, launch_facts(db, function));
    let is_divergent = |node| divergence.terminator(node).intersects(within);
    Machine { joins: &joins, cycles: flow.cycles, is_divergent: &is_divergent }.rounds()
}
