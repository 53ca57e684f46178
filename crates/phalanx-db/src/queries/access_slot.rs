//! Accesses of memory of a function that is edited, by repair of what is kept beside the memos.
//!
//! As [`kinds_slot`](super::kinds_slot) does for kinds: the first question keeps what it takes to follow edits, and from then on an edit is followed; of
//! many instructions at a time, from scratch is cheaper; and where a good part of the function is rewritten, nothing is kept until the next question. What is kept is
//! taken out of its slot while it is worked with, so that work which is broken off loses it. It counts for a position in the history of the body, for a [layout](super::layout) of its
//! blocks, and for a number that is new whenever anything around the function has changed. Divergence and cycles are compared.
//!
//! An answer that an edit leaves as it is is the very same one: it is compared with the memo by its address, and counts as unchanged.

use std::sync::{Arc, Mutex, MutexGuard};

use phalanx_analysis::{
    edited::Edited,
    follow::{few_to_look_at, many},
    shape::access::{self, AccessFollower, Accesses, Found},
};

use super::follow::locked;
use super::layout::{Layout, Since, block_layout, since};
use super::memory_slot::objects_version;
use crate::FunctionInput;

use salsa::Database as Db;

/// What is kept of a function.
#[derive(Debug)]
struct Kept {
    position: u64,
    layout: Arc<Layout>,
    around: u64,
    follower: AccessFollower,
}

/// How often the accesses of a function were found in which way.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessRepairs {
    /// From scratch.
    pub solved: u64,
    /// An edit changed none.
    pub kept: u64,
    /// Some were looked at again, and at least one is another one, came or went.
    pub repaired: u64,
}

impl AccessRepairs {
    /// Adds those of another function.
    pub fn merge(&mut self, other: AccessRepairs) {
        self.solved += other.solved;
        self.kept += other.kept;
        self.repaired += other.repaired;
    }
}

/// Where the accesses of a function are while nobody asks.
#[derive(Debug, Default)]
pub(super) struct AccessSlot {
    place: Mutex<Option<Box<Kept>>>,
    counts: Mutex<AccessRepairs>,
}

impl AccessSlot {
    fn place(&self) -> MutexGuard<'_, Option<Box<Kept>>> {
        locked(&self.place)
    }

    fn counts(&self) -> MutexGuard<'_, AccessRepairs> {
        locked(&self.counts)
    }

    pub(super) fn clear(&self) {
        *self.place() = None;
    }
}

/// How the accesses of a function were found so far; all zero for small functions, which are always looked at from scratch. Not a query.
pub fn access_repairs(db: &dyn Db, function: FunctionInput) -> AccessRepairs {
    function.slots(db).counted(|slots| *slots.accesses.counts())
}

/// The accesses of a large function as its journal says they have become, from facts as they are.
///
/// *Reads* `body`, [`block_layout`], [`objects_version`]. *Cost* from scratch the first times; then that of what changed.
pub(super) fn followed(
    db: &dyn Db,
    function: FunctionInput,
    facts: access::Facts<'_>,
) -> Arc<Accesses> {
    let slot = &function.slots(db).large().accesses;
    let (layout, around) = (block_layout(db, function), objects_version(db, function));
    let position = function.body(db).journal().position();
    let keep = |follower| {
        *slot.place() =
            Some(Box::new(Kept { position, layout: Arc::clone(layout), around, follower }));
    };
    let kept = slot.place().take();
    let since = kept.as_ref().and_then(|k| since(db, function, (k.position, &k.layout)));
    let edited = since.as_ref().map(Since::edited);
    let size = function.body(db).id_count();
    let is_few = |edited: Edited<'_>| {
        edited.own.len() <= few_to_look_at(size) && edited.insts.len() <= 2 * few_to_look_at(size)
    };
    if let Some(kept) = kept
        && let Some(edited) = edited
        && kept.around == around
        && is_few(edited)
        && let Some((follower, found)) = kept.follower.follow(facts, edited)
    {
        match found {
            Found::Kept => slot.counts().kept += 1,
            Found::Repaired => slot.counts().repaired += 1,
        }
        let answer = Arc::clone(follower.answer());
        keep(follower);
        return answer;
    }
    slot.counts().solved += 1;
    // Who rewrites a function as a whole may do so again.
    if edited.is_some_and(|edited| edited.own.len() > many(size)) {
        return Arc::new(access::accesses(facts));
    }
    let (answer, follower) = AccessFollower::new(facts);
    if let Some(follower) = follower {
        keep(follower);
    }
    answer
}
