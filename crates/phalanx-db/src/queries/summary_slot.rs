//! The summary of a large function that is edited, from parts that are kept beside the memos.
//!
//! What the parts are, and how each follows edits, is told in
//! [`phalanx_analysis::follow::results`]. Here they are in slots of the function: effects, and that
//! nothing is known of what is done through pointers, as [kept answers](super::answer_slot); a
//! [`ResultFollower`] and a [`ThroughFollower`], which are taken out of their places while they
//! work, as those of divergence are ([`follow`](super::follow)). Nothing is kept the first time.
//!
//! Of a function in recursion each [round](super::rounds) has a slot; what it does through pointers
//! is found once, after the last one, and is in the slot of the function itself.

use std::cell::OnceCell;
use std::sync::Arc;

use phalanx_analysis::{
    Summary,
    follow::{Changes, Found, ResultFollower, Stamp, ThroughFollower, results as analysis},
    lower::{Code, Surroundings},
    readers,
    summary::{AtHand, Besides, Through, Told},
};
use phalanx_core::divergence::ValueTable;

use phalanx_ir::edit::{self, Journal};

use super::called::NO_CALLEES;
use super::calls::is_local;
use super::concerns::{Changed, Concerns};
use super::follow::{read_around, tables_at_hand};
use super::graph::flow_facts;
use super::known_calls::KnownCalls;
use super::summaries::summarize;
use super::summary_rounds::{callees_in_round, summary_round_version};
use super::surroundings::with_code_and;
use super::{graph_facts, postdom_tree};
use crate::FunctionInput;
use crate::retained::{
    place::{Place, Repairs, Updated, fresh, locked},
    slots::SummarySlot,
    tally::Tally,
};

use salsa::Database as Db;

