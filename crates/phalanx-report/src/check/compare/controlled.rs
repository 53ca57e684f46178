//! Compares which sources control the execution of each operation before and after a transform, and
//! whether threads reach it separately.
//!
//! For operations that no launch has executed in both versions: those are judged by [what
//! happened](super::executed).
//!
//! # Definition
//!
//! An operation among threads is *controlled* by the sources that decide whether its block is
//! executed, as far as they vary among the threads that it is for. Transforms may move, copy and
//! remove such operations, but each converged group of threads has to stay the same. If an
//! operation is controlled by a source that did not control it before, groups may have been split.
//!
//! Operations of the two versions correspond if they call the same function and have the same debug
//! location, inlined calls included. So copies that unrolling or peeling made correspond to the
//! original operation. Code that a transform inlined still has its own function in the earlier
//! version. There the location lacks some of the calls around it, and sources that controlled these
//! calls controlled the operation too. Without debug locations, operations of a function are
//! matched in their order if their number is the same. Otherwise all operations with one name
//! correspond to each other. An operation without counterpart is new and is not compared; neither
//! is one in a function that is never called.
//!
//! | operation | controlled by more | by less |
//! |---|---|---|
//! | barrier | error | nothing |
//! | operation of a wave | warning | note |
//!
//! If no version is controlled by more sources, the [conditions](super::conditions) of each
//! operation are compared. If they are equal, the same threads execute it. If they differ, or
//! cannot be spelled, the operation is reported as not judged.
//!
//! O(instructions), and one divergence of each version.

use phalanx_analysis::check::{Finding, Level, Operation, Rule};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::Node;
use phalanx_ir::InstId;
use phalanx_target::{Scope, SourceSet, varying};
use rustc_hash::FxHashMap;

use super::{conditions::conditions, is_dead, parted::Graph};
use crate::check::{Location, SourceFile};

/// Where an operation is: its own line, then the calls by which it was inlined.
type Frames = Vec<SourceFile>;

struct Entry {
    /// The callee.
    name: String,
    frames: Frames,
    operation: Operation,
    /// What its execution depends on.
    depends: Depends,
}

/// What the execution of an operation depends on, joined over all operations that correspond to it.
#[derive(Clone, Default)]
struct Depends {
    /// The sources that control it.
    controlled: SourceSet,
    /// A branch whose sides reach it separately: see [`super::parted`].
    parted: Option<Node>,
    /// Its conditions: one list for each corresponding operation.
    conditions: Vec<Option<Vec<String>>>,
}

impl Depends {
    fn join(&mut self, other: &Depends) {
        self.controlled |= other.controlled;
        self.parted = self.parted.or(other.parted);
        self.conditions.extend_from_slice(&other.conditions);
    }
}

/// The earlier version.
#[derive(Default)]
pub(super) struct Earlier {
    /// By function, in the order of the text.
    functions: FxHashMap<String, Vec<Entry>>,
    /// What operations depend on, by name and place.
    located: FxHashMap<(String, Frames), Depends>,
    /// What calls depend on, by place.
    calls: FxHashMap<Frames, SourceSet>,
}

impl Earlier {
    /// Reads a version: functions with their names.
    pub(super) fn new(
        db: &Database,
        functions: impl IntoIterator<Item = (String, FunctionInput)>,
    ) -> Self {
        let mut earlier = Earlier::default();
        for (name, function) in functions {
            if is_dead(db, function) {
                continue;
            }
            let entries = entries(db, function);
            for entry in entries.iter().filter(|entry| !entry.frames.is_empty()) {
                let key = (entry.name.clone(), entry.frames.clone());
                earlier.located.entry(key).or_default().join(&entry.depends);
            }
            for (frames, controlled) in calls(db, function) {
                *earlier.calls.entry(frames).or_default() |= controlled;
            }
            earlier.functions.insert(name, entries);
        }
        earlier
    }

    /// The operations of a function, by name, that no launch reached and that are fewer in the
    /// later version.
    fn gone(
        &self,
        function: &str,
        new: &[Entry],
        was_executed: &dyn Fn(InstId) -> bool,
    ) -> Vec<String> {
        let olds = self.functions.get(function).map(Vec::as_slice).unwrap_or_default();
        let count = |all: &[Entry], name: &str| all.iter().filter(|e| e.name == name).count();
        let is_gone = |entry: &&Entry| {
            !was_executed(entry.operation.inst)
                && count(new, &entry.name) < count(olds, &entry.name)
        };
        let mut names: Vec<String> =
            olds.iter().filter(is_gone).map(|entry| entry.name.clone()).collect();
        names.dedup();
        names
    }

