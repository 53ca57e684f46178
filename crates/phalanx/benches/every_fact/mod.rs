//! Every fact that a driver can ask of a function.

use std::hint::black_box;

use phalanx::{
    analysis::stable::Assumptions,
    db::{Database, FunctionInput, queries},
};

/// A query with its name.
pub(crate) type Fact = (&'static str, fn(&Database, FunctionInput));

/// Each query about a function. Intermediate queries are not listed: those that read them ask them.
/// If a query depends on another listed query, that one comes first, so that each is timed by
/// itself.
pub(crate) const FACTS: [Fact; 28] = [
    // The graph.
    ("cfg", |db, f| _ = black_box(queries::cfg(db, f))),
    ("dfs", |db, f| _ = black_box(queries::dfs(db, f))),
    ("dom_tree", |db, f| _ = black_box(queries::dom_tree(db, f))),
    ("postdom_tree", |db, f| _ = black_box(queries::postdom_tree(db, f))),
    ("dom_frontier", |db, f| _ = black_box(queries::dom_frontier(db, f))),
    ("control_dependence", |db, f| _ = black_box(queries::control_dependence(db, f))),
    ("cycles", |db, f| _ = black_box(queries::cycles(db, f))),
    ("sync_dependence", |db, f| _ = black_box(queries::sync_dependence(db, f))),
    // Divergence.
    ("private_memory", |db, f| _ = black_box(queries::private_memory(db, f))),
    ("divergence", |db, f| _ = black_box(queries::divergence(db, f))),
    ("uniformity", |db, f| _ = black_box(queries::uniformity(db, f))),
    ("control_divergence", |db, f| _ = black_box(queries::control_divergence(db, f))),
    ("edge_divergence", |db, f| _ = black_box(queries::edge_divergence(db, f))),
    // Memory.
    ("argument_facts", |db, f| _ = black_box(queries::argument_facts(db, f))),
    ("memory_kinds", |db, f| _ = black_box(queries::memory_kinds(db, f))),
    ("pointer_flow", |db, f| _ = black_box(queries::pointer_flow(db, f))),
    ("memory_ssa", |db, f| _ = black_box(queries::memory_ssa(db, f))),
    ("classic_memory_ssa", |db, f| _ = black_box(queries::classic_memory_ssa(db, f))),
    ("data_flow", |db, f| _ = black_box(queries::data_flow(db, f))),
    ("load_classes", |db, f| _ = black_box(queries::load_classes(db, f))),
    ("ldu_candidates", |db, f| _ = black_box(queries::ldu_candidates(db, f))),
    ("written_spaces", |db, f| _ = black_box(queries::written_spaces(db, f))),
    ("memory_accesses", |db, f| _ = black_box(queries::memory_accesses(db, f))),
    // Facts under assumptions, and facts for callers.
    ("assumed_divergence", |db, f| {
        _ = black_box(queries::assumed_divergence(db, f, Assumptions::NONE));
    }),
    ("summary", |db, f| _ = black_box(queries::summary(db, f))),
    // Findings, and legal motions.
    ("convergence", |db, f| _ = black_box(queries::convergence(db, f))),
    ("space_conflicts", |db, f| _ = black_box(queries::space_conflicts(db, f))),
    ("diagnostics", |db, f| _ = black_box(queries::diagnostics(db, f))),
];
