//! The summary of a large function that is edited, from parts that are kept beside the memos.
//!
//! What the parts are, and how each follows edits, is told in
//! [`phalanx_analysis::update::results`]. Here they are in slots of the function: effects, and that
//! nothing is known of what is done through pointers, as [kept answers](super::answer_state); a
//! [`ResultUpdater`] and a [`ThroughUpdater`], which are taken out of their places while they
//! work, as those of divergence are ([`update`](super::update)). Nothing is kept the first time.
//!
//! Of a function in recursion each [round](super::rounds) has a slot; what it does through pointers
//! is found once, after the last one, and is in the slot of the function itself.

use std::cell::OnceCell;
use std::sync::Arc;

use phalanx_analysis::{
    Summary,
    lower::{Code, Environment},
    readers,
    summary::{AtHand, Besides, InstEffects, Through},
    update::{Changes, Found, ResultUpdater, Stamp, ThroughUpdater, results as analysis},
};
use phalanx_core::divergence::ValueTable;

use phalanx_ir::edit::{self, Journal};

use super::called::NO_CALLEES;
use super::calls::is_local;
use super::depends_on::{Changed, DependsOn};
use super::divergence_update::{read_environment, tables_at_hand};
use super::graph::flow_facts;
use super::known_calls::KnownCalls;
use super::own_environment::with_code_and;
use super::summaries::summarize;
use super::summary_rounds::{callees_in_round, summary_round_version};
use super::{graph_facts, postdom_tree};
use crate::FunctionInput;
use crate::retained::{
    counted_multiset::CountedMultiset,
    place::{Repairs, Updated, UpdaterPlace, fresh, locked},
    state::RetainedSummary,
};

use salsa::Database as Db;

/// How the summary of a function was found so far; all zero for small functions, where it is always
/// found from scratch. Not a query.
pub fn summary_repairs(db: &dyn Db, function: FunctionInput) -> Repairs {
    function.retained(db).counted(|slots| {
        let mut repairs = *locked(&slots.summary.counts);
        slots.summary_rounds.all().iter().for_each(|slot| repairs.merge(*locked(&slot.counts)));
        repairs
    })
}

/// Identity of what a summary is found from besides flow and body.
///
/// *Reads* `header`, `module_facts`, `launch` or [`launch_facts`](super::launch_facts), summaries
/// of the callees. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub(crate) fn summary_version(db: &dyn Db, function: FunctionInput) -> u64 {
    read_environment(db, function);
    fresh()
}

/// The summary of a large function that is to be followed.
pub(super) struct Asked<'a> {
    db: &'a dyn Db,
    function: FunctionInput,
    /// The round, and what it reads of functions in recursion with this one.
    round: Option<(usize, &'a [(FunctionInput, Summary)])>,
    slot: SummaryPlace<'a>,
}

/// Where what is kept is.
enum SummaryPlace<'a> {
    OfFunction(&'a RetainedSummary),
    OfRound(Arc<RetainedSummary>),
}

impl<'a> Asked<'a> {
    /// Of a function that is not in recursion.
    pub(super) fn alone(db: &'a dyn Db, function: FunctionInput) -> Self {
        let slot = SummaryPlace::OfFunction(&function.retained(db).large().summary);
        Asked { db, function, round: None, slot }
    }

    /// Of a round of one that is.
    pub(super) fn in_round(
        db: &'a dyn Db,
        function: FunctionInput,
        round: usize,
        slot: Arc<RetainedSummary>,
    ) -> Self {
        let round = Some((round, &callees_in_round(db, function, round)[..]));
        Asked { db, function, round, slot: SummaryPlace::OfRound(slot) }
    }

    fn slot(&self) -> &RetainedSummary {
        match &self.slot {
            SummaryPlace::OfFunction(slot) => slot,
            SummaryPlace::OfRound(slot) => slot,
        }
    }

    fn version(&self) -> u64 {
        match self.round {
            Some((round, _)) => summary_round_version(self.db, self.function, round),
            None => summary_version(self.db, self.function),
        }
    }

    fn found(&self) -> &'a [(FunctionInput, Summary)] {
        self.round.map_or(&[], |(_, found)| found)
    }

    fn with_code<R>(&self, run: impl FnOnce(Code<'_>, Environment<'_>) -> R) -> Option<R> {
        let calls = KnownCalls::new(self.db, self.function).with(self.found());
        with_code_and(self.db, self.function, NO_CALLEES, &calls, run)
    }

    /// From scratch, but for what is at hand: by [`divergence()`](super::divergence()), if that was
    /// asked for, what it was found from.
    fn scratch(&self, known: AtHand<'_>) -> Option<Summary> {
        let table = || tables_at_hand(self.db, self.function);
        // In a round other summaries are known of those it calls; and what callers pass follows
        // from this summary.
        let is_of_now = self.round.is_none() && !is_local(self.db, self.function);
        let table = is_of_now.then_some(&table as &dyn Fn() -> Option<ValueTable>);
        summarize(self.db, self.function, self.found(), AtHand { table, ..known })
    }
}

