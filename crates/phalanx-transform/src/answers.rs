//! Answers about motions, by scope and for the machines that a pass works for.
//!
//! What has to be known of a function before the first answer costs more than an answer, so it is
//! kept for each scope as long as the function stays as it is.

use std::cell::RefCell;

use phalanx_core::legality::{Legality, machines::Machines};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{BlockId, flow::node_of};
use phalanx_target::Scope;
use smallvec::SmallVec;

/// Answers by scope, as they were asked for.
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

    /// Those for what communicates within a scope.
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

    /// Whether what both sides of a branch do together, at a scope, may be done above it or behind
    /// it: threads that execute the one there together executed one of the two together.
    pub(crate) fn can_merge(&self, scope: Scope, [one, other]: [BlockId; 2]) -> bool {
        let legality = self.at(scope);
        legality.is_some_and(|l| l.merge(node_of(one), node_of(other)).is_ok())
    }
}
