//! Kinds of memory of a function that is edited, by repair of what is kept beside the memos.
//!
//! The first question finds the answer from scratch and keeps what it takes to repair it, which costs next to nothing more; from then on an edit is
//! followed. What is kept is taken out of its slot while it is worked with, so that
//! work which is broken off loses it. It counts for a position in the history of the body, for a [layout](super::layout) of its blocks, and for a number that is new
//! whenever anything around the function has changed.

use std::sync::{Arc, Mutex, MutexGuard};

use phalanx_analysis::spaces::{MemoryKinds, RetainedKinds, SpaceFacts, may_return_address};

use super::calls::is_local;
use super::follow::{fresh, locked};
use super::layout::{Layout, block_layout, since};
use super::surroundings::{NO_CALLEES, with_code};
use super::{
    address_memory, argument_spaces, cfg, dom_tree, returned_spaces, symbols, target, type_layout,
    variables,
};
use crate::FunctionInput;

use salsa::Database as Db;

/// What is kept of a function.
#[derive(Debug)]
struct Kept {
    position: u64,
    layout: Arc<Layout>,
    around: u64,
    retained: RetainedKinds,
}

/// How often the kinds of a function were found in which way.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct KindRepairs {
    /// From scratch.
    pub solved: u64,
    /// By repair.
    pub repaired: u64,
    /// Values and contents that all repairs together looked at.
    pub visited: u64,
}

/// Where the kinds of a function are while nobody asks.
#[derive(Debug, Default)]
pub struct KindsSlot {
    place: Mutex<Option<Box<Kept>>>,
    counts: Mutex<KindRepairs>,
}

impl KindsSlot {
    fn place(&self) -> MutexGuard<'_, Option<Box<Kept>>> {
        locked(&self.place)
    }

    fn count(&self, visited: Option<usize>) {
        let mut counts = locked(&self.counts);
        match visited {
            Some(visited) => {
                counts.repaired += 1;
                counts.visited += visited as u64;
            }
            None => counts.solved += 1,
        }
    }

    pub(super) fn clear(&self) {
        *self.place() = None;
    }
}

/// How the kinds of a function were found so far; all zero for small functions, which are always solved from scratch. Not a query.
pub fn kind_repairs(db: &dyn Db, function: FunctionInput) -> KindRepairs {
    function.slots(db).counted(|slots| *locked(&slots.kinds.counts))
}

/// The same of a function in recursion in all rounds, for what it passes to the others. Not a query.
pub fn kind_round_repairs(db: &dyn Db, function: FunctionInput) -> KindRepairs {
    let mut all = KindRepairs::default();
    for slot in function.slots(db).counted(|slots| slots.kinds_rounds.all()) {
        let counts = locked(&slot.counts);
        all.solved += counts.solved;
        all.repaired += counts.repaired;
        all.visited += counts.visited;
    }
    all
}

/// Identity of what [`memory_kinds`](super::memory_kinds) reads besides flow and body.
///
/// *Reads* `header`, `mentions`, [`target`], [`type_layout`], [`variables`], [`returned_spaces`] of callees that return addresses, [`argument_spaces`] of a
/// function that cannot be named from outside. *Changes when* one of them does. *Cost* O(callees).
#[salsa::tracked(returns(copy))]
pub fn kinds_version(db: &dyn Db, function: FunctionInput) -> u64 {
    read_around(db, function);
    if is_local(db, function) {
        let _ = argument_spaces(db, function);
    }
    fresh()
}

/// Reads what [`kinds_version`] does but for the callers of the function.
pub(super) fn read_around(db: &dyn Db, function: FunctionInput) {
    let module = function.module(db);
    let context = module.context(db);
    let _ = (function.header(db), target(db, module), type_layout(db, module));
    let _ = variables(db, module);
    for name in function.mentions(db).callees() {
        if let Some(&callee) = symbols(db, module).get(name)
            && may_return_address(context, callee.header(db).ty)
        {
            let _ = returned_spaces(db, callee);
        }
    }
}

/// The kinds of a large function as its journal says they have become. None for a declaration.
///
/// `around` is the identity of what else is read, `facts` and the header included.
///
/// *Reads* `flow`, `body`, `cfg`, `dom_tree`, [`address_memory`], [`block_layout`]. *Cost* from scratch the first times; then that of what changed.
pub(super) fn followed(
    db: &dyn Db,
    function: FunctionInput,
    slot: &KindsSlot,
    (around, facts): (u64, &dyn SpaceFacts),
) -> Option<MemoryKinds> {
    let (cfg, dom) = (cfg(db, function)?, dom_tree(db, function)?);
    let memory = address_memory(db, function).as_ref()?;
    let layout = block_layout(db, function);
    let position = function.body(db).journal().position();
    let taken = slot.place().take();
    let kept = taken.filter(|kept| kept.around == around);
    let repaired = kept.and_then(|mut kept| {
        let since = since(db, function, (kept.position, &kept.layout))?;
        let visited = with_code(db, function, NO_CALLEES, |code, around| {
            kept.retained.repair(code, around, (cfg, dom, memory), facts, since.edited())
        })??;
        slot.count(Some(visited));
        (kept.position, kept.layout) = (position, Arc::clone(layout));
        Some(kept)
    });
    if let Some(kept) = repaired {
        let answer = kept.retained.answer().clone();
        *slot.place() = Some(kept);
        return Some(answer);
    }
    slot.count(None);
    with_code(db, function, NO_CALLEES, |code, surroundings| {
        let memory = Arc::clone(memory);
        let retained = RetainedKinds::new(code, surroundings, (cfg, dom), memory, facts);
        let answer = retained.answer().clone();
        let layout = Arc::clone(layout);
        *slot.place() = Some(Box::new(Kept { position, layout, around, retained }));
        answer
    })
}
