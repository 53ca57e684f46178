//! Incremental update of [`Origins`] after edits of instructions.
//!
//! # What
//!
//! An address may be private if it is reached along def-use edges from an address of an unknown
//! place (the first item in [`super`]). A changed instruction may cut such a path or add one.
//!
//! # How
//!
//! Delete and rederive of [`phalanx_fixpoint`], without ranks, since chains of addresses are short.
//! A cycle of phis that only support each other is deleted as a whole and not rederived. Passed
//! addresses are updated in the same way.
//!
//! A store into a slot that holds only addresses changes what is loaded from there. So the update
//! also examines all loads of each slot that a changed instruction uses, or used before
//! ([`slots`](super::slots)).
//!
//! **Complexity.** O(uses of addresses that are deleted or become private), up to a bound;
//! O(instructions) at the first edit.

use phalanx_fixpoint::{Fixpoint, Limits, Ranks, Update};
use phalanx_ir::InstId;

use super::addresses::{Addresses, inst};
use super::{Kind, Known, Origins, Scan, number};
use crate::code::{Code, Environment};

/// The largest number of uses that are visited.
const BOUND: usize = 1 << 14;

/// The addresses for which the answer has changed in an edit, in order.
#[derive(Debug, Default)]
pub(in crate::memory) struct Turned {
    shared: Vec<InstId>,
    passed: Vec<InstId>,
}

impl Turned {
    /// All changed addresses. An address may be listed twice.
    pub(in crate::memory) fn all(&self) -> impl Iterator<Item = InstId> + '_ {
        self.shared.iter().chain(&self.passed).copied()
    }
}

impl Origins {
    /// Updates the answer after instructions were inserted, removed, moved or changed. Returns the
    /// addresses for which the answer has changed. `None` if the budget was exceeded: then the
    /// property of each address is as before, and the answer has to be computed from scratch.
    pub(in crate::memory) fn update(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        changed: &[InstId],
    ) -> Option<Turned> {
        let through_slots = self.users.update(code, changed);
        let changed_for = [changed, &through_slots].concat();
        let shared = self.shared.update(Scan::new(code, env, Kind::Shared), &changed_for)?;
        let Some(passed) = self.passed.update(Scan::new(code, env, Kind::Passed), changed) else {
            self.shared.turn(&shared);
            return None;
        };
        Some(Turned { shared, passed })
    }

    /// Inverts the answer for some addresses: this takes an update back.
    pub(in crate::memory) fn turn(&mut self, turned: &Turned) {
        self.shared.turn(&turned.shared);
        self.passed.turn(&turned.passed);
    }
}

impl Known {
    fn update(&mut self, scan: Scan<'_>, changed: &[InstId]) -> Option<Vec<InstId>> {
        // A `byval` copy is now written that was only read before, or the other way round.
        if scan.known_arguments() != self.arguments {
            return None;
        }
        if !scan.can_hold(&self.arguments) {
            return Some(Vec::new());
        }
        let insts = &self.insts;
        let others = self.others.get_or_insert_with(|| Fixpoint::new(Ranks::None));
        // A new instruction was no address before.
        let is_other = |at: u32| !insts.get(at as usize).copied().unwrap_or(false);
        let new = others.all(0).len() as u32..scan.code.body.id_count() as u32;
        others.assume(new.map(|at| (at, is_other(at))));
        let changed: Vec<u32> = changed.iter().map(|&inst| number(inst) as u32).collect();
        let limits = Limits { work: BOUND, ..Limits::NONE };
        let mut rules = Addresses { scan, users: None, looked_at: 0 };
        let update = others.repair(&mut rules, &changed, limits);
        let turned: Vec<InstId> =
            others.changes().iter().map(|change| inst(change.subject)).collect();
        if update == Update::TooMuch {
            self.others = None;
            return None;
        }
        self.flip(&turned);
        Some(turned)
    }

    /// Inverts the answer for some addresses, and drops the fixpoint.
    fn turn(&mut self, turned: &[InstId]) {
        self.others = None;
        self.flip(turned);
    }

    fn flip(&mut self, turned: &[InstId]) {
        for at in turned.iter().map(|&inst| number(inst)) {
            if self.insts.len() <= at {
                self.insts.resize(at + 1, false);
            }
            self.insts[at] = !self.insts[at];
        }
    }
}
