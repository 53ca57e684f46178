//! What is retained besides the tables, and how the answer follows it.
//!
//! [`State`] holds what is known of divergence, the part of the control flow that rules speak of,
//! and for cycles what varies in them. [`State::repair`] first brings up to date what varies in
//! which cycles, then divergence; the answer is changed only where a fact has become another one.
//! O(facts that change, with what supports them and rests on them), until [`GivenUp`].

use std::cell::RefCell;
use std::sync::Arc;

use crate::SourceSet;
use phalanx_fixpoint::{Fixpoint, Limits, Ranks, Update};
use phalanx_graph::CycleId;
use phalanx_graph::sync::SyncView;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Unfit;
use super::control::{Control, ControlGraph};
use super::levels::Levels;
use super::outside::{Outside, Scene};
use super::regions::Members;
use super::rules::DivergenceRules;
use super::subject::{Known, Solution, Subject, Subjects, subject};
use super::table::EditableTable;
use crate::affect::{User, UserKind, Value};
use crate::divergence::assumed::outermost;
use crate::divergence::naming::choose;
use crate::divergence::selection::Selections;
use crate::divergence::{Divergence, FlowFacts, TemporalUse};

/// It was too much, or cannot be followed: start from scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GivenUp;

/// What is known, and how it was derived.
#[derive(Debug)]
pub(super) struct State {
    pub(super) known: Solution,
    pub(super) graph: ControlGraph,
    /// None without cycles.
    pub(super) levels: Option<Levels>,
    pub(super) outside: Outside,
    pub(super) selections: FxHashMap<Value, Selections>,
    pub(super) members: RefCell<Members>,
    pub(super) room: usize,
    /// The cost of the solution from scratch: examined supports and drawn consequences.
    pub(super) built: usize,
}

impl State {
    pub(super) fn new(flow: FlowFacts<'_>, table: &EditableTable) -> Result<Self, Unfit> {
        let cycles = flow.cycles;
        if !Levels::is_possible(cycles, table.len()) {
            return Err(Unfit::TooLarge);
        }
        let levels = (!cycles.is_empty()).then(|| Levels::new(cycles, table));
        let mut state = Self {
            known: Fixpoint::new(Ranks::Kept),
            graph: ControlGraph::default(),
            levels,
            outside: Outside::default(),
            selections: FxHashMap::default(),
            members: RefCell::default(),
            room: Self::room(flow),
            built: 0,
        };
        state.make_room(table);
        if let Some(levels) = &state.levels {
            let view = SyncView::new(flow.sync, flow.cfg, flow.dom, cycles);
            let scene = Scene { view: &view, cycles, table, levels };
            state.outside = Outside::new(&scene);
        }
        // Far more than what ordinary functions need.
        let limits = Limits { work: 64 * (table.len() + state.room), ..Limits::NONE };
        let (known, mut rules) = state.rules(flow, table);
        rules.remaining = Some(vec![None; SourceSet::COUNT]);
        let values = (0..table.len() as u32).map(Subject::Value);
        let branches = table.seeded_terminators().into_iter();
        let branches = branches.map(|block| Subject::Branch(block.raw()));
        let update = known.solve(&mut rules, values.chain(branches), limits);
        state.built = rules.work;
        match (state.graph.is_irregular, update) {
            (true, _) => Err(Unfit::Irregular),
            (false, Update::TooMuch) => Err(Unfit::TooLarge),
            (false, Update::Same | Update::Changed) => Ok(state),
        }
    }

    /// How large the graph of consequences may become.
    pub(super) fn room(flow: FlowFacts<'_>) -> usize {
        4096 + 8 * (flow.cfg.node_count() + flow.cfg.edge_count())
    }

    /// Makes room for what a table has.
    pub(super) fn make_room(&mut self, table: &EditableTable) {
        self.known.grow(Subject::VALUES, table.len());
        self.known.grow(Subject::BRANCHES, table.block_count());
    }

