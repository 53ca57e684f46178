//! The state of the fixpoint: the known dependences, and those that are still to be propagated.

use std::cell::Cell;

use crate::SourceSet;
use phalanx_graph::Node;

use crate::affect::{User, UserKind, Value};
use crate::divergence::sets::SourceSets;
use crate::divergence::table::ValueTable;

/// Sources per value and terminator, growing, with a last-in-first-out worklist of what grew.
///
/// What is on the worklist has a non-empty *pending* set: sources that its users have not seen.
#[derive(Debug)]
pub(crate) struct Marks<'a> {
    pub(crate) table: &'a ValueTable,
    values: Vec<SourceSet>,
    terminators: Vec<SourceSet>,
    scratch: Scratch,
}

/// What is used on the way only. It is kept for the next analysis, unless it is large: then
/// everything pending is empty.
#[derive(Debug, Default)]
struct Scratch {
    pending: Vec<SourceSet>,
    pending_terminators: Vec<SourceSet>,
    work: Vec<User>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::default();
}

/// The most values of a function whose scratch tables are kept.
pub(crate) const SCRATCH_KEPT: usize = 1 << 14;

impl<'a> Marks<'a> {
    /// Everything that introduces sources, and nothing propagated yet.
    pub(crate) fn seeded(table: &'a ValueTable) -> Self {
        let mut scratch = SCRATCH.take();
        scratch.pending.resize(table.len(), SourceSet::EMPTY);
        scratch.pending_terminators.resize(table.block_count(), SourceSet::EMPTY);
        let mut marks = Self {
            table,
            values: vec![SourceSet::EMPTY; table.len()],
            terminators: vec![SourceSet::EMPTY; table.block_count()],
            scratch,
        };
        for (value, &seed) in table.values().zip(table.seeds()) {
            if !seed.is_empty() {
                marks.grow(value, seed);
            }
        }
        for &(block, seed) in table.seeded_terminators() {
            marks.mark_terminator(block, seed);
        }
        marks
    }

    /// The sources of a value so far.
    #[inline]
    pub(crate) fn value(&self, value: Value) -> SourceSet {
        self.values[value.index()]
    }

    #[inline]
    fn grow(&mut self, value: Value, sources: SourceSet) {
        let i = value.index();
        let new = sources.difference(self.values[i]);
        if new.is_empty() {
            return;
        }
        self.values[i] |= new;
        let Scratch { pending, work, .. } = &mut self.scratch;
        if pending[i].is_empty() {
            work.push(User::value(value));
        }
        pending[i] |= new;
    }

    /// Makes a value depend on more, unless it depends on its own sources only.
    #[inline]
    pub(crate) fn mark_value(&mut self, value: Value, sources: SourceSet) {
        if !self.table.is_fixed(value) {
            self.grow(value, sources);
        }
    }

    /// Makes a terminator depend on more, unless it is known to go one way.
    #[inline]
    pub(crate) fn mark_terminator(&mut self, block: Node, sources: SourceSet) {
        let i = block.index();
        let sources = self.table.terminator_transfer(block, sources);
        let new = sources.difference(self.terminators[i]);
        if new.is_empty() || self.table.is_fixed_terminator(block) {
            return;
        }
        self.terminators[i] |= new;
        let Scratch { pending_terminators, work, .. } = &mut self.scratch;
        if pending_terminators[i].is_empty() {
            work.push(User::terminator(block));
        }
        pending_terminators[i] |= new;
    }

    /// Lets a user see more sources in an operand.
    #[inline]
    pub(crate) fn mark_use(&mut self, user: User, sources: SourceSet) {
        match user.kind() {
            UserKind::Value(value) => {
                let sources = self.table.transfer(value, sources);
                self.grow(value, sources);
            }
            UserKind::Terminator(block) => self.mark_terminator(block, sources),
        }
    }

    /// Takes the latest from the worklist, with the sources that are new in it.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(User, SourceSet)> {
        let Scratch { pending, pending_terminators, work } = &mut self.scratch;
        let user = work.pop()?;
        let pending = match user.kind() {
            UserKind::Value(value) => &mut pending[value.index()],
            UserKind::Terminator(block) => &mut pending_terminators[block.index()],
        };
        Some((user, std::mem::take(pending)))
    }

    /// Tells the users of a value what is new in it.
    #[inline]
    pub(crate) fn tell_users(&mut self, value: Value, sources: SourceSet) {
        let table = self.table;
        for &user in table.affects().users(value) {
            self.mark_use(user, sources);
        }
    }

    /// The sources of values and terminators, once nothing is left to propagate.
    pub(crate) fn finish(self) -> (SourceSets, SourceSets) {
        debug_assert!(self.scratch.work.is_empty(), "nothing is pending any more");
        if self.scratch.work.is_empty() && self.scratch.pending.capacity() <= SCRATCH_KEPT {
            SCRATCH.set(self.scratch);
        }
        (self.values.into(), self.terminators.into())
    }
}
