//! Divergence of values, branches and blocks.
//!
//! A small function is solved from its [table](super::affect_map); a large one is
//! [followed](super::update).

use std::sync::Arc;

use phalanx_analysis::{
    lower::{self, Family},
    memory::PrivateMemory,
    update::Sources,
};
use phalanx_core::{
    control,
    divergence::{self as solver, Divergence, LlvmFixes, Rules, SourceSets, ValueTable},
};
use phalanx_graph::Node;

use super::called::NO_CALLEES;
use super::divergence_update::updated_divergence;
use super::facts::{affect_map, llvm_affect_map};
use super::graph::{cfg, dom_tree, graph_facts};
use super::own_environment::with_code;
use crate::FunctionInput;
use crate::queries::{called::callees, graph::flow_facts};

use salsa::Database as Db;

/// Sources of divergence of every value, terminator, use and cycle.
///
/// *Reads* [`affect_map`] and the graph facts. For a large function, which is updated
/// incrementally, it reads `flow`, `body` and [`dependency_stamp`](super::dependency_stamp); the
/// first query reads the same as for a small function. *Changes when* a source reaches something
/// new. *Cost* near-linear; see [`phalanx_core::divergence`].
#[salsa::tracked(returns(ref))]
pub fn divergence(db: &dyn Db, function: FunctionInput) -> Option<Arc<Divergence>> {
    match function.is_large(db) {
        true => updated_divergence(db, function, Sources::Full),
        false => {
            solve(db, function, affect_map(db, function).as_ref()?, Rules::Precise).map(Arc::new)
        }
    }
}

/// As [`divergence()`], from LLVM 22's sources.
///
/// *Reads* [`llvm_affect_map`], of a large function what that is made from, and the graph facts.
/// *Cost* as [`divergence()`].
#[salsa::tracked(returns(ref))]
pub fn uniformity(db: &dyn Db, function: FunctionInput) -> Option<Arc<Divergence>> {
    match function.is_large(db) {
        true => updated_divergence(db, function, Sources::Llvm),
        false => {
            let values = llvm_affect_map(db, function).as_ref()?;
            solve(db, function, values, Rules::Precise).map(Arc::new)
        }
    }
}

/// LLVM 22's own answer, its unsound results included: for comparisons only. Not a query.
pub fn exact_llvm_uniformity(db: &dyn Db, function: FunctionInput) -> Option<Divergence> {
    let table = with_code(db, function, callees(db, function), lower::as_exact_llvm)?;
    solve(db, function, &table, Rules::Llvm(LlvmFixes::NONE))
}

/// [`divergence()`] without a family of rules, in this function alone: for comparisons only. Not a
/// query.
pub fn divergence_without(
    db: &dyn Db,
    function: FunctionInput,
    family: Family,
) -> Option<Divergence> {
    let (cfg, dom) = (cfg(db, function)?, dom_tree(db, function)?);
    let table = with_code(db, function, NO_CALLEES, |code, env| {
        let memory = PrivateMemory::through_calls(code, env, cfg, dom);
        lower::full_without_family(code, env, &memory, family)
    })?;
    solve(db, function, &table, Rules::Precise)
}

fn solve(
    db: &dyn Db,
    function: FunctionInput,
    values: &ValueTable,
    rules: Rules,
) -> Option<Divergence> {
    Some(solver::solve(flow_facts(db, function)?, values, rules))
}

/// Sources of the direction of each block's terminator, by block number.
///
/// *Reads* [`divergence()`]. *Changes when* a branch's sources do. *Cost* O(1): the tables are
/// shared.
#[salsa::tracked(returns(ref))]
pub fn branch_divergence(db: &dyn Db, function: FunctionInput) -> Option<SourceSets> {
    Some(divergence(db, function).as_ref()?.terminators().clone())
}

/// Sources that the execution of each block depends on, by block number.
///
/// *Reads* [`branch_divergence`], `postdom_tree`. *Changes when* a branch's sources or the graph
/// do. *Cost* near-linear per source.
#[salsa::tracked(returns(ref))]
pub fn control_divergence(db: &dyn Db, function: FunctionInput) -> Option<SourceSets> {
    let graph = graph_facts(db, function).as_ref()?;
    let terminators = branch_divergence(db, function).as_ref()?;
    Some(control::control_divergence(graph.cfg(), graph.postdom_tree(), terminators))
}

/// How many branches of a function are divergent for some source.
///
/// A return of something divergent is no branch, nor is what leads to one block only.
///
/// *Reads* [`branch_divergence`], [`cfg()`]. *Changes when* a branch becomes divergent or uniform.
/// *Cost* O(blocks), and the successors of those whose terminators read something divergent.
#[salsa::tracked(returns(copy))]
pub fn divergent_branches(db: &dyn Db, function: FunctionInput) -> usize {
    let known = (cfg(db, function), branch_divergence(db, function).as_ref());
    let (Some(cfg), Some(branches)) = known else { return 0 };
    let of_blocks = branches.iter().enumerate();
    of_blocks.filter(|(at, of)| !of.is_empty() && cfg.is_branch(Node::new(*at))).count()
}
