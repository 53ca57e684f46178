//! Divergence that follows edits of instructions: the answer of [`solve`](super::solve), at the price of what changed.
//!
//! # What
//!
//! [`Retained`] holds tables that can be edited, everything that is known with the order in which it was derived, and
//! the answer. After instructions have changed, the caller states what they are now ([`EditableTable`]) and asks for
//! [`Retained::repair`]. The answer is equal to the one from scratch, always: the analysis has a unique least solution,
//! and what is retained only changes how fast it is found.
//!
//! # How
//!
//! Delete and rederive with ranks, see [`engine`], over the rules of [`precise`](super::precise) in both directions:
//!
//! | module | what |
//! |---|---|
//! | [`table`] | what values are and read, editable |
//! | [`facts`] | what is known, and since when |
//! | [`engine`] | retracting and deriving |
//! | [`agenda`] | what is to be told on, in the order of the program |
//! | [`control`] | consequences of branches and divergent exits: of the graph alone, never retracted |
//! | [`carry`], [`flow`] | the same when the control flow is edited |
//! | [`levels`] | what varies in which cycles |
//! | [`outside`] | uses outside of cycles |
//! | [`regions`] | irreducible regions |
//! | [`rules`] | divergence |
//!
//! **Bounds.** When a quarter of the values has been visited, or about as many supports have been looked at as deriving everything
//! takes, repair gives up and does that from the edited tables. So it is never worse than from scratch by more than a factor.
//!
//! **Edits of the control flow** are followed too ([`Retained::repair_flow`]): the old graph is compared with the new one,
//! and what both have in common keeps its facts.
//!
//! **Irreducible regions** in which threads run apart are rules like all others ([`regions`]). Where threads must be assumed to run apart in a cycle within a
//! region, or edges lead from one block of it to several outside, nothing can be retained ([`Unfit`]): what follows there is not a matter of rules
//! with one antecedent. Whoever asks solves from scratch then.

mod agenda;
mod carry;
mod control;
mod engine;
mod facts;
mod flow;
mod levels;
mod outside;
mod regions;
mod rows;
mod rules;
mod table;

use std::cell::RefCell;
use std::sync::Arc;

use phalanx_graph::sync::{Carry, GraphCopy, SyncView};
use phalanx_graph::{CycleId, Node};
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::control::{Control, ControlGraph};
use self::engine::{Engine, GivenUp};
use self::facts::{Facts, Subject, Subjects};
use self::levels::Levels;
use self::outside::{Outside, Scene};
use self::regions::Members;
use self::rules::DivergenceRules;
use self::table::Edited;
pub use self::table::{EditableTable, Image};
use crate::affect::{User, UserKind, Value};
use crate::divergence::assumed::outermost;
use crate::divergence::naming::choose;
use crate::divergence::selection::Selections;
use crate::divergence::{Divergence, Flow, TemporalUse, ValueTable};
use crate::memory::ssa::Graph;

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Repaired, visiting so many values and other subjects.
    Repaired {
        /// Subjects whose consequences were drawn or withdrawn.
        visited: usize,
    },
    /// Derived again, since repair was too much.
    Rebuilt,
}

/// What is kept of a function between edits.
#[derive(Debug)]
pub struct Retained {
    table: EditableTable,
    /// The control flow that everything is built on, kept to compare with.
    graph: Arc<GraphCopy>,
    state: State,
    answer: Divergence,
}

/// Why nothing can be retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Threads must be assumed to run apart in a part of an irreducible region, or do not leave it by each edge apart. May end when instructions change.
    Irregular,
    /// Cycles are nested too deep, or there is too much to keep. As long as the control flow is the same.
    TooLarge,
    /// The tables have met more kinds of operations than they can hold. New ones may do.
    Full,
}

#[derive(Debug)]
struct State {
    facts: Facts,
    engine: Engine,
    graph: ControlGraph,
    /// None without cycles.
    levels: Option<Levels>,
    outside: Outside,
    selections: FxHashMap<Value, Selections>,
    members: RefCell<Members>,
    room: usize,
    /// How many supports were looked at and consequences drawn when everything was derived.
    built: usize,
}

impl Retained {
    /// Solves and keeps what it takes to follow edits. A few times the price of [`solve`](super::solve).
    ///
    /// # Errors
    /// When the function cannot be followed.
    pub fn new(flow: Flow<'_>, table: ValueTable) -> Result<Self, Unfit> {
        Self::of(flow, EditableTable::new(table))
    }

