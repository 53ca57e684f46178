//! Which addresses may lead to private memory after an edit.
//!
//! # What
//!
//! An address may be private if it is reached from one of the first kind ([`super`]), along operands. After instructions have changed, what was reached
//! over one of them may be reached no longer, and what was not may be.
//!
//! # How
//!
//! Delete and rederive (Gupta and others, *Maintaining Views Incrementally*, 1993):
//!
//! 1. changed addresses are *doubted*, and so is whatever is made from a doubted one that was private, unless it is of the first kind
//!    itself;
//! 2. a doubted address is private if it is of the first kind, or made from one that is private; so is then whatever is made from it.
//!
//! What was not private supports nothing, so nothing else can have changed. Loops of phis that only support each other are doubted as
//! a whole, and nothing brings them back. What is not passed is followed in the same way.
//!
//! **Complexity.** O(uses of what is doubted or becomes private), up to a bound.

use phalanx_ir::{InstId, Value};
use rustc_hash::FxHashMap;

use super::{From, Kind, Known, Origins, Scan, number};
use crate::lower::{Code, Surroundings};

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
    /// Brings it up to date after instructions were inserted, removed, moved or changed: those of which something else is said. None
    /// if that would be too much; then it is as it was, and to be made anew.
    pub(in crate::memory) fn follow(
        &mut self,
        code: Code<'_>,
        around: Surroundings<'_>,
        changed: &[InstId],
    ) -> Option<Turned> {
        let shared = self.shared.follow(Scan::new(code, around, Kind::Shared), changed)?;
        let Some(passed) = self.passed.follow(Scan::new(code, around, Kind::Passed), changed)
        else {
            self.shared.turn(&shared);
            return None;
        };
        Some(Turned { shared, passed })
    }

    /// Says the opposite of some addresses: what was said before, of those of which something else is said.
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
        let mut repair = Repair { scan, known: self, before: FxHashMap::default(), left: BOUND };
        let done = repair.doubt(changed).and_then(|doubted| repair.rederive(&doubted));
        let Repair { before, .. } = repair;
        let is_other = |(inst, was): &(InstId, bool)| self.holds(Value::inst(*inst)) != *was;
        let mut others: Vec<InstId> =
            before.into_iter().filter(is_other).map(|(inst, _)| inst).collect();
        others.sort_unstable_by_key(|inst| number(*inst));
        if done.is_none() {
            self.turn(&others);
        }
        done.map(|()| others)
    }

    fn turn(&mut self, others: &[InstId]) {
        for &inst in others {
            self.set(inst, !self.holds(Value::inst(inst)));
        }
    }

    fn set(&mut self, inst: InstId, holds: bool) {
        let at = number(inst);
        if holds && self.insts.len() <= at {
            self.insts.resize(at + 1, false);
        }
        if let Some(entry) = self.insts.get_mut(at) {
            *entry = holds;
        }
    }
}

struct Repair<'a, 'b> {
    scan: Scan<'a>,
    known: &'b mut Known,
    /// What was said of those about which something else has been said since.
    before: FxHashMap<InstId, bool>,
    /// How many uses may still be looked at.
    left: usize,
}

impl Repair<'_, '_> {
    fn holds(&self, inst: InstId) -> bool {
        self.known.holds(Value::inst(inst))
    }

    /// Whether it is an address about which something is to be said.
    fn is_address(&self, inst: InstId) -> bool {
        let body = self.scan.code.body;
        body.block_of(inst).is_some() && self.scan.can_be_private(body.inst(inst).ty)
    }

    fn set(&mut self, inst: InstId, holds: bool) {
        let was = self.holds(inst);
        if was != holds {
            self.before.entry(inst).or_insert(was);
            self.known.set(inst, holds);
        }
    }

    /// Whether it does not hold of an address whatever that is made from.
    fn is_first(&self, inst: InstId) -> bool {
        let mut is_first = self.scan.is_private_only(self.scan.code.body.inst(inst).ty);
        self.scan.made_from(inst, |from| is_first |= matches!(from, From::Other));
        is_first
    }

    fn is_made_from(&self, inst: InstId, other: InstId) -> bool {
        let mut is_made = false;
        self.scan.made_from(inst, |from| {
            is_made |= matches!(from, From::Inst(operand) if operand == other);
        });
        is_made
    }

    /// The addresses that are made from one and of which this is said now; none if there are too many uses.
    fn made_from(&mut self, inst: InstId, holds: bool) -> Option<Vec<InstId>> {
        let mut found = Vec::new();
        for read in self.scan.code.body.uses_of(inst.into()) {
            self.left = self.left.checked_sub(1)?;
            let user = read.user;
            if self.is_address(user) && self.holds(user) == holds && self.is_made_from(user, inst) {
                found.push(user);
            }
        }
        Some(found)
    }

    /// Takes back what may not hold any longer.
    fn doubt(&mut self, changed: &[InstId]) -> Option<Vec<InstId>> {
        let mut doubted = Vec::new();
        let mut work = Vec::new();
        for &inst in changed {
            if !self.is_address(inst) {
                self.set(inst, false);
                continue;
            }
            doubted.push(inst);
            if !self.holds(inst) {
                self.set(inst, true);
                work.push(inst);
            }
        }
        while let Some(inst) = work.pop() {
            for user in self.made_from(inst, false)? {
                if !self.is_first(user) {
                    self.set(user, true);
                    doubted.push(user);
                    work.push(user);
                }
            }
        }
        Some(doubted)
    }

    /// Finds again what holds.
    fn rederive(&mut self, doubted: &[InstId]) -> Option<()> {
        let mut work = Vec::new();
        for &inst in doubted {
            let mut is_other = self.scan.is_private_only(self.scan.code.body.inst(inst).ty);
            let known = &*self.known;
            self.scan.made_from(inst, |from| {
                is_other |= match from {
                    From::Inst(operand) => !known.holds(Value::inst(operand)),
                    From::Other => true,
                    From::Known => false,
                };
            });
            if is_other && self.holds(inst) {
                self.set(inst, false);
                work.push(inst);
            }
        }
        while let Some(inst) = work.pop() {
            for user in self.made_from(inst, true)? {
                self.set(user, false);
                work.push(user);
            }
        }
        Some(())
    }
}
