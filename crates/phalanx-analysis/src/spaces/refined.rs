//! Tests of addresses in a function that is edited.
//!
//! # What
//!
//! [`Refinements`] say what is known of an address where tests of it have held. [`Tests`] keeps the
//! tests of a function, finds again what they say when that may be something else, and tells which
//! instructions may then see other sets in what they read.
//!
//! # How
//!
//! What tests say follows from the tests, from conditions that are made of them, from branches and
//! assumptions that read these, from the steps between the tested addresses and their roots, and
//! from the graph. These instructions are remembered. If none of them has changed, no changed one
//! is a test or reads one of the conditions, and blocks and edges are the same, everything is said
//! that was said. Otherwise all of it is found again, from the tests on.
//!
//! An instruction sees another set in an operand, although the operand has the set that it had, if
//!
//! - something else is said of a root: all that read the root or what is made of it by steps, where
//!   blocks or edges are others those of every root;
//! - the same is said, by an assumption that was moved within its block: likewise;
//! - the operand is made by steps of something that has changed: all that read this, or what is
//!   made of it;
//! - it was moved or is new, and so has changed itself.
//!
//! Not followed: something else that is said of a constant, of whose uses there is no list.
//!
//! **Complexity.** O(changed instructions and those who read what is made of them), and where tests
//! say something else O(tests and who reads what is made of the tested).

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{InstId, Value};
use rustc_hash::FxHashSet;

use super::{
    numbers::number,
    predicates::{Refinements, STEPS, Support, is_step_of, tested},
    solve::Solver,
};
use crate::code::SpaceSet;
use crate::{code::Code, edited::Edited};

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct Tests {
    /// Calls that test.
    calls: FxHashSet<InstId>,
    pub(super) refinements: Refinements,
    support: Support,
}

impl Tests {
    /// Those of a function, and what they say.
    pub(super) fn new(refinements: Refinements, support: Support, calls: &[InstId]) -> Self {
        Tests { calls: calls.iter().copied().collect(), refinements, support }
    }

    /// Brings what is said up to date. Which instructions may see other sets besides those that
    /// have changed, sorted; none if that is not known, or there are more than a limit.
    pub(super) fn follow(
        &mut self,
        code: Code<'_>,
        (cfg, dom): (&Cfg, &DomTree),
        edited: Edited<'_>,
        limit: usize,
    ) -> Option<Vec<InstId>> {
        let is_as_before = self.is_as_before(code, edited);
        for &inst in edited.own {
            match is_linked(code, inst) && tested(code, inst).is_some() {
                true => self.calls.insert(inst),
                false => self.calls.remove(&inst),
            };
        }
        let mut roots: Vec<Value> = Vec::new();
        // What was made of a root by something that has changed since.
        if !self.refinements.is_empty() {
            roots.extend(edited.own.iter().map(|&inst| Value::from(inst)));
        }
        if !is_as_before {
            let mut calls: Vec<InstId> = self.calls.iter().copied().collect();
            calls.sort_unstable();
            let (refinements, support) = Refinements::new(code, cfg, dom, &calls);
            let before = std::mem::replace(&mut self.refinements, refinements);
            self.support = support;
            match edited.blocks {
                Some(_) => roots.extend(before.roots().chain(self.refinements.roots())),
                None => {
                    roots.extend(self.refinements.others(&before));
                    roots.extend(self.refinements.assumed_by(edited.own));
                }
            }
            if !self.refinements.is_empty() {
                roots.extend(edited.own.iter().map(|&inst| Value::from(inst)));
            }
        }
        readers(code, roots, limit)
    }

    /// Whether tests say what they said.
    fn is_as_before(&self, code: Code<'_>, edited: Edited<'_>) -> bool {
        let is_concerned = |&inst: &InstId| {
            let body = code.body;
            self.support.all.contains(&inst)
                || body.block_of(inst).is_some_and(|block| {
                    let reads = |value: &Value| {
                        value.as_inst().is_some_and(|inst| self.support.conditions.contains(&inst))
                    };
                    self.support.ordered.contains(&block)
                        || tested(code, inst).is_some()
                        || body.operands(inst).iter().any(reads)
                })
        };
        let is_there = edited.blocks.is_some() && !self.calls.is_empty();
        !is_there && !edited.own.iter().any(is_concerned)
    }
}

/// Operands of which tests say more than is known of their values, after these instructions have
/// seen or got other sets.
pub(super) fn refined_uses(
    solver: &mut Solver<'_>,
    mut told: Vec<InstId>,
    is_reached: impl Fn(InstId) -> bool,
    old: &[((InstId, u32), SpaceSet)],
) -> Vec<((InstId, u32), SpaceSet)> {
    let body = solver.rules.code.body;
    // Who reads what has another set may know more or less in addition.
    let readers = told.iter().flat_map(|&inst| body.uses_of(inst.into()));
    let readers: Vec<InstId> = readers.map(|one| one.user).collect();
    told.extend(readers);
    told.sort_unstable();
    told.dedup();
    let mut uses = Vec::new();
    for &inst in told.iter().filter(|&&inst| is_reached(inst)) {
        solver.refined(inst, &mut uses);
    }
    uses.extend(old.iter().filter(|((inst, _), _)| told.binary_search(inst).is_err()));
    uses.sort_unstable_by_key(|((inst, at), _)| (number(*inst), *at));
    uses
}

fn is_linked(code: Code<'_>, inst: InstId) -> bool {
    code.body.block_of(inst).is_some()
}

/// Who reads one of these or what is made of it by some steps. None for a constant, or if there are
/// more than a limit.
fn readers(code: Code<'_>, mut roots: Vec<Value>, limit: usize) -> Option<Vec<InstId>> {
    roots.sort_unstable();
    roots.dedup();
    if roots.iter().any(|root| root.as_const().is_some()) {
        return None;
    }
    let mut found = FxHashSet::default();
    let mut looked_at = 0;
    // By level: what is made by fewer steps can be told of by more.
    let mut level = roots;
    let mut seen: FxHashSet<Value> = level.iter().copied().collect();
    for _ in 0..STEPS {
        let mut next = Vec::new();
        for value in level {
            for one in code.body.uses_of(value) {
                looked_at += 1;
                if looked_at > limit {
                    return None;
                }
                found.insert(one.user);
                if is_step_of(code, one.user, value) && seen.insert(one.user.into()) {
                    next.push(one.user.into());
                }
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    let mut found: Vec<InstId> = found.into_iter().collect();
    found.sort_unstable();
    Some(found)
}