    /// As [`new`](Self::new), of tables that may have been edited.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn of(flow: Flow<'_>, mut table: EditableTable) -> Result<Self, Unfit> {
        table.grow(0, flow.cfg.node_count());
        table.take_log();
        let mut state = State::new(flow, &table)?;
        let answer = state.whole_answer(flow, &table);
        Ok(Self { table, graph: copy(flow), state, answer })
    }

    /// Whether a function with this answer can be followed, as far as its irreducible regions are concerned. Cheap.
    #[must_use]
    pub fn is_possible(flow: Flow<'_>, answer: &Divergence) -> bool {
        let view = || SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let mut assumed = answer.assumed.iter();
        assumed.all(|(cycle, _)| control::is_plain_region(&view(), flow, *cycle))
    }

    /// Whether a function with this graph can be followed whatever diverges in it, as far as its irreducible regions are concerned. Cheap.
    #[must_use]
    pub fn is_always_possible(flow: Flow<'_>) -> bool {
        let cycles = flow.cycles;
        if cycles.all_reducible() {
            return true;
        }
        let view = SyncView::new(flow.sync, flow.cfg, flow.dom, cycles);
        let mut irreducible = cycles.iter().filter(|cycle| !cycles.is_reducible(*cycle));
        irreducible.all(|cycle| {
            cycles.children(cycle).next().is_none() && control::is_plain_region(&view, flow, cycle)
        })
    }

    /// Whether cycles are nested too deep for a function of so many values to be followed. Cheap.
    #[must_use]
    pub fn is_too_deep(flow: Flow<'_>, values: usize) -> bool {
        !Levels::is_possible(flow.cycles, values)
    }

    /// The answer as of the last repair.
    #[must_use]
    pub fn answer(&self) -> &Divergence {
        &self.answer
    }

    /// The sources of a value as of the last repair, also of one that an answer does not tell of.
    pub(crate) fn sources(&self, value: Value) -> SourceSet {
        SourceSet::from_bits(self.state.facts.values.get(value.raw()))
    }

    /// The graph that it is of, as of the last repair, and the tables, to state what has changed.
    pub(crate) fn parts(&mut self) -> (Graph<'_>, &mut EditableTable) {
        (Graph { cfg: self.graph.cfg(), dom: self.graph.dom_tree() }, &mut self.table)
    }

    /// What everything was derived from.
    pub(crate) fn into_parts(self) -> (Arc<GraphCopy>, EditableTable) {
        (self.graph, self.table)
    }

    /// The tables as they are.
    pub(crate) fn edited_table(&self) -> &EditableTable {
        &self.table
    }

    /// The tables, to state what has changed. The answer is out of date until the next repair.
    pub fn table(&mut self) -> &mut EditableTable {
        &mut self.table
    }

    /// States here what has been edited in the tables of the same code with other sources, since their last repair; see [`EditableTable::restate`].
    ///
    /// # Errors
    /// Where `image` does not tell what becomes of an image. Then this is of no use any more.
    pub(crate) fn restate(
        &mut self,
        of: &Retained,
        image: impl Fn(&Image) -> Option<Image>,
    ) -> Result<(), Unfit> {
        match self.table.restate(&of.table, image) {
            true => Ok(()),
            false => Err(Unfit::Full),
        }
    }

    /// The values that have been edited since the last repair.
    pub(crate) fn edited(&self) -> impl Iterator<Item = Value> {
        self.table.edited()
    }

    /// Whether the result of a definition is a function of its operands alone, as its tables say; see [`ValueTable::is_pure`].
    pub(crate) fn is_pure(&self, value: Value) -> bool {
        self.table.is_pure(value)
    }

    /// Derives everything from the tables and this control flow.
    ///
    /// # Errors
    /// When the function can be followed no longer; then this is of no use any more.
    pub fn rebuild(&mut self, flow: Flow<'_>) -> Result<Outcome, Unfit> {
        if self.table.is_full() {
            return Err(Unfit::Full);
        }
        self.table.grow(0, flow.cfg.node_count());
        self.table.take_log();
        self.state = State::new(flow, &self.table)?;
        self.graph = copy(flow);
        self.answer = self.state.whole_answer(flow, &self.table);
        Ok(Outcome::Rebuilt)
    }

    /// Follows an edit of the control flow, and what has been stated since the last repair. What blocks end with and hold,
    /// and what phis take from where, must have been stated as it is now.
    ///
    /// `touched` are the blocks whose successors may be others, if they are known. Blocks keep their numbers, new ones have
    /// greater numbers, and the entry is the same; otherwise everything is derived again.
    ///
    /// # Errors
    /// As [`rebuild`](Self::rebuild).
    pub fn repair_flow(
        &mut self,
        flow: Flow<'_>,
        touched: Option<&[Node]>,
    ) -> Result<Outcome, Unfit> {
        self.table.grow(0, flow.cfg.node_count());
        let Some(visited) = self.follow_flow(flow, touched) else { return self.rebuild(flow) };
        self.graph = copy(flow);
        Ok(Outcome::Repaired { visited })
    }

    /// How many subjects were visited, or nothing when everything must be derived again.
    fn follow_flow(&mut self, flow: Flow<'_>, touched: Option<&[Node]>) -> Option<usize> {
        let old = self.graph.view();
        let new = SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let carry = Carry::new(&old, &new, touched)?;
        let log = self.table.take_log();
        let both = (&old, &carry);
        self.state.follow_flow(flow, both, &self.table, &log, &mut self.answer).ok()
    }

    /// Follows what has been stated since the last repair. The control flow must be the one that everything was built on.
    ///
    /// # Errors
    /// As [`rebuild`](Self::rebuild).
    pub fn repair(&mut self, flow: Flow<'_>) -> Result<Outcome, Unfit> {
        let log = self.table.take_log();
        match self.state.repair(flow, &self.table, &log, &mut self.answer) {
            Ok(visited) => Ok(Outcome::Repaired { visited }),
            Err(GivenUp) => self.rebuild(flow),
        }
    }
}

