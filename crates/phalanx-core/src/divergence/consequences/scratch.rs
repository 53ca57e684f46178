//! Tables of the precise rules that are used on the way only.
//!
//! They are kept per thread for the next function: most functions are small, and clearing costs
//! less than allocating. O(blocks + edges out of cycles) to take.

use std::cell::Cell;

use crate::SourceSet;
use phalanx_graph::{Node, sync::EnteringEdges};

use crate::divergence::marks::SCRATCH_KEPT;

/// Tables that are used on the way only. They are kept for the next analysis, unless they are
/// large.
#[derive(Default)]
pub(super) struct Scratch {
    /// By block: sources whose consequences have been drawn.
    pub(super) separated: Vec<SourceSet>,
    /// By block: sources that every phi that selects anything has.
    pub(super) joined: Vec<SourceSet>,
    /// By edge out of a cycle.
    pub(super) exits: Vec<SourceSet>,
    /// By block, see [`ControlFact::ExitsFrom`](super::ControlFact::ExitsFrom).
    pub(super) exits_from: Vec<SourceSet>,
    /// The edges of the join at hand: by number, and as what is reached from nodes.
    pub(super) ranges: Vec<EnteringEdges>,
    pub(super) late: Vec<Node>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

impl Scratch {
    /// Tables for a function, everything unknown.
    pub(super) fn take(blocks: usize, in_cycles: usize, leaving_edges: usize) -> Self {
        let mut scratch = SCRATCH.take();
        let Self { separated, joined, exits, exits_from, .. } = &mut scratch;
        let sizes = [blocks, blocks, leaving_edges, in_cycles];
        for (table, size) in [separated, joined, exits, exits_from].into_iter().zip(sizes) {
            table.clear();
            table.resize(size, SourceSet::EMPTY);
        }
        scratch
    }

    pub(super) fn give_back(self) {
        if self.separated.capacity() <= SCRATCH_KEPT && self.exits.capacity() <= SCRATCH_KEPT {
            SCRATCH.set(self);
        }
    }
}