    /// What is known, and what it follows from.
    pub(super) fn rules<'r, 'f>(
        &'r mut self,
        flow: FlowFacts<'f>,
        table: &'r EditableTable,
    ) -> (&'r mut Solution, DivergenceRules<'r, 'f>) {
        let rules = DivergenceRules {
            flow,
            view: SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles),
            table,
            graph: &mut self.graph,
            levels: self.levels.as_ref(),
            outside: &self.outside,
            selections: &mut self.selections,
            members: &self.members,
            work: 0,
            room: self.room,
            remaining: None,
        };
        (&mut self.known, rules)
    }

    /// The answer from the facts.
    pub(super) fn whole_answer(
        &mut self,
        flow: FlowFacts<'_>,
        table: &EditableTable,
    ) -> Divergence {
        let sets =
            |class| -> Vec<SourceSet> { self.known.all(class).map(SourceSet::from_bits).collect() };
        let mut answer = Divergence {
            values: sets(Subject::VALUES).into(),
            terminators: sets(Subject::BRANCHES).into(),
            ..Divergence::default()
        };
        answer.divergent_exits = exits(&self.graph, &self.known).into();
        answer.assumed = assumed(&self.graph, &self.known, flow);
        let (known, mut rules) = self.rules(flow, table);
        let known = known.seen();
        let mut uses: Vec<(Value, User)> = Vec::new();
        for (number, control) in rules.graph.kinds.clone().into_iter().enumerate() {
            if known.get(Subject::Control(number as u32)) != 0 {
                uses.extend(rules.uses_of(control));
            }
        }
        uses.sort_unstable();
        uses.dedup();
        let exits = &answer.divergent_exits;
        let told = |entry: &TemporalUse| entry.is_of(table.reported());
        let apart = uses.iter().filter_map(|of| rules.use_apart(*of, known));
        answer.unlisted = apart.filter(told).collect::<Vec<_>>().into();
        let temporal = uses.into_iter().filter_map(|of| temporal_use(&mut rules, known, exits, of));
        answer.temporal = temporal.filter(told).collect::<Vec<_>>().into();
        answer.truncate(table.reported());
        answer.share();
        answer
    }

    pub(super) fn repair(
        &mut self,
        flow: FlowFacts<'_>,
        table: &EditableTable,
        answer: &mut Arc<Divergence>,
    ) -> Result<usize, GivenUp> {
        self.make_room(table);
        grow(answer, table);
        let (mut changed, mut uses) = (Subjects::new(), Uses::new());
        self.update(flow, table, (true, &mut changed, &mut uses), answer)
    }

    /// Follows the edits of the table; where the graph is another one, examines what is known of
    /// that as well: these subjects and uses.
    pub(super) fn update(
        &mut self,
        flow: FlowFacts<'_>,
        table: &EditableTable,
        (is_same_graph, changed, uses): (bool, &mut Subjects, &mut Uses),
        answer: &mut Arc<Divergence>,
    ) -> Result<usize, GivenUp> {
        let log = table.edits();
        if table.is_full() || log.len() > table.len() / 8 + 64 {
            return Err(GivenUp);
        }
        let limits = Limits {
            visited: table.len() / 4 + 256,
            work: (64 * table.len() + 4096).max(self.built),
        };
        for edited in log {
            changed.push(subject(edited.user));
            if let UserKind::Value(value) = edited.user.kind() {
                self.selections.remove(&value);
            }
        }
        let known = (is_same_graph, &mut *changed, &mut *uses);
        let mut visited = self.update_levels(flow, table, known, limits)?;
        changed.sort_unstable();
        changed.dedup();
        let (known, mut rules) = self.rules(flow, table);
        let repaired = known.repair(&mut rules, changed, limits);
        visited += known.visited();
        if rules.graph.is_irregular || repaired == Update::TooMuch {
            return Err(GivenUp);
        }
        update(&mut rules, known, uses, answer);
        Ok(visited)
    }
}