fn copy(flow: Flow<'_>) -> Arc<GraphCopy> {
    flow.sync.copy_graph(flow.cfg, flow.dom, flow.cycles)
}

impl State {
    fn new(flow: Flow<'_>, table: &EditableTable) -> Result<Self, Unfit> {
        let cycles = flow.cycles;
        if !Levels::is_possible(cycles, table.len()) {
            return Err(Unfit::TooLarge);
        }
        let levels = (!cycles.is_empty()).then(|| Levels::new(cycles, table));
        let mut state = Self {
            facts: Facts::default(),
            engine: Engine::new(),
            graph: ControlGraph::default(),
            levels,
            outside: Outside::default(),
            selections: FxHashMap::default(),
            members: RefCell::default(),
            room: Self::room(flow),
            built: 0,
        };
        state.engine.grow(&mut state.facts, table.len(), table.block_count());
        if let Some(levels) = &state.levels {
            let view = SyncView::new(flow.sync, flow.cfg, flow.dom, cycles);
            let scene = Scene { view: &view, cycles, table, levels };
            state.outside = Outside::new(&scene);
        }
        let mut engine = std::mem::take(&mut state.engine);
        engine.keep_before(false);
        // Far more than what ordinary functions need.
        engine.bounds = (usize::MAX, 64 * (table.len() + state.room));
        let mut rules = state.rules(flow, table);
        rules.remaining = Some(vec![None; SourceSet::COUNT]);
        for value in (0..table.len() as u32).map(Value::from_raw) {
            let seed = table.seed(value).bits();
            if seed != 0 {
                engine.add(&mut rules, Subject::Value(value.raw()), seed);
            }
        }
        for block in table.seeded_terminators() {
            let seed = table.terminator_seed(block).bits();
            engine.add(&mut rules, Subject::Branch(block.raw()), seed);
        }
        let result = engine.run(&mut rules);
        let built = rules.work;
        (state.engine, state.built) = (engine, built);
        match (state.graph.is_irregular, result) {
            (true, _) => Err(Unfit::Irregular),
            (false, Err(GivenUp)) => Err(Unfit::TooLarge),
            (false, Ok(())) => Ok(state),
        }
    }

    /// How large the graph of consequences may become.
    fn room(flow: Flow<'_>) -> usize {
        4096 + 8 * (flow.cfg.node_count() + flow.cfg.edge_count())
    }