    /// What controlled the operations that correspond to an operation; none if there are none.
    fn counterpart(&self, function: &str, new: &[Entry], at: usize) -> Option<Depends> {
        let Entry { name, frames, .. } = &new[at];
        for inner in (1..=frames.len()).rev() {
            let (own, around) = frames.split_at(inner);
            if let Some(depends) = self.located.get(&(name.clone(), own.to_vec())) {
                let mut depends = depends.clone();
                depends.controlled |= self.around(around);
                return Some(depends);
            }
        }
        if !frames.is_empty() {
            return None;
        }
        let same = |entry: &&Entry| entry.name == *name && entry.frames.is_empty();
        let olds: Vec<&Entry> = self.functions.get(function)?.iter().filter(same).collect();
        let position = new[..at].iter().filter(same).count();
        match new.iter().filter(same).count() == olds.len() {
            true => olds.get(position).map(|entry| entry.depends.clone()),
            false if olds.is_empty() => None,
            false => {
                let mut all = Depends::default();
                olds.iter().for_each(|entry| all.join(&entry.depends));
                Some(all)
            }
        }
    }

    /// The sources that controlled calls around an operation, before these calls were inlined.
    fn around(&self, mut frames: &[SourceFile]) -> SourceSet {
        let mut all = SourceSet::EMPTY;
        while !frames.is_empty() {
            let known = |&inner: &usize| self.calls.contains_key(&frames[..inner]);
            let inner = (1..=frames.len()).rev().find(known);
            if let Some(controlled) = inner.and_then(|inner| self.calls.get(&frames[..inner])) {
                all |= *controlled;
            }
            frames = &frames[inner.unwrap_or(1)..];
        }
        all
    }
}

/// The result of a comparison.
#[derive(Default)]
pub(super) struct Compared {
    /// What is to be reported.
    pub(super) findings: Vec<Finding>,
    /// Operations that were compared, barriers among them.
    pub(super) operations: usize,
    pub(super) barriers: usize,
    /// Names of operations that are fewer in the later version and that no launch reached.
    pub(super) gone: Vec<String>,
    /// Operations that could not be judged, their names, and why.
    pub(super) not_judged: Vec<(InstId, String, NotCompared)>,
}

/// Why an operation is not judged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NotCompared {
    /// It has no counterpart in the earlier version.
    New,
    /// No launch reached it, and its conditions are not known to be the same.
    NotReached,
}

impl NotCompared {
    pub(super) fn slug(self) -> &'static str {
        match self {
            NotCompared::New => "new-operation",
            NotCompared::NotReached => "not-reached",
        }
    }

    pub(super) fn message(self, what: &str) -> String {
        match self {
            NotCompared::New => format!(
                "{what}: it has no counterpart in the earlier version, and no launch that was tried reaches it"
            ),
            NotCompared::NotReached => format!(
                "{what}: no launch that was tried reaches it, and its conditions are not known to be those of the earlier version"
            ),
        }
    }
}

/// Operations of a function that are controlled by other sources than the corresponding ones of the
/// earlier version, unless executions have settled the question; and operations that threads reach
/// separately.
#[must_use]
pub(super) fn compare(
    earlier: &Earlier,
    name: &str,
    (db, function): (&Database, FunctionInput),
    is_settled: &dyn Fn(InstId) -> bool,
    was_executed: &dyn Fn(InstId) -> bool,
) -> Compared {
    let mut compared = Compared::default();
    if is_dead(db, function) {
        return compared;
    }
    let launch = queries::launch_facts(db, function);
    let new = entries(db, function);
    compared.gone = earlier.gone(name, &new, was_executed);
    for (at, entry) in new.iter().enumerate() {
        let Operation { inst, scope, is_barrier, .. } = entry.operation;
        compared.operations += 1;
        compared.barriers += usize::from(is_barrier);
        let Some(was) = earlier.counterpart(name, &new, at) else {
            if !is_settled(inst) {
                compared.not_judged.push((inst, entry.name.clone(), NotCompared::New));
            }
            continue;
        };
        let within = varying(scope, launch);
        if let (Some(branch), None) = (entry.depends.parted, was.parted) {
            let sources = queries::divergence(db, function)
                .as_ref()
                .map_or(SourceSet::EMPTY, |divergence| divergence.terminator(branch) & within);
            compared.findings.push(Finding {
                sources,
                branch: Some(branch),
                ..Finding::new(Rule::GroupParted, Level::Warning, inst, scope)
            });
        }
        if is_settled(inst) {
            continue;
        }
        let (is, before) = (entry.depends.controlled & within, was.controlled & within);
        let (more, less) = (is - before, before - is);
        let (rule, level) = match (is_barrier, more.is_empty(), less.is_empty()) {
            (true, false, _) => (Rule::BarrierBecameDivergent, Level::Error),
            (false, false, _) => (Rule::GroupChanged, Level::Warning),
            (false, true, false) => (Rule::GroupChanged, Level::Note),
            // No varying source controls it, so all threads execute it.
            _ if is.is_empty() => continue,
            _ => {
                let own = entry.depends.conditions.first().cloned().flatten();
                let is_same = own.is_some_and(|own| {
                    was.conditions.iter().all(|conditions| conditions.as_ref() == Some(&own))
                });
                if !is_same {
                    let why = NotCompared::NotReached;
                    compared.not_judged.push((inst, entry.name.clone(), why));
                }
                continue;
            }
        };
        compared.findings.push(Finding {
            sources: if more.is_empty() { less } else { more },
            branch: nearest(db, function, entry.operation.block, more),
            ..Finding::new(rule, level, inst, scope)
        });
    }
    compared
}

