//! Queries on which motions of convergent operations are legal.

use phalanx_analysis::{
    joins,
    legality::{
        Legality,
        edges::EdgeDivergence,
        machines::{Machine, Machines, Rounds},
    },
};
use phalanx_target::{Scope, SourceSet, varying};

use super::facts::flow_facts;
use super::{branch_divergence, divergence, launch_facts};
use crate::FunctionInput;

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

/// Answers about motions of operations that communicate within a scope. None for a declaration. Not a query.
///
/// They are about the graph: whether a call between two places comes back in all threads is for who moves something to see
/// ([`same_set`](phalanx_analysis::legality::same_set)).
///
/// *Reads* [`divergence()`], [`edge_divergence`], [`launch_facts`], the graph facts and the flow.
/// *Cost* that of a post-dominator tree, and of a search from each divergent branch that joins in a
/// cycle, so ask once for many motions.
pub fn legality(db: &dyn Db, function: FunctionInput, scope: Scope) -> Option<Legality<'_>> {
    let varying: SourceSet = varying(scope, launch_facts(db, function));
    let flow = flow_facts(db, function)?;
    let divergence = divergence(db, function).as_ref()?;
    let rounds = match flow.cycles.is_empty() {
        true => Rounds::Apart,
        false => {
            let joins = joins::of(function.flow(db), function.body(db))?;
            let within = phalanx_target::varying(Scope::Wave, launch_facts(db, function));
            let is_divergent = |node| divergence.terminator(node).intersects(within);
            Machine { joins: &joins, cycles: flow.cycles, is_divergent: &is_divergent }.rounds()
        }
    };
    let edges = edge_divergence(db, function).as_ref()?;
    Some(Legality { flow, divergence, edges, varying, rounds, machines: Machines::All })
}
