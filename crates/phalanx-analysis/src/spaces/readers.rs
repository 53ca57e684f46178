//! Finds the instructions that depend on an instruction through others.
//!
//! # What
//!
//! The set of a value depends on its inputs, which mostly are its operands. Two rules of
//! [`rules`](super::rules) look further up:
//!
//! - a member that is taken out of a structure is looked up where it was put in, through a chain of
//!   `insertvalue`;
//! - a load of a constant variable looks up what is at its offset, which is the sum of a chain of
//!   steps and casts.
//!
//! The instruction at the lower end of such a chain has to be evaluated again when an instruction
//! of the chain has changed, even if the sets in between stay the same. A change of the position at
//! which a member is put in, or of the entry of a table that a step selects, changes none of these
//! sets.
//!
//! # How
//!
//! The search goes downwards, by users, for as many steps as the rules look up. `insertvalue` is
//! always searched, since few instructions read one. An address may have very many users, of which
//! few read constant variables. So steps and casts are searched only if they are between a constant
//! and a load, now or at any time since the solution from scratch ([`Tables`]). If an instruction
//! was erased, its users have changed, so no search begins there.
//!
//! **Complexity.** O(users of the chains); the search gives up if they are more than a limit.

use phalanx_ir::{InstId, Opcode, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::rules::{STEPS, is_step};
use crate::code::Code;

/// Steps and casts between a constant and a load.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables(FxHashSet<InstId>);

impl Tables {
    /// Records the steps of a load at an address that is made from a constant.
    pub(super) fn note(&mut self, code: Code<'_>, inst: InstId) {
        if code.body.inst(inst).opcode == Opcode::Load
            && let Some(steps) = steps_to_constant(code, code.body.operands(inst)[0])
        {
            self.0.extend(steps);
        }
    }

    /// The changed instructions, and those that depend on one of them through a chain; none if
    /// there are more than the limit.
    pub(super) fn with_readers(
        &self,
        code: Code<'_>,
        changed: &[InstId],
        limit: usize,
    ) -> Option<Vec<InstId>> {
        let mut all: Vec<InstId> = changed.to_vec();
        for &inst in changed {
            let opcode = code.body.inst(inst).opcode;
            let is_done = match opcode {
                Opcode::InsertValue => takers(code, inst, limit, &mut |user| all.push(user)),
                _ if is_step(opcode) && self.is_between(code, inst) => {
                    let is_load = |opcode| opcode == Opcode::Load;
                    below(code, inst, limit, (is_step, is_load), &mut |user| all.push(user))
                }
                _ => true,
            };
            if !is_done || all.len() > limit {
                return None;
            }
        }
        if all.len() > changed.len() {
            all.sort_unstable();
            all.dedup();
        }
        Some(all)
    }

    fn is_between(&self, code: Code<'_>, step: InstId) -> bool {
        self.0.contains(&step) || steps_to_constant(code, step.into()).is_some()
    }
}

/// Calls `tell` with the instructions that take members out of structures into which a value is
/// put. Returns false if the limit was exceeded.
pub(super) fn takers(
    code: Code<'_>,
    value: InstId,
    limit: usize,
    tell: &mut dyn FnMut(InstId),
) -> bool {
    let is_link = |opcode| opcode == Opcode::InsertValue;
    below(code, value, limit, (is_link, |opcode| opcode == Opcode::ExtractValue), tell)
}

/// The steps and casts by which an address is made from a constant; none if it is made from
/// something else, or by too many.
fn steps_to_constant(code: Code<'_>, mut address: Value) -> Option<SmallVec<[InstId; 8]>> {
    let mut steps = SmallVec::new();
    for _ in 0..=STEPS {
        if address.as_const().is_some() {
            return Some(steps);
        }
        let inst = address.as_inst().filter(|&inst| is_step(code.body.inst(inst).opcode))?;
        steps.push(inst);
        address = code.body.operands(inst)[0];
    }
    None
}

/// A set of opcodes.
type Choice = fn(Opcode) -> bool;

/// Calls `tell` with the users of an instruction that are ends, and then with those of its users
/// that are links, and so on. Returns false if the limit was exceeded.
fn below(
    code: Code<'_>,
    from: InstId,
    limit: usize,
    (is_link, is_end): (Choice, Choice),
    tell: &mut dyn FnMut(InstId),
) -> bool {
    let mut level: SmallVec<[InstId; 8]> = SmallVec::from_slice(&[from]);
    // Links only; an end that reads two of them is reported twice.
    let mut seen: FxHashSet<InstId> = FxHashSet::default();
    let mut looked_at = 0;
    for _ in 0..=STEPS {
        let mut next = SmallVec::new();
        for &inst in &level {
            for one in code.body.uses_of(inst.into()) {
                looked_at += 1;
                if looked_at > limit {
                    return false;
                }
                let opcode = code.body.inst(one.user).opcode;
                if is_end(opcode) {
                    tell(one.user);
                } else if is_link(opcode) && seen.insert(one.user) {
                    next.push(one.user);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    true
}