/// The summary of a large function, as its journal says it has become; in a round without what is
/// done through pointers. None for a declaration.
///
/// *Reads* `body`, `flow`, [`summary_version`] or [`summary_round_version`], graph facts. *Cost*
/// from scratch the first times; then that of what changed.
pub(super) fn updated_summary(asked: &Asked<'_>) -> Option<Summary> {
    let (db, function, slot) = (asked.db, asked.function, asked.slot());
    let facts = graph_facts(db, function).as_ref()?;
    let (flow, postdom) = (facts.flow(), facts.postdom_tree());
    let journal = function.body(db).journal();
    let position = journal.position();
    let taken = locked(&slot.results).take(position, ResultUpdater::seen);
    let count = |found: Found| locked(&slot.counts).count(found);
    let Some(mut updater) = taken else {
        count(Found::Solved);
        // To keep what single instructions tell costs hardly more than to find it.
        let besides = if asked.round.is_none() { besides(asked) } else { None };
        return asked.scratch(AtHand { besides, ..AtHand::default() });
    };
    let besides = besides(asked)?;
    let stamp = Stamp { position, flow: facts.number(), env: asked.version() };
    let changes = OnceCell::new();
    let since = |position| since(journal, &changes, position);
    let through = match asked.round {
        Some(_) => None,
        None => updated_through(asked, stamp),
    };
    let found = asked.with_code(|code, env| {
        if let Some(known) = besides.without_result(code, through.clone()) {
            return Some((known, None));
        }
        let (results, found) = updater.results((code, env), (flow, postdom), stamp, since)?;
        Some((besides.with_results(code, through.clone(), results), Some(found)))
    })?;
    *locked(&slot.results) = UpdaterPlace::Idle(updater);
    match found {
        Some((summary, found)) => {
            found.map(count);
            Some(summary)
        }
        None => {
            count(Found::Solved);
            let through = asked.round.is_none().then_some(through);
            asked.scratch(AtHand { besides: Some(besides), through, ..AtHand::default() })
        }
    }
}

fn besides(asked: &Asked<'_>) -> Option<Besides> {
    let (db, function) = (asked.db, asked.function);
    let flow = flow_facts(db, function)?;
    asked.with_code(|code, env| {
        let told = |inst| InstEffects::by(code, env, inst);
        let update = |counted_multiset: &mut CountedMultiset<InstEffects>,
                      Changed { own, .. }: Changed<'_>| {
            if own.is_empty() {
                return Updated::Same;
            }
            let Some(again) = readers::of_addresses(code, own) else { return Updated::Scratch };
            counted_multiset.look_again(code, &again, told);
            Updated::CHANGED
        };
        let make = || CountedMultiset::new(code, told);
        let read = |counted_multiset: &CountedMultiset<InstEffects>| {
            Besides::of(code, flow.cycles, counted_multiset.all())
        };
        let version = asked.version();
        let depends_on = DependsOn::Instruction(analysis::effects_depend_on);
        asked.slot().besides.update((db, function), version, depends_on, update, make, read)
    })
}

/// What a large function in recursion does through pointers, as the last round came to. None if
/// nothing is known, and for a declaration.
pub(super) fn through_after(asked: &Asked<'_>) -> Option<Box<Through>> {
    let (db, function) = (asked.db, asked.function);
    let flow = graph_facts(db, function).as_ref()?.number();
    let position = function.body(db).journal().position();
    let stamp = Stamp { position, flow, env: asked.version() };
    updated_through(asked, stamp)
}

/// What has changed since a position at which one updater was asked; it may ask again.
fn since<'a>(
    journal: &'a Journal,
    known: &'a OnceCell<Option<edit::Changes<'a>>>,
    position: u64,
) -> Option<Changes<'a>> {
    let changes = known.get_or_init(|| journal.since(position)).as_ref()?;
    Some(Changes { insts: &changes.insts, blocks: &changes.blocks, flow: changes.flow })
}

/// What is done through pointers, in the slot of the function itself.
fn updated_through(asked: &Asked<'_>, stamp: Stamp) -> Option<Box<Through>> {
    let (db, function) = (asked.db, asked.function);
    let slot = &function.retained(db).large().summary;
    // Its updater may have been asked at another position than that of results.
    let changes = OnceCell::new();
    let since = |position| since(function.body(db).journal(), &changes, position);
    let mut known = None;
    let mut found = None;
    let mut find = || {
        let graphs = (flow_facts(db, function)?, postdom_tree(db, function)?);
        let taken = locked(&slot.through).take(stamp.position, ThroughUpdater::seen);
        let mut updater = match taken {
            Some(updater) => updater,
            // All of the function was found from scratch before.
            None if asked.round.is_none() => ThroughUpdater::seen(stamp.position),
            None => {
                found = Some(Found::Solved);
                return asked.scratch(AtHand::default())?.through;
            }
        };
        let (through, way) =
            asked.with_code(|code, env| updater.through((code, env), graphs, stamp, since))?;
        *locked(&slot.through) = UpdaterPlace::Idle(updater);
        found = Some(way);
        through
    };
    let is_nothing = || {
        known = find();
        known.is_none()
    };
    let update = |was_nothing: &mut bool, changed: Changed<'_>| match *was_nothing
        && changed.affected.is_empty()
    {
        true => Updated::Same,
        false => Updated::Scratch,
    };
    let env = asked.version();
    let depends_on = DependsOn::Instruction(analysis::pointers_depend_on);
    slot.nothing.update((db, function), env, depends_on, update, is_nothing, |_| ());
    let mut counts = locked(&slot.through_counts);
    match found {
        None => counts.kept += 1,
        Some(Found::Repaired { .. } | Found::Rebuilt) => counts.repaired += 1,
        Some(Found::Solved | Found::Kept) => counts.solved += 1,
    }
    known
}
