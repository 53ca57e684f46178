//! Incremental update of what tests of addresses tell.
//!
//! # What
//!
//! [`Refinements`] are what tests tell about addresses. [`Tests`] retains the tests of a function,
//! finds the refinements again when they may have changed, and says which instructions may then
//! have other sets for their operands.
//!
//! # How
//!
//! The refinements depend on the tests, on conditions that are computed from them, on branches and
//! assumptions that read these, on the steps between the tested addresses and their roots, and on
//! the graph. The module remembers these instructions. The refinements are the same if none of them
//! has changed, no changed instruction is a test or reads one of the conditions, and blocks and
//! edges are the same. Otherwise all refinements are found again, from the tests on.
//!
//! An instruction may have another set for an operand, although the operand's value has the same
//! set, if
//!
//! - the refinement of a root has changed: all instructions that read the root or what is made of
//!   it by steps; if blocks or edges have changed, those of every root;
//! - an assumption tells the same, but was moved within its block: likewise;
//! - the operand is made by steps from something that has changed: all instructions that read this,
//!   or what is made of it;
//! - the instruction was moved or is new, and so has changed itself.
//!
//! A changed refinement of a constant is not handled, since there is no list of the uses of a
//! constant: everything is then found anew.
//!
//! **Complexity.** O(changed instructions and readers of what is made of them). If refinements
//! change, also O(tests and readers of what is made of the tested addresses).

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{InstId, Value};
use rustc_hash::FxHashSet;

use super::{
    nodes::{Nodes, SetsOf},
    numbers::number,
    predicates::{Refinements, STEPS, Support, is_step_of, tested},
};
use crate::code::SpaceSet;
use crate::{code::Code, edited::Edited};

/// The tests of a function, and what they tell. See the [module documentation](self).
#[derive(Debug, Default)]
pub(super) struct Tests {
    /// Calls that test an address.
    calls: FxHashSet<InstId>,
    pub(super) refinements: Refinements,
    support: Support,
}

impl Tests {
    /// The tests of a function, and what they tell.
    pub(super) fn new(refinements: Refinements, support: Support, calls: &[InstId]) -> Self {
        Tests { calls: calls.iter().copied().collect(), refinements, support }
    }

    /// Brings the refinements up to date. Returns the instructions, besides the changed ones, that
    /// may have other sets for their operands, sorted; none if these are not known, or more than
    /// `limit`.
    pub(super) fn update(
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
        // Everything that is made by steps from a changed instruction.
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

    /// Whether the refinements are the same as before.
    fn is_as_before(&self, code: Code<'_>, edited: Edited<'_>) -> bool {
        let is_affected = |&inst: &InstId| {
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
        !is_there && !edited.own.iter().any(is_affected)
    }
}

/// The operands whose sets are smaller than those of their values, after changes of the sets of
/// these instructions or of their operands.
pub(super) fn refined_uses(
    (nodes, sets): (&mut Nodes<'_>, &impl SetsOf),
    mut told: Vec<InstId>,
    old: &[((InstId, u32), SpaceSet)],
) -> Vec<((InstId, u32), SpaceSet)> {
    let body = nodes.rules.code.body;
    // An operand of which the value has another set may be refined more or less than before.
    let readers = told.iter().flat_map(|&inst| body.uses_of(inst.into()));
    let readers: Vec<InstId> = readers.map(|one| one.user).collect();
    told.extend(readers);
    told.sort_unstable();
    told.dedup();
    let mut uses = Vec::new();
    for &inst in &told {
        if nodes.is_reached(inst) {
            nodes.refined(sets, inst, &mut uses);
        }
    }
    uses.extend(old.iter().filter(|((inst, _), _)| told.binary_search(inst).is_err()));
    uses.sort_unstable_by_key(|((inst, at), _)| (number(*inst), *at));
    uses
}

fn is_linked(code: Code<'_>, inst: InstId) -> bool {
    code.body.block_of(inst).is_some()
}

/// The instructions that read one of these values, or what is made of it by some steps. None if a
/// root is a constant, or if there are more than `limit`.
fn readers(code: Code<'_>, mut roots: Vec<Value>, limit: usize) -> Option<Vec<InstId>> {
    roots.sort_unstable();
    roots.dedup();
    if roots.iter().any(|root| root.as_const().is_some()) {
        return None;
    }
    let mut found = FxHashSet::default();
    let mut looked_at = 0;
    // By level: a value made in fewer steps has more steps left to search.
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