    fn rules<'r, 'f>(
        &'r mut self,
        flow: Flow<'f>,
        table: &'r EditableTable,
    ) -> DivergenceRules<'r, 'f> {
        DivergenceRules {
            flow,
            view: SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles),
            table,
            facts: &mut self.facts,
            graph: &mut self.graph,
            levels: self.levels.as_ref(),
            outside: &self.outside,
            selections: &mut self.selections,
            members: &self.members,
            work: 0,
            room: self.room,
            remaining: None,
        }
    }

    /// The answer from the facts.
    fn whole_answer(&mut self, flow: Flow<'_>, table: &EditableTable) -> Divergence {
        let sets = |bits: &[u16]| -> Vec<SourceSet> {
            bits.iter().map(|b| SourceSet::from_bits(*b)).collect()
        };
        let mut answer = Divergence {
            values: sets(self.facts.values.all()).into(),
            terminators: sets(self.facts.branches.all()).into(),
            ..Divergence::default()
        };
        answer.divergent_exits = exits(&self.graph, &self.facts).into();
        answer.assumed = assumed(&self.graph, &self.facts, flow);
        let mut rules = self.rules(flow, table);
        let mut uses: Vec<(Value, User)> = Vec::new();
        for (number, control) in rules.graph.kinds.clone().into_iter().enumerate() {
            if rules.facts.controls.get(number as u32) != 0 {
                uses.extend(rules.uses_of(control));
            }
        }
        uses.sort_unstable();
        uses.dedup();
        let exits = &answer.divergent_exits;
        let told = |entry: &TemporalUse| entry.is_of(table.reported());
        let apart = uses.iter().filter_map(|of| rules.use_apart(*of));
        answer.unlisted = apart.filter(told).collect::<Vec<_>>().into();
        let temporal = uses.into_iter().filter_map(|of| temporal_use(&mut rules, exits, of));
        answer.temporal = temporal.filter(told).collect::<Vec<_>>().into();
        answer.truncate(table.reported());
        answer.share();
        answer
    }

    fn repair(
        &mut self,
        flow: Flow<'_>,
        table: &EditableTable,
        log: &[Edited],
        answer: &mut Divergence,
    ) -> Result<usize, GivenUp> {
        self.engine.grow(&mut self.facts, table.len(), table.block_count());
        answer.values.grow(table.reported());
        answer.terminators.grow(table.block_count());
        self.follow(flow, table, log, None, answer)
    }

    /// Follows what is listed; where the graph is another one, examines what is known of that as well: these subjects and uses.
    fn follow(
        &mut self,
        flow: Flow<'_>,
        table: &EditableTable,
        log: &[Edited],
        of_graph: Option<(Subjects, Uses)>,
        answer: &mut Divergence,
    ) -> Result<usize, GivenUp> {
        let is_same_graph = of_graph.is_none();
        let (mut changed, uses) = of_graph.unwrap_or_default();
        if table.is_full() || log.len() > table.len() / 8 + 64 {
            return Err(GivenUp);
        }
        let bounds = (table.len() / 4 + 256, (64 * table.len() + 4096).max(self.built));
        for edited in log {
            changed.push(subject(edited.user));
            if let UserKind::Value(value) = edited.user.kind() {
                self.selections.remove(&value);
            }
        }
        let known = (&mut changed, uses);
        let edits = Edits { log, is_same_graph };
        let (uses, mut visited) = self.follow_levels(flow, table, edits, known, bounds)?;
        changed.sort_unstable();
        changed.dedup();
        let mut engine = std::mem::take(&mut self.engine);
        engine.bounds = bounds;
        engine.keep_before(true);
        let mut rules = self.rules(flow, table);
        let result = engine.repair(&mut rules, &changed);
        visited += engine.visited;
        let result = match rules.graph.is_irregular {
            true => Err(GivenUp),
            false => result,
        };
        if result.is_ok() {
            update(&mut rules, engine.before(), uses, answer);
        }
        self.engine = engine;
        result.map(|()| visited)
    }
}

