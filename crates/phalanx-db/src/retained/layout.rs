//! Blocks of a function: their order, and what has changed between two orders, as plain data.

use std::sync::{Arc, Mutex};

use phalanx_graph::{BitSet, Cfg};
use phalanx_ir::{BlockId, InstId};

/// Not listed.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Blocks of a function: their order, and which can be reached from the entry.
#[derive(Debug)]
pub struct Layout {
    pub(crate) number: u64,
    pub(crate) cfg: Option<Arc<Cfg>>,
    /// Position in the order of the text, by block.
    pub(crate) ranks: Vec<u32>,
    pub(crate) reached: BitSet,
    /// The difference that was asked for last.
    pub(crate) last: Mutex<Option<Last>>,
}

/// Between which places of the history a difference is.
pub(crate) type Places = (u64, u64, u64);

pub(crate) type Last = (Places, Option<Arc<Between>>);

/// What is other than before, where blocks are.
#[derive(Debug)]
pub(crate) struct Between {
    pub(crate) insts: Vec<InstId>,
    pub(crate) own: Vec<InstId>,
    pub(crate) blocks: Vec<BlockId>,
}
