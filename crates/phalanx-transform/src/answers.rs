//! Caches the legality of motions per scope, for the reconvergence models that a pass works for.
//!
//! Preparing the facts of a function costs more than one query about a motion. So [`Answers`] keeps
//! them for each scope, as long as the function is not changed.

use std::cell::RefCell;

use phalanx_core::legality::{Legality, machines::Machines};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{BlockId, flow::node_of};
use phalanx_target::Scope;
use smallvec::SmallVec;

/// Legality by scope, in the order of the first request.
type Known<'a> = SmallVec<[(Scope, Option<Legality<'a>>); 2]>;

/// See the [module documentation](self).
pub(crate) struct Answers<'a> {
    pub(crate) db: &'a Database,
    pub(crate) function: FunctionInput,
    machines: Machines,
    known: RefCell<Known<'a>>,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(db: &'a Database, function: FunctionInput, machines: Machines) -> Self {
        Answers { db, function, machines, known: RefCell::default() }
    }

    /// Legality of moving operations that communicate within `scope`.
    pub(crate) fn at(&self, scope: Scope) -> Option<Legality<'a>> {
        let mut known = self.known.borrow_mut();
        if let Some(&(_, found)) = known.iter().find(|(of, _)| *of == scope) {
            return found;
        }
        let found = queries::legality(self.db, self.function, scope);
        let found = found.map(|legality| legality.under(self.machines));
        known.push((scope, found));
        found
    }

    /// Whether equal operations of this scope on both sides of a branch may become one, above the
    /// branch or behind it: every group that executes the merged operation executed one of the two
    /// together.
    pub(crate) fn can_merge(&self, scope: Scope, [one, other]: [BlockId; 2]) -> bool {
        let legality = self.at(scope);
        legality.is_some_and(|l| l.merge(node_of(one), node_of(other)).is_ok())
    }
}