/// How the summary of a function was found so far; all zero for small functions, where it is always
/// found from scratch. Not a query.
pub fn summary_repairs(db: &dyn Db, function: FunctionInput) -> Repairs {
    function.slots(db).counted(|slots| {
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
    read_around(db, function);
    fresh()
}

/// The summary of a large function that is to be followed.
pub(super) struct Asked<'a> {
    db: &'a dyn Db,
    function: FunctionInput,
    /// The round, and what it reads of functions in recursion with this one.
    round: Option<(usize, &'a [(FunctionInput, Summary)])>,
    slot: Kept<'a>,
}

/// Where what is kept is.
enum Kept<'a> {
    OfFunction(&'a SummarySlot),
    OfRound(Arc<SummarySlot>),
}

impl<'a> Asked<'a> {
    /// Of a function that is not in recursion.
    pub(super) fn alone(db: &'a dyn Db, function: FunctionInput) -> Self {
        let slot = Kept::OfFunction(&function.slots(db).large().summary);
        Asked { db, function, round: None, slot }
    }

    /// Of a round of one that is.
    pub(super) fn in_round(
        db: &'a dyn Db,
        function: FunctionInput,
        round: usize,
        slot: Arc<SummarySlot>,
    ) -> Self {
        let round = Some((round, &callees_in_round(db, function, round)[..]));
        Asked { db, function, round, slot: Kept::OfRound(slot) }
    }

    fn slot(&self) -> &SummarySlot {
        match &self.slot {
            Kept::OfFunction(slot) => slot,
            Kept::OfRound(slot) => slot,
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

    fn with_code<R>(&self, run: impl FnOnce(Code<'_>, Surroundings<'_>) -> R) -> Option<R> {
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
pub(super) fn followed_summary(asked: &Asked<'_>) -> Option<Summary> {
    let (db, function, slot) = (asked.db, asked.function, asked.slot());
    let facts = graph_facts(db, function).as_ref()?;
    let (flow, postdom) = (facts.flow(), facts.postdom_tree());
    let journal = function.body(db).journal();
    let position = journal.position();
    let taken = locked(&slot.results).take(position, ResultFollower::seen);
    let count = |found: Found| locked(&slot.counts).count(found);
    let Some(mut follower) = taken else {
        count(Found::Solved);
        // To keep what single instructions tell costs hardly more than to find it.
        let besides = if asked.round.is_none() { besides(asked) } else { None };
        return asked.scratch(AtHand { besides, ..AtHand::default() });
    };
    let besides = besides(asked)?;
    let stamp = Stamp { position, flow: facts.number(), around: asked.version() };
    let changes = OnceCell::new();
    let since = |position| since(journal, &changes, position);
    let through = match asked.round {
        Some(_) => None,
        None => followed_through(asked, stamp),
    };
    let found = asked.with_code(|code, around| {
        if let Some(known) = besides.without_result(code, through.clone()) {
            return Some((known, None));
        }
        let (results, found) = follower.results((code, around), (flow, postdom), stamp, since)?;
        Some((besides.with_results(code, through.clone(), results), Some(found)))
    })?;
    *locked(&slot.results) = Place::Here(follower);
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
    asked.with_code(|code, around| {
        let told = |inst| Told::by(code, around, inst);
        let follow = |tally: &mut Tally<Told>, Changed { own, .. }: Changed<'_>| {
            if own.is_empty() {
                return Updated::Same;
            }
            let Some(again) = readers::of_addresses(code, own) else { return Updated::Scratch };
            tally.look_again(code, &again, told);
            Updated::CHANGED
        };
        let make = || Tally::new(code, told);
        let read = |tally: &Tally<Told>| Besides::of(code, flow.cycles, tally.all());
        let version = asked.version();
        let concerns = Concerns::Itself(analysis::concerns_effects);
        asked.slot().besides.follow((db, function), version, concerns, follow, make, read)
    })
}

/// What a large function in recursion does through pointers, as the last round came to. None if
/// nothing is known, and for a declaration.
pub(super) fn through_after(asked: &Asked<'_>) -> Option<Box<Through>> {
    let (db, function) = (asked.db, asked.function);
    let flow = graph_facts(db, function).as_ref()?.number();
    let position = function.body(db).journal().position();
    let stamp = Stamp { position, flow, around: asked.version() };
    followed_through(asked, stamp)
}

/// What has changed since a position at which one follower was asked; it may ask again.
fn since<'a>(
    journal: &'a Journal,
    known: &'a OnceCell<Option<edit::Changes<'a>>>,
    position: u64,
) -> Option<Changes<'a>> {
    let changes = known.get_or_init(|| journal.since(position)).as_ref()?;
    Some(Changes { insts: &changes.insts, blocks: &changes.blocks, flow: changes.flow })
}

/// What is done through pointers, in the slot of the function itself.
fn followed_through(asked: &Asked<'_>, stamp: Stamp) -> Option<Box<Through>> {
    let (db, function) = (asked.db, asked.function);
    let slot = &function.slots(db).large().summary;
    // Its follower may have been asked at another position than that of results.
    let changes = OnceCell::new();
    let since = |position| since(function.body(db).journal(), &changes, position);
    let mut known = None;
    let mut found = None;
    let mut find = || {
        let graphs = (flow_facts(db, function)?, postdom_tree(db, function)?);
        let taken = locked(&slot.through).take(stamp.position, ThroughFollower::seen);
        let mut follower = match taken {
            Some(follower) => follower,
            // All of the function was found from scratch before.
            None if asked.round.is_none() => ThroughFollower::seen(stamp.position),
            None => {
                found = Some(Found::Solved);
                return asked.scratch(AtHand::default())?.through;
            }
        };
        let (through, way) = asked
            .with_code(|code, around| follower.through((code, around), graphs, stamp, since))?;
        *locked(&slot.through) = Place::Here(follower);
        found = Some(way);
        through
    };
    let is_nothing = || {
        known = find();
        known.is_none()
    };
    let follow = |was_nothing: &mut bool, changed: Changed<'_>| match *was_nothing
        && changed.concerned.is_empty()
    {
        true => Updated::Same,
        false => Updated::Scratch,
    };
    let around = asked.version();
    let concerns = Concerns::Itself(analysis::concerns_pointers);
    slot.nothing.follow((db, function), around, concerns, follow, is_nothing, |_| ());
    let mut counts = locked(&slot.through_counts);
    match found {
        None => counts.kept += 1,
        Some(Found::Repaired { .. } | Found::Rebuilt) => counts.repaired += 1,
        Some(Found::Solved | Found::Kept) => counts.solved += 1,
    }
    known
}
