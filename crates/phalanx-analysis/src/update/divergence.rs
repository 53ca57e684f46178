//! Divergence of a function that is being edited: from scratch, or by repair of retained state.
//!
//! A [`DivergenceUpdater`] is asked after every edit. What it retains depends on what it has been
//! asked:
//!
//! - The first time it solves, and retains only the [tables](super::lowering) that it solved, so a
//!   function that is analysed once costs no more than a solution. (A caller that does not want the
//!   tables either solves the first time without an updater: see [`DivergenceUpdater::seen`].)
//! - When a large function is asked about again after a change, the updater retains a
//!   [`Retained`], which it repairs from then on. To build one costs two or three times what
//!   solving does.
//! - After very few changes (one in 1024 instructions, or 8) it builds one at once: the driver
//!   probably asks after each edit. After more changes, as passes over a whole function make, it
//!   builds one when that happens twice in a row (but not where the tables are those of [another
//!   updater](DivergenceUpdater::seen)).
//! - Until then the tables are brought up to date, if at most an eighth of the function has
//!   changed, and solved again.
//!
//! **Soundness.** The answer is a function of code, environment and control flow alone; retained
//! state only changes how fast it is found. Retained state is used only for exactly the inputs that
//! it was brought up to date with, which a [`Stamp`] identifies. The owner of an updater takes it
//! out of its place while it works and puts it back afterwards. So an update that is interrupted
//! loses the updater instead of leaving it half updated.
//!
//! | what changed | what happens |
//! |---|---|
//! | nothing | the same answer |
//! | instructions | these are lowered again, the answer is repaired |
//! | the [assumptions](crate::assumed_facts::AssumedFacts) | loads with another entry are lowered again, the answer is repaired |
//! | control flow | the same; objects of private memory that have another SSA form are lowered again, touched blocks and their terminators are looked at, and the answer is repaired from the differences of the flow facts |
//! | environment | solved from scratch, with new retained state |
//! | a good part of the function, or the history does not reach back | solved from scratch; state is retained again after the next few changes |

use std::sync::Arc;

use phalanx_core::divergence::{
    Divergence, FlowFacts, Rules, ValueTable,
    repair::{Outcome, Retained, Unfit},
    solve,
};

use super::lowering::{Lowered, Lowering, Restatement, Room, Tables};
use super::subject::{Answers, Changes, Found, Missing, Purpose, Sources, Stamp, Subject};
use super::unknown_through::UnknownThrough;

use crate::memory::{Looks, PrivateMemory, ssa::Graph};
use crate::policy::{LARGE, most_by_single_edits, most_lowered, most_repaired};
use crate::summary::{Passes, Seeded};

/// Divergence, or a part of a summary, of one function, with state that is updated after edits.
#[derive(Debug)]
pub struct DivergenceUpdater {
    sources: Sources,
    purpose: Purpose,
    keeps_tables: bool,
    state: State,
}

/// An answer, and how it was found.
enum Answered {
    /// The answer is in the retained state.
    RetainedTables(Found),
    Solved(Divergence),
    /// There is no answer: nothing can be told (see [`UnknownThrough`]).
    Nothing(Found),
    /// The caller must find it from scratch.
    Not,
}

#[derive(Debug, Default)]
enum State {
    /// Never asked.
    #[default]
    New,
    Seen(Box<Seen>),
    UnknownThrough(Box<UnknownThrough>),
    RetainedTables(Box<RetainedTables>),
}

/// Asked at least once; retains at most tables.
#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    mood: Mood,
    tables: Option<Tables>,
}

/// What is expected of the driver, or of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// No expectation: so far, asked about once.
    Once,
    /// The last query came after many changes; a second one in a row makes the updater retain
    /// state.
    Again,
    /// No state can be retained while the control flow is the same.
    Unfit,
}

#[derive(Debug)]
struct RetainedTables {
    lowering: Lowering,
    retained: Retained,
    passes: Option<Passes>,
}

