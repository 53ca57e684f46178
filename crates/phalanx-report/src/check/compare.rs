//! Two versions of a function: what a transform did to the threads that meet in an operation.
//!
//! # Definition
//!
//! An operation that communicates is *controlled* by the sources that its block's execution depends on, of those that vary among the threads
//! that it is for. Transforms may move such operations about, copy them and remove them, but each converged group of threads has to
//! stay what it was; where an operation is controlled by a source by which it was not controlled before, groups can have been split.
//!
//! Operations of the two versions belong together if they call the same function and have the same debug location, inlined calls included: so
//! copies that unrolling or peeling made stand for the one they were made from. Without debug locations they are matched in their
//! order where their number is the same, and else all of one function stand for each other. What has no counterpart is new,
//! and held against nothing.
//!
//! | operation | controlled by more | by less |
//! |---|---|---|
//! | barrier | error | nothing |
//! | operation of a wave | warning | note |
//!
//! O(instructions), and one divergence of each version.

use phalanx_analysis::check::{Finding, Level, Operation, Rule};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::InstId;
use phalanx_target::{SourceSet, varying};

use super::{Location, SourceFile};

/// What an operation is known by: who is called, and where the call comes from.
type Key = (String, Vec<SourceFile>);

struct Entry {
    key: Key,
    operation: Operation,
    /// What varies among its threads, of what its execution depends on.
    controlled: SourceSet,
}

/// Operations of `after` that are controlled by something else than those of `before` that they come from.
#[must_use]
pub fn compare(
    before: (&Database, FunctionInput),
    after: (&Database, FunctionInput),
) -> Vec<Finding> {
    let (old, new) = (entries(before.0, before.1), entries(after.0, after.1));
    let mut findings = Vec::new();
    for (at, entry) in new.iter().enumerate() {
        let Some(was) = counterpart(&old, &new, at) else { continue };
        let (more, less) = (entry.controlled - was, was - entry.controlled);
        let is_barrier = entry.operation.is_barrier;
        let (rule, level) = match (is_barrier, more.is_empty(), less.is_empty()) {
            (true, false, _) => (Rule::BarrierBecameDivergent, Level::Error),
            (false, false, _) => (Rule::GroupChanged, Level::Warning),
            (false, true, false) => (Rule::GroupChanged, Level::Note),
            _ => continue,
        };
        findings.push(Finding {
            sources: if more.is_empty() { less } else { more },
            branch: deciding(after.0, after.1, entry, more),
            ..Finding::new(rule, level, entry.operation.inst, entry.operation.scope)
        });
    }
    findings
}

/// What controlled the operations before that an operation comes from; none if there are none.
fn counterpart(old: &[Entry], new: &[Entry], at: usize) -> Option<SourceSet> {
    let key = &new[at].key;
    let same = |entry: &&Entry| entry.key == *key;
    let olds: Vec<&Entry> = old.iter().filter(same).collect();
    if olds.is_empty() {
        return None;
    }
    let is_located = !key.1.is_empty();
    let count = new.iter().filter(same).count();
    if !is_located && count == olds.len() {
        let position = new[..at].iter().filter(same).count();
        return Some(olds[position].controlled);
    }
    Some(olds.iter().map(|entry| entry.controlled).collect())
}

/// A branch by which something comes to decide about an operation.
fn deciding(
    db: &Database,
    input: FunctionInput,
    entry: &Entry,
    more: SourceSet,
) -> Option<phalanx_graph::Node> {
    let control = queries::control_dependence(db, input).as_ref()?;
    let postdom = queries::postdom_tree(db, input).as_deref()?;
    let divergence = queries::divergence(db, input).as_ref()?;
    let branches = control.iterated_controllers(postdom, [entry.operation.block]);
    branches.into_iter().find(|&branch| divergence.terminator(branch).intersects(more))
}

fn entries(db: &Database, input: FunctionInput) -> Vec<Entry> {
    let module = input.module(db);
    let (context, metadata) = (module.context(db), &module.shell(db).metadata);
    let view = input.view(db);
    let Some(controlled) = queries::control_divergence(db, input).as_deref() else {
        return Vec::new();
    };
    let launch = queries::launch_facts(db, input);
    let entry = |operation: Operation| {
        let location = |inst: InstId| {
            let location = Location::of(view, (metadata, &**context), None, inst);
            location.source.into_iter().chain(location.inlined_at).collect()
        };
        Entry {
            key: (operation.name.clone(), location(operation.inst)),
            controlled: controlled[operation.block.index()] & varying(operation.scope, launch),
            operation,
        }
    };
    let found = queries::group_operations(db, input).into_iter();
    found.map(entry).collect()
}