/// A branch that decides whether an operation is executed, and that varies among the threads that
/// the operation is for.
pub(super) fn deciding(
    db: &Database,
    input: FunctionInput,
    inst: InstId,
) -> Option<(Node, SourceSet)> {
    let entry = entries(db, input).into_iter().find(|entry| entry.operation.inst == inst)?;
    let within = varying(entry.operation.scope, queries::launch_facts(db, input));
    let branch = nearest(db, input, entry.operation.block, within)?;
    let sources = queries::divergence(db, input).as_ref()?.terminator(branch) & within;
    Some((branch, sources))
}

/// A branch that decides whether a block is executed, and that depends on one of these sources.
fn nearest(db: &Database, input: FunctionInput, block: Node, by: SourceSet) -> Option<Node> {
    let control = queries::control_dependence(db, input)?;
    let postdom = queries::postdom_tree(db, input)?;
    let divergence = queries::divergence(db, input).as_ref()?;
    let branches = control.iterated_controllers(postdom, [block]);
    branches.into_iter().find(|&branch| divergence.terminator(branch).intersects(by))
}

/// The operations of a function.
fn entries(db: &Database, input: FunctionInput) -> Vec<Entry> {
    let Some(graph) = Graph::new(db, input) else { return Vec::new() };
    let launch = queries::launch_facts(db, input);
    let found = queries::group_operations(db, input);
    let mut entries: Vec<Entry> = found
        .into_iter()
        .map(|operation| Entry {
            name: operation.name.clone(),
            frames: frames(db, input, operation.inst),
            depends: Depends {
                controlled: graph.controlled(operation.block),
                parted: None,
                conditions: vec![conditions((db, input), &graph, operation.block)],
            },
            operation,
        })
        .collect();
    for scope in [Scope::Wave, Scope::Workgroup] {
        let of_scope =
            |entry: &&mut Entry| (entry.operation.scope == Scope::Wave) == (scope == Scope::Wave);
        let mut affected: Vec<&mut Entry> = entries.iter_mut().filter(of_scope).collect();
        let blocks: Vec<_> = affected.iter().map(|entry| entry.operation.block).collect();
        if blocks.is_empty() {
            continue;
        }
        let parted = graph.parted(&blocks, varying(scope, launch));
        for (entry, parted) in affected.iter_mut().zip(parted) {
            entry.depends.parted = parted;
        }
    }
    entries
}

/// The sources that control the calls of a function, by place.
fn calls(db: &Database, input: FunctionInput) -> Vec<(Frames, SourceSet)> {
    let Some(controlled) = queries::control_divergence(db, input).as_ref() else {
        return Vec::new();
    };
    let view = input.view(db);
    let mut found = Vec::new();
    for &block in view.flow.order() {
        for inst in view.body.block_insts(block) {
            if view.body.inst(inst).opcode.is_call() {
                let frames = frames(db, input, inst);
                let controlled = controlled[phalanx_ir::flow::node_of(block).index()];
                found.extend((!frames.is_empty()).then_some((frames, controlled)));
            }
        }
    }
    found
}

fn frames(db: &Database, input: FunctionInput, inst: InstId) -> Frames {
    let module = input.module(db);
    let known = (&module.shell(db).metadata, &**module.context(db));
    let location = Location::of(input.view(db), known, None, inst);
    // The function name and file checksum of another version make no difference.
    let frames = location.frames().map(|frame| SourceFile {
        file: frame.file.clone(),
        folder: frame.folder.clone(),
        line: frame.line,
        column: frame.column,
        ..SourceFile::default()
    });
    frames.collect()
}