impl DivergenceUpdater {
    /// An updater that has not been asked. It retains the [tables](super::lowering) of the function
    /// from the first time on, and [gives](Self::table) them to others.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        Self { sources, purpose: Purpose::Divergence, keeps_tables: true, state: State::New }
    }

    /// An updater that will retain solutions, but no tables alone. The divergence of the function
    /// was solved from scratch before, at that position of its history.
    #[must_use]
    pub fn seen(sources: Sources, position: u64) -> Self {
        let stamp = Stamp { position, flow: u64::MAX, env: u64::MAX };
        let state = Self::state_seen(stamp, Mood::Once, None);
        Self { keeps_tables: false, state, ..Self::new(sources) }
    }

    /// The same updater, which retains tables from now on.
    #[must_use]
    pub fn keeping_tables(self) -> Self {
        Self { keeps_tables: true, ..self }
    }

    /// As [`seen`](Self::seen), by our own rules, for a part of a summary.
    pub(crate) fn seen_for(purpose: Purpose, position: u64) -> Self {
        Self { purpose, ..Self::seen(Sources::Full, position) }
    }

    fn state_seen(stamp: Stamp, mood: Mood, tables: Option<Tables>) -> State {
        State::Seen(Box::new(Seen { stamp, mood, tables }))
    }

    /// The tables of the function, if the updater has those of this stamp. By our own rules they
    /// are what [`full_with`](crate::lower::full_with) makes of the function, with other numbers
    /// for the values that stand for memory. O(values + uses).
    #[must_use]
    pub fn table(&self, stamp: Stamp) -> Option<ValueTable> {
        match &self.state {
            _ if !self.keeps_tables => None,
            State::Seen(seen) if seen.stamp == stamp => seen.tables.as_ref()?.copy(),
            State::RetainedTables(kept) if kept.lowering.stamp == stamp => kept.table(),
            _ => None,
        }
    }

    /// The divergence of the function as it is now.
    ///
    /// `since` says what happened to the body since an earlier position, `None` if that is not
    /// known; `scratch` solves from scratch by the precise rules. If a repair changes nothing, the
    /// answer is the same `Arc` as before.
    pub fn answer<'h>(
        &mut self,
        subject: Subject<'_>,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
        scratch: impl FnOnce() -> Divergence,
    ) -> (Arc<Divergence>, Found) {
        let answer = match self.bring_up_to_date(subject, since) {
            Answered::RetainedTables(found) => match &self.state {
                State::RetainedTables(kept) => return (Arc::clone(kept.retained.answer()), found),
                _ => scratch(),
            },
            Answered::Solved(answer) => answer,
            Answered::Nothing(_) | Answered::Not => scratch(),
        };
        (Arc::new(answer), Found::Solved)
    }

    /// The retained state that a summary reads, brought up to date with the function.
    ///
    /// # Errors
    /// If no state can be retained, or if nothing can be told about the function.
    pub(crate) fn answers<'h>(
        &mut self,
        subject: Subject<'_>,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
    ) -> Result<Answers<'_>, Missing> {
        match (self.bring_up_to_date(subject, since), &self.state) {
            (Answered::RetainedTables(found), State::RetainedTables(kept)) => {
                let RetainedTables { retained: own, lowering, passes } = &**kept;
                let Lowering { memory, is_whole_new, seeded, .. } = lowering;
                let passes = passes.as_ref().ok_or(Missing::Unknown)?;
                Ok(Answers { own, passes, memory, is_whole_new: *is_whole_new, seeded, found })
            }
            (Answered::Nothing(found), _) => Err(Missing::Nothing(found)),
            _ => Err(Missing::Unknown),
        }
    }

    /// How often private memory was looked at again since the updater retained state.
    #[must_use]
    pub fn looks(&self) -> Looks {
        match &self.state {
            State::RetainedTables(kept) => kept.lowering.memory.looks(),
            _ => Looks::default(),
        }
    }

    fn bring_up_to_date<'h>(
        &mut self,
        subject: Subject<'_>,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
    ) -> Answered {
        let stamp = subject.stamp;
        let size = subject.code.body.id_count();
        let position = match &self.state {
            State::RetainedTables(kept) => Some(kept.lowering.stamp.position),
            State::Seen(seen) => Some(seen.stamp.position),
            State::UnknownThrough(unknown_through) => Some(unknown_through.position()),
            State::New => None,
        };
        let changes = match position {
            Some(position) if position == stamp.position => Some(Changes::default()),
            Some(position) => since(position),
            None => None,
        };
        let assumed_facts = match &self.state {
            State::RetainedTables(kept) => {
                subject.assumed_facts.difference(&kept.lowering.assumed_facts).len()
            }
            _ => 0,
        };
        // After a rewrite of the whole function solving from scratch is faster, and the next edit
        // may be such a rewrite, too.
        let count = |changes: &Changes<'_>| changes.count(subject.code.body);
        let is_few = |changes: &Changes<'_>| count(changes) + assumed_facts <= most_repaired(size);
        let few_changes = changes.filter(|changes| size >= LARGE && is_few(changes));
        match (std::mem::take(&mut self.state), few_changes) {
            (State::New, _) => self.solve(&subject, Mood::Once, None),
            (State::RetainedTables(kept), None) => {
                self.solve(&subject, Mood::Once, kept.into_tables(changes))
            }
            (State::RetainedTables(kept), Some(changes)) => {
                if kept.lowering.stamp.env == stamp.env {
                    match self.update(kept, &subject, changes) {
                        Ok((kept, found)) => {
                            self.state = State::RetainedTables(kept);
                            return Answered::RetainedTables(found);
                        }
                        Err(Some(mood)) => return self.solve(&subject, mood, None),
                        Err(None) => {}
                    }
                }
                self.keep(&subject, None)
            }
            (State::UnknownThrough(_), None) => self.solve(&subject, Mood::Once, None),
            (State::UnknownThrough(mut unknown_through), Some(changes)) => {
                if !unknown_through.is_still(&subject, changes) {
                    return self.keep(&subject, None);
                }
                self.state = State::UnknownThrough(unknown_through);
                Answered::Nothing(Found::Repaired { visited: 0 })
            }
            (State::Seen(seen), few_changes) => {
                let Seen { stamp: before, mood, tables } = *seen;
                let tables = tables.zip(changes);
                match (mood, few_changes) {
                    (Mood::Once, Some(changes)) if count(&changes) > most_by_single_edits(size) => {
                        self.solve(&subject, Mood::Again, tables)
                    }
                    // Solved from the tables of another updater, which costs less than to retain
                    // state.
                    (Mood::Again, Some(changes))
                        if !self.keeps_tables
                            && self.purpose == Purpose::Divergence
                            && count(&changes) > most_by_single_edits(size) =>
                    {
                        self.solve(&subject, Mood::Again, tables)
                    }
                    (Mood::Once | Mood::Again, Some(_)) if before != stamp => {
                        self.keep(&subject, tables)
                    }
                    (Mood::Unfit, Some(_)) if before.flow != stamp.flow => {
                        self.keep(&subject, tables)
                    }
                    (Mood::Unfit, _) => self.solve(&subject, Mood::Unfit, tables),
                    _ => self.solve(&subject, Mood::Once, tables),
                }
            }
        }
    }

    /// Solves from scratch and retains only tables: the given ones if they can be brought up to
    /// date, otherwise new ones.
    fn solve(
        &mut self,
        subject: &Subject<'_>,
        mood: Mood,
        known: Option<(Tables, Changes<'_>)>,
    ) -> Answered {
        let stamp = subject.stamp;
        if !self.keeps_tables {
            self.state = Self::state_seen(stamp, mood, None);
            return Answered::Not;
        }
        let size = subject.code.body.id_count();
        let body = subject.code.body;
        let known = known.filter(|(_, changes)| changes.count(body) <= most_lowered(size));
        let known = known.and_then(|(tables, changes)| tables.update(subject, changes));
        let tables = known.unwrap_or_else(|| Tables::new(self.sources, subject));
        let answer = solve(subject.flow, &tables.table(), Rules::Precise);
        self.state = Self::state_seen(stamp, mood, Some(tables));
        Answered::Solved(answer)
    }

    /// Brings retained state up to date. An error if that cannot be done, with a [`Mood`] if no
    /// state can be retained now.
    fn update(
        &mut self,
        mut kept: Box<RetainedTables>,
        subject: &Subject<'_>,
        changes: Changes<'_>,
    ) -> Result<(Box<RetainedTables>, Found), Option<Mood>> {
        let RetainedTables { lowering, retained, passes } = &mut *kept;
        let (cfg, dom, table) = retained.parts();
        let graph = Graph { cfg, dom };
        let restatement = lowering.restate(subject, changes, (Some(graph), table)).ok_or(None)?;
        if let Some(passes) = passes
            && !passes.are_of(&self.purpose.inputs(subject.code, &lowering.seeded))
        {
            return Err(None);
        }
        match kept.repair(subject.flow, &restatement) {
            Ok(Outcome::Repaired { visited }) => Ok((kept, Found::Repaired { visited })),
            Ok(Outcome::Rebuilt) => Ok((kept, Found::Rebuilt)),
            Err(unfit) => Err(Some(Self::mood_for(unfit))),
        }
    }

    fn mood_for(reason: Unfit) -> Mood {
        match reason {
            // The next edit may remove the reason, and the solution from scratch does not depend on
            // it.
            Unfit::Irregular | Unfit::Full => Mood::Once,
            Unfit::TooLarge => Mood::Unfit,
        }
    }

    /// Solves from scratch and retains what it can.
    fn keep(&mut self, subject: &Subject<'_>, known: Option<(Tables, Changes<'_>)>) -> Answered {
        let Subject { code, env, flow, stamp, .. } = *subject;
        if Retained::is_too_deep(flow, code.header.params.len() + code.body.id_count()) {
            return self.solve(subject, Mood::Unfit, known);
        }
        if let Some(tables) = known.and_then(|(tables, changes)| tables.update(subject, changes)) {
            return self.keep_tables(subject, tables);
        }
        let mut memory = PrivateMemory::default();
        if self.sources == Sources::Full {
            memory = self.purpose.memory(subject);
            if self.purpose == Purpose::Through && !Seeded::is_known_by(&memory) {
                let memory = self.purpose.updated(memory, subject);
                self.state = State::UnknownThrough(Box::new(UnknownThrough::new(subject, memory)));
                return Answered::Nothing(Found::Solved);
            }
        }
        let lowered = Lowered::new(self.sources, memory, subject, Room::Much);
        if let Some(answer) = Self::impossible(flow, &lowered.table) {
            self.state = Self::state_seen(stamp, Mood::Once, None);
            return Answered::Solved(answer);
        }
        let (table, mut lowering) = lowered.split(self.purpose, subject);
        if self.purpose == Purpose::Through {
            lowering.seeded.update(code, true, &lowering.memory, &lowering.rows);
        }
        let inputs = self.purpose.inputs(code, &lowering.seeded);
        let has_passes = self.purpose != Purpose::Divergence;
        let passes = has_passes.then(|| Passes::new(env, flow, &table, inputs)).transpose();
        let retained = passes.and_then(|passes| Ok((Retained::new(flow, table)?, passes)));
        self.put(subject, lowering, retained)
    }

    /// Solves these tables and retains what it can.
    fn keep_tables(&mut self, subject: &Subject<'_>, tables: Tables) -> Answered {
        let flow = subject.flow;
        if let Some(answer) = Self::impossible(flow, &tables.table()) {
            self.state = Self::state_seen(subject.stamp, Mood::Once, Some(tables));
            return Answered::Solved(answer);
        }
        let (table, lowering) = tables.edited(subject);
        let retained = Retained::of(flow, table).map(|retained| (retained, None));
        self.put(subject, lowering, retained)
    }

    /// The answer, if it shows that no state can be retained.
    fn impossible(flow: FlowFacts<'_>, table: &ValueTable) -> Option<Divergence> {
        if Retained::is_always_possible(flow) {
            return None;
        }
        let answer = solve(flow, table, Rules::Precise);
        (!Retained::is_possible(flow, &answer)).then_some(answer)
    }

    fn put(
        &mut self,
        subject: &Subject<'_>,
        lowering: Lowering,
        retained: Result<(Retained, Option<Passes>), Unfit>,
    ) -> Answered {
        match retained {
            Ok((retained, passes)) => {
                self.state =
                    State::RetainedTables(Box::new(RetainedTables { lowering, retained, passes }));
                Answered::RetainedTables(Found::Kept)
            }
            Err(unfit) => self.solve(subject, Self::mood_for(unfit), None),
        }
    }
}