impl State {
    /// Repairs what varies in which cycles. Adds the subjects to `changed` whose uses count
    /// otherwise than before, and to `uses` those that may.
    fn update_levels(
        &mut self,
        flow: FlowFacts<'_>,
        table: &EditableTable,
        (is_same_graph, changed, uses): (bool, &mut Subjects, &mut Uses),
        limits: Limits,
    ) -> Result<usize, GivenUp> {
        let log = table.edits();
        let Some(levels) = &mut self.levels else {
            uses.clear();
            return Ok(0);
        };
        let view = SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let mut moved = Vec::new();
        // A value that becomes fixed in a region matters to all its users.
        let in_region = |value: &Value| view.region_around(table.block(*value)).is_some();
        let values = log.iter().filter_map(|edited| match edited.user.kind() {
            UserKind::Value(value) => Some(value),
            UserKind::Terminator(_) => None,
        });
        self.members.get_mut().add(&view, table, log);
        let edited: Vec<Value> = match self.graph.assumed.is_empty() {
            true => Vec::new(),
            false => values.filter(in_region).collect(),
        };
        // Nothing that is read within its cycle, or is in none, is read at another time than it is
        // computed, nor was.
        let has_been_inside =
            is_same_graph && self.graph.assumed.is_empty() && !log.iter().any(|of| of.is_moved);
        let is_inside = |value: Value, user: User| {
            let inner = flow.cycles.innermost(table.block(value));
            inner.is_none_or(|inner| flow.cycles.contains(inner, table.block_of(user)))
        };
        for edited in log {
            let now = table.operands(edited.user);
            let before = edited.old.as_deref().unwrap_or(now);
            // What is read as it was, from where it was, is read when it was; but phis may read it
            // on other edges.
            let is_phi = matches!(edited.user.kind(), UserKind::Value(of) if table.is_phi(of));
            let is_kept = is_same_graph && !edited.is_moved && !is_phi;
            let mut add = |value: Value, others: &[Value]| {
                let is_as_before = is_kept && others.binary_search(&value).is_ok()
                    || has_been_inside && is_inside(value, edited.user);
                if !is_as_before {
                    uses.push((value, edited.user));
                }
            };
            before.iter().for_each(|value| add(*value, now));
            now.iter().for_each(|value| add(*value, before));
            match edited.user.kind() {
                UserKind::Value(value) if edited.is_moved => {
                    moved.push(value);
                    table.each_user(value, |user| changed.push(subject(user)));
                }
                _ => {}
            }
        }
        let (varied, visited) = levels.repair(flow.cycles, table, changed, limits)?;
        for values in [&varied[..], &moved, &edited] {
            for &value in values {
                changed.push(Subject::Value(value.raw()));
                table.each_user(value, |user| {
                    uses.push((value, user));
                    changed.push(subject(user));
                });
            }
        }
        let scene = Scene { view: &view, cycles: flow.cycles, table, levels };
        for &(value, user) in uses.iter() {
            if table.reads(user, value) {
                self.outside.add(&scene, value, user);
            }
        }
        if self.outside.added() > table.len() / 8 + 64 {
            self.outside = Outside::new(&scene);
        }
        Ok(visited)
    }
}

/// A few uses.
pub(super) type Uses = SmallVec<[(Value, User); 16]>;

/// Makes room in an answer for all reported values.
pub(super) fn grow(answer: &mut Arc<Divergence>, table: &EditableTable) {
    let (values, blocks) = (table.reported(), table.block_count());
    if answer.values.len() < values || answer.terminators.len() < blocks {
        let answer = Arc::make_mut(answer);
        answer.values.grow(values);
        answer.terminators.grow(blocks);
    }
}

