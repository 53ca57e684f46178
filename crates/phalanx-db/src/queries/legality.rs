//! Queries on which motions of convergent operations are legal.

use phalanx_analysis::joins;
use phalanx_core::legality::{
    Legality,
    edges::EdgeDivergence,
    machines::{Machine, Machines, Rounds},
};
use phalanx_graph::Reconvergence;
use phalanx_target::{Scope, SourceSet, varying};
use rustc_hash::FxHashSet;

use super::graph::flow_facts;
use super::{
    argument_facts, branch_divergence, call_place, convergence, divergence, launch_facts, symbols,
};
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

/// Answers about motions of operations that communicate within a scope. None for a declaration. Not
/// a query.
///
/// They are facts about the graph. Whether a call between two places returns in all threads is for
/// the pass that moves an operation to check ([`same_set`](phalanx_core::legality::same_set)).
///
/// *Reads* [`divergence()`], [`edge_divergence`], [`launch_facts`], the graph facts and the flow;
/// what [`rounds_around`] reads. *Cost* that of the latter, so ask once for many motions.
pub fn legality(db: &dyn Db, function: FunctionInput, scope: Scope) -> Option<Legality<'_>> {
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

/// Whether facts of uniformity of a function hold on machines that reconverge at post-dominators:
/// see [`machines`](phalanx_core::legality::machines). Not a query.
///
/// *Reads* [`own_rounds`] and [`call_place`] of the function, of callers whose facts are used and
/// of what these call, and [`convergence`] of callees. *Cost* O(functions that are looked at).
pub fn rounds_around(db: &dyn Db, function: FunctionInput) -> Rounds {
    let own = own_rounds(db, function);
    if own != Rounds::Apart {
        return own;
    }
    let mut seen = FxHashSet::default();
    let mut work = vec![function];
    // Callers, as long as what they pass is used.
    let mut above = Vec::new();
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        above.push(at);
        if argument_facts(db, at).is_some() {
            work.extend(call_place(db, at).callers.iter().copied());
        }
    }
    if above.iter().any(|&caller| own_rounds(db, caller) != Rounds::Apart) {
        return Rounds::Elsewhere;
    }
    // What all of these call.
    let symbols = symbols(db, function.module(db));
    let callees = |of: FunctionInput| {
        of.mentions(db).callees().iter().filter_map(|name| symbols.get(name)).copied()
    };
    let mut work: Vec<FunctionInput> = above.into_iter().flat_map(callees).collect();
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        let has_operation =
            || convergence(db, at).as_ref().is_some_and(|found| !found.operations().is_empty());
        if own_rounds(db, at) != Rounds::Apart && has_operation() {
            return Rounds::Elsewhere;
        }
        work.extend(callees(at));
    }
    Rounds::Apart
}

/// Whether facts of uniformity of a function hold on these machines. Not a query.
pub fn facts_hold(db: &dyn Db, function: FunctionInput, on: Machines) -> bool {
    !on.include(Reconvergence::PostDominator) || rounds_around(db, function) == Rounds::Apart
}