impl State {
    /// Repairs what varies in which cycles. Adds the subjects to `changed` whose uses count otherwise than before; returns the
    /// uses that may.
    fn follow_levels(
        &mut self,
        flow: Flow<'_>,
        table: &EditableTable,
        Edits { log, is_same_graph }: Edits<'_>,
        (changed, mut uses): (&mut Subjects, Uses),
        bounds: (usize, usize),
    ) -> Result<(Uses, usize), GivenUp> {
        let Some(levels) = &mut self.levels else { return Ok((Uses::new(), 0)) };
        let view = SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let mut moved = Vec::new();
        // What is fixed in a region matters to all who read it.
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
        // Nothing that is read within its cycle, or is in none, is read at another time than it is computed, nor was.
        let has_been_inside =
            is_same_graph && self.graph.assumed.is_empty() && !log.iter().any(|of| of.is_moved);
        let is_inside = |value: Value, user: User| {
            let inner = flow.cycles.innermost(table.block(value));
            inner.is_none_or(|inner| flow.cycles.contains(inner, table.block_of(user)))
        };
        for edited in log {
            let old = edited.old.iter().flatten();
            let read = old.chain(table.operands(edited.user)).map(|value| (*value, edited.user));
            uses.extend(read.filter(|of| !has_been_inside || !is_inside(of.0, of.1)));
            if let UserKind::Value(value) = edited.user.kind()
                && edited.is_moved
            {
                moved.push(value);
                table.each_user(value, |user| changed.push(subject(user)));
            }
        }
        let (varied, visited) = levels.repair(flow.cycles, table, changed, bounds)?;
        for value in varied.into_iter().chain(moved).chain(edited) {
            changed.push(Subject::Value(value.raw()));
            table.each_user(value, |user| {
                uses.push((value, user));
                changed.push(subject(user));
            });
        }
        let scene = Scene { view: &view, cycles: flow.cycles, table, levels };
        for &(value, user) in &uses {
            if table.reads(user, value) {
                self.outside.add(&scene, value, user);
            }
        }
        if self.outside.added() > table.len() / 8 + 64 {
            self.outside = Outside::new(&scene);
        }
        Ok((uses, visited))
    }
}

/// What has been edited.
#[derive(Clone, Copy)]
struct Edits<'a> {
    log: &'a [Edited],
    /// Whether that is all.
    is_same_graph: bool,
}

/// A few uses.
type Uses = SmallVec<[(Value, User); 16]>;

fn subject(user: User) -> Subject {
    match user.kind() {
        UserKind::Value(value) => Subject::Value(value.raw()),
        UserKind::Terminator(block) => Subject::Branch(block.raw()),
    }
}

/// Brings an answer up to date with what has changed since `before`, and with these uses.
fn update(
    rules: &mut DivergenceRules<'_, '_>,
    before: &[(Subject, u16)],
    mut uses: Uses,
    answer: &mut Divergence,
) {
    let mut is_assumed_otherwise = false;
    for &(subject, old) in before {
        let bits = rules.facts.get(subject);
        if bits == old {
            continue;
        }
        let sources = SourceSet::from_bits(bits);
        match subject {
            Subject::Value(value) if value as usize >= rules.table.reported() => {}
            Subject::Value(value) => answer.values.set(value as usize, sources),
            Subject::Branch(block) => answer.terminators.set(block as usize, sources),
            Subject::Control(number) => match rules.graph.kinds[number as usize] {
                Control::Left(cycle) => {
                    set_exit(Arc::make_mut(&mut answer.divergent_exits), cycle, sources);
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
        answer.assumed = assumed(rules.graph, rules.facts, rules.flow);
    }
    uses.sort_unstable();
    uses.dedup();
    for of in uses {
        let is_read = rules.table.reads(of.1, of.0);
        let exits = &answer.divergent_exits;
        let entry = if is_read { temporal_use(rules, exits, of) } else { None };
        let entry_or_none = entry.filter(|entry| entry.is_of(rules.table.reported()));
        answer.temporal.set(of, entry_or_none);
        if !rules.graph.assumed.is_empty() {
            let entry =
                rules.use_apart(of).filter(|entry| is_read && entry.is_of(rules.table.reported()));
            answer.unlisted.set(of, entry);
        }
    }
}

/// The regions that are assumed divergent.
fn assumed(graph: &ControlGraph, facts: &Facts, flow: Flow<'_>) -> Vec<(CycleId, SourceSet)> {
    let sources = |number: &u32| SourceSet::from_bits(facts.controls.get(*number));
    let all: Vec<_> =
        graph.assumed.iter().map(|(cycle, number)| (*cycle, sources(number))).collect();
    outermost(&all, flow.cycles)
}

/// The cycles that threads leave at different times.
fn exits(graph: &ControlGraph, facts: &Facts) -> Vec<(CycleId, SourceSet)> {
    let mut left = Vec::new();
    for (number, control) in graph.kinds.iter().enumerate() {
        if let Control::Left(cycle) = control {
            let sources = SourceSet::from_bits(facts.controls.get(number as u32));
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
    exits: &[(CycleId, SourceSet)],
    (value, user): (Value, User),
) -> Option<TemporalUse> {
    let sources = SourceSet::from_bits(rules.temporal(value, user, u32::MAX));
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