/// Brings an answer up to date with what has changed in the last repair, and with these uses. Where
/// nothing has, it is the same one.
fn update(
    rules: &mut DivergenceRules<'_, '_>,
    known: &Solution,
    uses: &mut Uses,
    answer: &mut Arc<Divergence>,
) {
    let mut is_assumed_otherwise = false;
    for change in known.changes() {
        let sources = SourceSet::from_bits(known.get(change.subject));
        match change.subject {
            Subject::Value(value) if value as usize >= rules.table.reported() => {}
            Subject::Value(value) => Arc::make_mut(answer).values.set(value as usize, sources),
            Subject::Branch(block) => {
                Arc::make_mut(answer).terminators.set(block as usize, sources);
            }
            Subject::Control(number) => match rules.graph.kinds[number as usize] {
                Control::Left(cycle) => {
                    let exits = &mut Arc::make_mut(answer).divergent_exits;
                    set_exit(Arc::make_mut(exits), cycle, sources);
                    // They may be blamed on another cycle now.
                    uses.extend(rules.uses_leaving(cycle));
                }
                control => {
                    is_assumed_otherwise |= matches!(control, Control::Assumed(_));
                    uses.extend(rules.uses_of(control));
                }
            },
        }
    }
    if is_assumed_otherwise {
        Arc::make_mut(answer).assumed = assumed(rules.graph, known, rules.flow);
    }
    uses.sort_unstable();
    uses.dedup();
    for of in uses.drain(..) {
        let is_read = rules.table.reads(of.1, of.0);
        let exits = &answer.divergent_exits;
        let entry = if is_read { temporal_use(rules, known.seen(), exits, of) } else { None };
        let entry_or_none = entry.filter(|entry| entry.is_of(rules.table.reported()));
        if answer.temporal.of(of.0, of.1) != entry_or_none.as_slice() {
            Arc::make_mut(answer).temporal.set(of, entry_or_none);
        }
        if !rules.graph.assumed.is_empty() {
            let entry = rules
                .use_apart(of, known.seen())
                .filter(|entry| is_read && entry.is_of(rules.table.reported()));
            if answer.unlisted.of(of.0, of.1) != entry.as_slice() {
                Arc::make_mut(answer).unlisted.set(of, entry);
            }
        }
    }
}

/// The regions that are assumed divergent.
pub(super) fn assumed(
    graph: &ControlGraph,
    known: &Solution,
    flow: FlowFacts<'_>,
) -> Vec<(CycleId, SourceSet)> {
    let sources = |number: &u32| SourceSet::from_bits(known.get(Subject::Control(*number)));
    let all: Vec<_> =
        graph.assumed.iter().map(|(cycle, number)| (*cycle, sources(number))).collect();
    outermost(&all, flow.cycles)
}

/// The cycles that threads leave at different times.
pub(super) fn exits(graph: &ControlGraph, known: &Solution) -> Vec<(CycleId, SourceSet)> {
    let mut left = Vec::new();
    for (number, control) in graph.kinds.iter().enumerate() {
        if let Control::Left(cycle) = control {
            let sources = SourceSet::from_bits(known.get(Subject::Control(number as u32)));
            if !sources.is_empty() {
                left.push((*cycle, sources));
            }
        }
    }
    left.sort_unstable_by_key(|entry| entry.0);
    left
}

/// Brings the sources of one cycle up to date in a sorted list.
fn set_exit(list: &mut Vec<(CycleId, SourceSet)>, cycle: CycleId, sources: SourceSet) {
    match list.binary_search_by_key(&cycle, |entry| entry.0) {
        Ok(at) if sources.is_empty() => {
            list.remove(at);
        }
        Ok(at) => list[at].1 = sources,
        Err(at) => list.insert(at, (cycle, sources)),
    }
}

/// The temporal divergence of a use, if it has any.
fn temporal_use(
    rules: &mut DivergenceRules<'_, '_>,
    known: Known<'_>,
    exits: &[(CycleId, SourceSet)],
    (value, user): (Value, User),
) -> Option<TemporalUse> {
    let sources = SourceSet::from_bits(rules.temporal(value, user, known));
    if sources.is_empty() {
        return None;
    }
    let cycles = rules.flow.cycles;
    let inner = cycles.innermost(rules.table.block(value))?;
    let outermost = cycles.outermost_without(inner, rules.table.block_of(user))?;
    let of = |cycle: CycleId| {
        let found = exits.binary_search_by_key(&cycle, |entry| entry.0);
        found.map_or(SourceSet::EMPTY, |at| exits[at].1)
    };
    let mut cycle = outermost;
    if !sources.difference(of(outermost)).is_empty() {
        let within = cycles.ancestors(inner).take_while(|c| cycles.contains_cycle(outermost, *c));
        cycle = choose(within.map(|c| (c, of(c))), sources).unwrap_or(outermost);
    }
    Some(TemporalUse { value, user, cycle, sources })
}
