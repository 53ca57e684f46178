//! The summary of a large function that is edited, from parts that are kept beside the memos.
//!
//! What the parts are, and how each follows edits, is told in [`phalanx_analysis::summary::follow`]. Here they are in slots of the function: effects, and
//! that nothing is known of what is done through pointers, as [kept answers](super::answer_slot); a [`ResultFollower`] and a
//! [`ThroughFollower`], which are taken out of their places while they work, as those of divergence are ([`follow`](super::follow)). Nothing is
//! kept the first time.
//!
//! Functions in recursion are solved together, from scratch.

use std::cell::OnceCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use phalanx_analysis::{
    Summary,
    follow::{Changes, Found, Stamp},
    readers,
    summary::{
        Besides, Through, Told,
        follow::{self as analysis, ResultFollower},
        through::follow::ThroughFollower,
    },
};

use super::answer_slot::{AnswerSlot, Answers, Changed, Followed, blocks_version};
use super::facts::flow_facts;
use super::follow::{Place, Repairs, flow_together, fresh, read_around};
use super::postdom_tree;
use super::summaries::summarize;
use super::surroundings::{NO_CALLEES, with_code};
use super::tally::Tally;
use crate::FunctionInput;

use salsa::Database as Db;

/// What is kept of the summary of one function.
#[derive(Debug, Default)]
pub(super) struct SummarySlot {
    results: Mutex<Place<ResultFollower>>,
    besides: AnswerSlot<Tally<Told>>,
    /// Whether nothing is known of what is done through pointers.
    nothing: AnswerSlot<bool>,
    through: Mutex<Option<ThroughFollower>>,
    through_counts: Mutex<Answers>,
    counts: Mutex<Repairs>,
}

/// Nothing is done under a lock but moving and counting.
fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SummarySlot {
    pub(super) fn clear(&self) {
        *locked(&self.results) = Place::default();
        self.besides.clear();
        self.nothing.clear();
        *locked(&self.through) = None;
    }

    /// How often effects were found in which way.
    pub(super) fn effects(&self) -> Answers {
        self.besides.counts()
    }

    /// How often what is done through pointers was found in which way.
    pub(super) fn through(&self) -> Answers {
        *locked(&self.through_counts)
    }
}

/// How the summary of a function was found so far; all zero for small functions, where it is always found from scratch. Not a query.
pub fn summary_repairs(db: &dyn Db, function: FunctionInput) -> Repairs {
    *locked(&function.slots(db).summary.counts)
}

/// Identity of what a summary is found from besides flow and body.
///
/// *Reads* `header`, [`target`](super::target), [`launch_facts`](super::launch_facts), [`type_layout`](super::type_layout), summaries of the callees.
/// *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub fn summary_version(db: &dyn Db, function: FunctionInput) -> u64 {
    read_around(db, function);
    fresh()
}

/// Identity of what parts of a summary are found from that do not follow edits of the control flow, besides the body.
///
/// *Reads* [`summary_version`], [`blocks_version`], [`flow_together`], [`postdom_tree`]. *Changes when* one of them does. *Cost* O(1).
#[salsa::tracked(returns(copy))]
pub fn parts_version(db: &dyn Db, function: FunctionInput) -> u64 {
    let _ = (summary_version(db, function), blocks_version(db, function));
    let _ = (flow_together(db, function), postdom_tree(db, function));
    fresh()
}

/// The summary of a large function that is not in recursion, as its journal says it has become. None for a declaration.
///
/// *Reads* `body`, `flow`, [`summary_version`], [`parts_version`], graph facts. *Cost* from scratch the first times; then that of what changed.
pub(super) fn followed_summary(db: &dyn Db, function: FunctionInput) -> Option<Summary> {
    let facts = flow_together(db, function).as_ref()?;
    let (flow, postdom) = (facts.get(), postdom_tree(db, function).as_deref()?);
    let journal = function.body(db).journal();
    let position = journal.position();
    let slot = &function.slots(db).summary;
    let taken = locked(&slot.results).take(position, ResultFollower::seen);
    let count = |found: Found| locked(&slot.counts).count(found);
    let Some(mut follower) = taken else {
        count(Found::Solved);
        return summarize(db, function, &[]);
    };
    let besides = besides(db, function, slot)?;
    let stamp = Stamp { position, flow: facts.number(), around: summary_version(db, function) };
    let changes = OnceCell::new();
    let since = |position| {
        let changes = changes.get_or_init(|| journal.since(position)).as_ref()?;
        Some(Changes { insts: &changes.insts, blocks: &changes.blocks, flow: changes.flow })
    };
    let through = through(db, function, stamp, since);
    let found = with_code(db, function, NO_CALLEES, |code, around| {
        if let Some(known) = besides.without_result(code, through.clone()) {
            return Some((known, None));
        }
        let (results, found) = follower.results((code, around), (flow, postdom), stamp, since)?;
        Some((besides.with_results(code, through, results), Some(found)))
    })?;
    *locked(&slot.results) = Place::Here(follower);
    match found {
        Some((summary, found)) => {
            found.map(count);
            Some(summary)
        }
        None => {
            count(Found::Solved);
            summarize(db, function, &[])
        }
    }
}

fn besides(db: &dyn Db, function: FunctionInput, slot: &SummarySlot) -> Option<Besides> {
    let flow = flow_facts(db, function)?;
    with_code(db, function, NO_CALLEES, |code, around| {
        let told = |inst| Told::by(code, around, inst);
        let follow = |tally: &mut Tally<Told>, Changed { concerned, .. }: Changed<'_>| {
            if concerned.is_empty() {
                return Followed::Kept;
            }
            let Some(again) = readers::of_addresses(code, concerned) else { return Followed::Lost };
            tally.look_again(code, &again, told);
            Followed::Repaired
        };
        let make = || Tally::new(code, told);
        let read = |tally: &Tally<Told>| Besides::of(code, flow.cycles, tally.all());
        let version = parts_version(db, function);
        let concerns = &analysis::concerns_effects;
        slot.besides.follow((db, function), version, concerns, follow, make, read)
    })
}

/// What is done through pointers.
fn through<'h>(
    db: &dyn Db,
    function: FunctionInput,
    stamp: Stamp,
    since: impl Fn(u64) -> Option<Changes<'h>>,
) -> Option<Box<Through>> {
    let slot = &function.slots(db).summary;
    let mut known = None;
    let mut found = None;
    let mut find = || {
        let graphs = (flow_facts(db, function)?, postdom_tree(db, function).as_deref()?);
        let taken = locked(&slot.through).take();
        let mut follower = taken.unwrap_or_else(|| ThroughFollower::seen(stamp.position));
        let (through, way) = with_code(db, function, NO_CALLEES, |code, around| {
            follower.through((code, around), graphs, stamp, &since)
        })?;
        *locked(&slot.through) = Some(follower);
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
        true => Followed::Kept,
        false => Followed::Lost,
    };
    let around = parts_version(db, function);
    let concerns = &analysis::concerns_pointers;
    slot.nothing.follow((db, function), around, concerns, follow, is_nothing, |_| ());
    let mut counts = locked(&slot.through_counts);
    match found {
        None => counts.kept += 1,
        Some(Found::Repaired { .. } | Found::Rebuilt) => counts.repaired += 1,
        Some(Found::Solved | Found::Kept) => counts.made += 1,
    }
    known
}
