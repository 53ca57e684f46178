//! All that a driver can ask of a function.

use std::hint::black_box;

use phalanx::{
    analysis::stable::Assumptions,
    db::{Database, FunctionInput, queries},
};

/// Asks each query that says something of a function: what others are made from, and only they read, is asked by them.
pub(crate) fn every_fact(db: &Database, f: FunctionInput) {
    // The graph.
    black_box(queries::cfg(db, f));
    black_box(queries::dfs(db, f));
    black_box(queries::dom_tree(db, f));
    black_box(queries::postdom_tree(db, f));
    black_box(queries::dom_frontier(db, f));
    black_box(queries::control_dependence(db, f));
    black_box(queries::cycles(db, f));
    black_box(queries::sync_dependence(db, f));
    // Divergence.
    black_box(queries::divergence(db, f));
    black_box(queries::uniformity(db, f));
    black_box(queries::control_divergence(db, f));
    black_box(queries::edge_divergence(db, f));
    black_box(queries::assumed_divergence(db, f, Assumptions::NONE));
    black_box(queries::memory_accesses(db, f));
    black_box(queries::argument_facts(db, f));
    black_box(queries::summary(db, f));
    // Memory.
    black_box(queries::private_memory(db, f));
    black_box(queries::memory_kinds(db, f));
    black_box(queries::memory_ssa(db, f));
    black_box(queries::classic_memory_ssa(db, f));
    black_box(queries::data_flow(db, f));
    black_box(queries::pointer_flow(db, f));
    black_box(queries::written_spaces(db, f));
    black_box(queries::load_classes(db, f));
    black_box(queries::ldu_candidates(db, f));
    // What is wrong, and what may be moved.
    black_box(queries::convergence(db, f));
    black_box(queries::space_conflicts(db, f));
    black_box(queries::diagnostics(db, f));
}