impl RetainedTables {
    /// Repairs the solutions after the tables have been restated.
    fn repair(&mut self, flow: FlowFacts<'_>, stated: &Restatement) -> Result<Outcome, Unfit> {
        let touched = stated.is_other_flow.then_some(stated.touched.as_deref());
        // The repair clears the list of edits, so the passes read it before.
        if let Some(passes) = &mut self.passes {
            passes.restate(&self.retained)?;
        }
        let outcome = match touched {
            None => self.retained.repair(flow)?,
            Some(touched) => self.retained.repair_flow(flow, touched)?,
        };
        match &mut self.passes {
            None => Ok(outcome),
            Some(passes) => passes.repair(flow, touched, outcome),
        }
    }

    /// The tables alone, if they were made without assumptions.
    fn table(&self) -> Option<ValueTable> {
        self.lowering.assumed_facts.is_nothing().then(|| self.retained.edited_table().to_table())
    }

    /// The tables alone, to be brought up to date; none if the changes are not known.
    fn into_tables(self, changes: Option<Changes<'_>>) -> Option<(Tables, Changes<'_>)> {
        let (graph, table) = self.retained.into_parts();
        let graph = Graph { cfg: graph.cfg(), dom: graph.dom_tree() };
        Some((Tables::of(self.lowering, table, graph), changes?))
    }
}
