//! What the execution of an operation depends on, before and after; and whether threads come to it
//! apart.
//!
//! For operations that no launch has executed in both versions: those are judged by [what
//! happened](super::executed).
//!
//! # Definition
//!
//! An operation that communicates is *controlled* by the sources that its block's execution depends
//! on, of those that vary among the threads that it is for. Transforms may move such operations
//! about, copy them and remove them, but each converged group of threads has to stay what it was;
//! where an operation is controlled by a source by which it was not controlled before, groups can
//! have been split.
//!
//! Operations of the two versions belong together if they call the same function and have the same
//! debug location, inlined calls included: so copies that unrolling or peeling made stand for the
//! one they were made from. What was inlined in between has its own function in the earlier
//! version: there the location is that of the operation without some of the calls around it, and
//! what controls these calls controlled it too. Without debug locations operations of one function
//! are matched in their order where their number is the same, and else all of one name stand for
//! each other. What has no counterpart is new, and held against nothing; so is what nobody calls.
//!
//! | operation | controlled by more | by less |
//! |---|---|---|
//! | barrier | error | nothing |
//! | operation of a wave | warning | note |
//!
//! Where neither is more, the versions are compared by the [conditions](super::conditions) that
//! each operation is under. If these are the same, so are the threads that come; if they are not,
//! or cannot be told, the operation is not judged, and that is said.
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
    /// Who is called.
    name: String,
    frames: Frames,
    operation: Operation,
    /// What is asked about it.
    depends: Depends,
}

/// What is asked about an operation, of all those that stand for it.
#[derive(Clone, Default)]
struct Depends {
    /// What its execution depends on.
    controlled: SourceSet,
    /// A branch from which threads come to it apart: see [`super::parted`].
    parted: Option<Node>,
    /// The conditions that it is under, one list for each operation that stands for it.
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

    /// Operations of a function, by name, that no launch reached, and of which the later version
    /// has fewer.
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

    /// What controlled the operations that one in a function comes from; none if there are none.
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

    /// What controlled the calls around an operation that were not yet inlined.
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

/// What came of a comparison.
#[derive(Default)]
pub(super) struct Compared {
    /// What is told.
    pub(super) findings: Vec<Finding>,
    /// Operations that were compared, barriers among them.
    pub(super) operations: usize,
    pub(super) barriers: usize,
    /// Operations of the earlier version that are fewer, and that no launch reached, by name.
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

/// Operations of a function, and its name, that are controlled by something else than those of the
/// earlier version that they come from, where these are not settled otherwise; and those that
/// threads come to apart.
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
            // Who comes differs in nothing.
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

/// A branch that decides about an operation, by something that varies among the threads that it is
/// for.
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

/// A branch that decides about a block by one of these sources.
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
        let mut concerned: Vec<&mut Entry> = entries.iter_mut().filter(of_scope).collect();
        let blocks: Vec<_> = concerned.iter().map(|entry| entry.operation.block).collect();
        if blocks.is_empty() {
            continue;
        }
        let parted = graph.parted(&blocks, varying(scope, launch));
        for (entry, parted) in concerned.iter_mut().zip(parted) {
            entry.depends.parted = parted;
        }
    }
    entries
}

/// What the calls of a function depend on, by place.
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
    // What a function or a file is in another version makes no difference.
    let frames = location.frames().map(|frame| SourceFile {
        file: frame.file.clone(),
        folder: frame.folder.clone(),
        line: frame.line,
        column: frame.column,
        ..SourceFile::default()
    });
    frames.collect()
}
