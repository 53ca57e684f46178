//! The state of the fixpoint: what is known to depend on what, and what is still to be told on.

use phalanx_graph::Node;
use phalanx_target::SourceSet;

use crate::affect::{User, UserKind, Value};
use crate::divergence::result::Divergence;
use crate::divergence::table::ValueTable;

/// Sources per value and terminator, growing, with a last-in-first-out worklist of what grew.
///
/// What is on the worklist has a non-empty *pending* set: sources that its users have not seen.
#[derive(Debug)]
pub(crate) struct Marks<'a> {
    pub(crate) table: &'a ValueTable,
    values: Vec<SourceSet>,
    pending: Vec<SourceSet>,
    terminators: Vec<SourceSet>,
    pending_terminators: Vec<SourceSet>,
    work: Vec<User>,
}

impl<'a> Marks<'a> {
    /// Everything that introduces sources, and nothing propagated yet.
    pub(crate) fn seeded(table: &'a ValueTable) -> Self {
        let mut marks = Self {
            table,
            values: vec![SourceSet::EMPTY; table.len()],
            pending: vec![SourceSet::EMPTY; table.len()],
            terminators: vec![SourceSet::EMPTY; table.block_count()],
            pending_terminators: vec![SourceSet::EMPTY; table.block_count()],
            work: Vec::new(),
        };
        for value in table.values() {
            let seed = table.seed(value);
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

    /// The sources of a terminator so far.
    #[inline]
    pub(crate) fn terminator(&self, block: Node) -> SourceSet {
        self.terminators[block.index()]
    }

    #[inline]
    fn grow(&mut self, value: Value, sources: SourceSet) {
        let i = value.index();
        let new = sources.difference(self.values[i]);
        if new.is_empty() {
            return;
        }
        self.values[i] |= new;
        if self.pending[i].is_empty() {
            self.work.push(User::value(value));
        }
        self.pending[i] |= new;
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
        let new = sources.difference(self.terminators[i]);
        if new.is_empty() || self.table.is_fixed_terminator(block) {
            return;
        }
        self.terminators[i] |= new;
        if self.pending_terminators[i].is_empty() {
            self.work.push(User::terminator(block));
        }
        self.pending_terminators[i] |= new;
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
        let user = self.work.pop()?;
        let pending = match user.kind() {
            UserKind::Value(value) => &mut self.pending[value.index()],
            UserKind::Terminator(block) => &mut self.pending_terminators[block.index()],
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

    /// The block where a user stands.
    pub(crate) fn block_of(&self, user: User) -> Node {
        match user.kind() {
            UserKind::Value(value) => self.table.block(value),
            UserKind::Terminator(block) => block,
        }
    }

    pub(crate) fn finish(self) -> Divergence {
        Divergence {
            values: self.values.into(),
            terminators: self.terminators.into(),
            ..Divergence::default()
        }
    }
}
