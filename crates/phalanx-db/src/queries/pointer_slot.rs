//! Where pointers of a function that is edited come from, by what is kept beside the memos.
//!
//! How they are followed is told in [`phalanx_analysis::loads::pointers`]. A follower is taken out of its place while it is worked with, so that work
//! which is broken off loses it. It counts for a position in the history of the body, for a [layout](super::layout) of its blocks, and for a number that is new
//! whenever anything around the function has changed.
//!
//! **Complexity.** That of the follower.

use std::sync::{Arc, Mutex};

use phalanx_analysis::{
    loads::{
        PointerFlow,
        pointers::follow::{Found, PointerFollower},
    },
    memory::PrivateMemory,
};

use super::follow::locked;
use super::layout::{Layout, block_layout, since};
use super::memory_slot::{Fact, Ways, is_few};
use super::surroundings::{NO_CALLEES, with_code};
use crate::FunctionInput;

use salsa::Database as Db;

/// What is kept of a function.
#[derive(Debug)]
struct Kept {
    position: u64,
    layout: Arc<Layout>,
    around: u64,
    follower: PointerFollower,
}

/// Where the pointers of a function are while nobody asks.
#[derive(Debug, Default)]
pub(super) struct PointerSlot {
    place: Mutex<Option<Box<Kept>>>,
    ways: Mutex<Ways>,
}

impl PointerSlot {
    pub(super) fn clear(&self) {
        *locked(&self.place) = None;
    }

    /// How often the answer was found in which way.
    pub(super) fn ways(&self) -> Ways {
        *locked(&self.ways)
    }

    fn count(&self, found: Found) {
        let mut ways = locked(&self.ways);
        match found {
            Found::Made => ways.solved += 1,
            Found::Kept => ways.kept += 1,
            Found::Repaired => ways.repaired += 1,
        }
    }
}

/// The pointers of a function of which they are [kept](super::memory_slot::is_kept) as its journal says they have become. None for a declaration.
///
/// *Reads* `body`, [`block_layout`], [`Fact::version`]. *Cost* from scratch the first times; then that of what changed.
pub(super) fn followed(
    db: &dyn Db,
    function: FunctionInput,
    private: &Arc<PrivateMemory>,
) -> Option<Arc<PointerFlow>> {
    let slot = &function.slots(db).memory().pointers;
    let (layout, around) = (block_layout(db, function), Fact::Objects.version(db, function));
    let taken = locked(&slot.place).take();
    let (kept, found) = with_code(db, function, NO_CALLEES, |code, _| {
        let before = taken.as_ref().map(|kept| Arc::clone(kept.follower.flow()));
        let known = taken.filter(|kept| kept.around == around);
        let followed = known.and_then(|mut kept| {
            let since = since(db, function, (kept.position, &kept.layout))
                .filter(|since| is_few(db, function, since.edited().own))?;
            let found = kept.follower.follow(code, private, since.edited());
            Some((kept, found))
        });
        let (mut kept, found) = followed.unwrap_or_else(|| {
            let follower = PointerFollower::new(code, private, before.as_ref());
            let layout = Arc::clone(layout);
            (Box::new(Kept { position: 0, layout, around, follower }), Found::Made)
        });
        kept.position = function.body(db).journal().position();
        kept.layout = Arc::clone(layout);
        (kept, found)
    })?;
    let flow = Arc::clone(kept.follower.flow());
    slot.count(found);
    *locked(&slot.place) = Some(kept);
    Some(flow)
}
