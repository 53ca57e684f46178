//! Which addresses may lead to private memory after an edit.
//!
//! # What
//!
//! An address may be private if it is reached from one of the first kind ([`super`]), along
//! operands. After instructions have changed, what was reached over one of them may be reached no
//! longer, and what was not may be.
//!
//! # How
//!
//! Delete and rederive of [`phalanx_fixpoint`], without ranks: chains of addresses are short. Loops
//! of phis that only support each other go as a whole, and nothing brings them back. What is not
//! passed is followed in the same way.
//!
//! A store into a slot in which addresses are put changes what is loaded from there, so all loads
//! of the slots are examined that a changed instruction has to do with, or had
//! ([`slots`](super::slots)).
//!
//! **Complexity.** O(uses of what is doubted or becomes private), up to a bound; O(instructions) at
//! the first edit.

use phalanx_fixpoint::{Fixpoint, Limits, Ranks, Update};
use phalanx_ir::InstId;

use super::addresses::{Addresses, inst};
use super::{Kind, Known, Origins, Scan, number};
use crate::code::{Code, Surroundings};

/// How many uses are looked at.
const BOUND: usize = 1 << 14;

/// The addresses of which something else is said after an edit, in order.
#[derive(Debug, Default)]
pub(in crate::memory) struct Turned {
    shared: Vec<InstId>,
    passed: Vec<InstId>,
}

impl Turned {
    /// All of them; one may be there twice.
    pub(in crate::memory) fn all(&self) -> impl Iterator<Item = InstId> + '_ {
        self.shared.iter().chain(&self.passed).copied()
    }
}

impl Origins {
    /// Brings it up to date after instructions were inserted, removed, moved or changed: those of
    /// which something else is said. None if that would be too much; then it is as it was, and to
    /// be made anew.
    pub(in crate::memory) fn follow(
        &mut self,
        code: Code<'_>,
        around: Surroundings<'_>,
        changed: &[InstId],
    ) -> Option<Turned> {
        let through_slots = self.users.follow(code, changed);
        let changed_for = [changed, &through_slots].concat();
        let shared = self.shared.follow(Scan::new(code, around, Kind::Shared), &changed_for)?;
        let Some(passed) = self.passed.follow(Scan::new(code, around, Kind::Passed), changed)
        else {
            self.shared.turn(&shared);
            return None;
        };
        Some(Turned { shared, passed })
    }

    /// Says the opposite of some addresses: what was said before, of those of which something else
    /// is said.
    pub(in crate::memory) fn turn(&mut self, turned: &Turned) {
        self.shared.turn(&turned.shared);
        self.passed.turn(&turned.passed);
    }
}

impl Known {
    fn follow(&mut self, scan: Scan<'_>, changed: &[InstId]) -> Option<Vec<InstId>> {
        // A copy that is written from now on, or no longer.
        if scan.known_arguments() != self.arguments {
            return None;
        }
        if !scan.can_hold(&self.arguments) {
            return Some(Vec::new());
        }
        let insts = &self.insts;
        let others = self.others.get_or_insert_with(|| Fixpoint::new(Ranks::None));
        // What is new is no address so far.
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

    /// Says the opposite of some addresses; what has been derived is forgotten.
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
