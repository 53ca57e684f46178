//! The objects that an edit affects, and the instructions that use them.
//!
//! # What
//!
//! An object is affected if the facts about it may have changed:
//!
//! - it is a changed or new alloca;
//! - a changed instruction accessed it before, or has its address as an operand now;
//! - it was not private, and a changed instruction is a witness of its escape: only then can it
//!   become private;
//! - it was accessed through an address that depends on a changed one;
//! - the graph was edited, and that may [change the SSA form](Disturbed) of its slots;
//! - an instruction accessed it that uses or used another affected object. So no instruction has
//!   touches of both an affected object and an unaffected one.
//!
//! An object that is not private is unaffected as long as its witnesses are unchanged, whatever the
//! edit does with it. Unreachable instructions do not count, except phis.
//!
//! # How
//!
//! The search follows addresses up along their first operands, and down along def-use lists. An
//! instruction that accessed an affected object has changed, or depends on an address that has
//! changed, or still uses the object. So the search meets all of them without a pass over the
//! tables of touches.
//!
//! The search gives up after a bounded number of uses and steps. O(uses + steps).

use phalanx_graph::DomTree;
use phalanx_ir::{InstId, Opcode, Value, flow::node_of};
use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::memory::{
    private::{PrivateMemory, is_address, update::is_slot},
    ssa::Disturbed,
};
use crate::policy::PRIVATE_STEPS;

/// The affected objects, and the instructions that use them.
pub(super) struct Question {
    /// Affected objects, including those that are no longer objects.
    pub(super) objects: FxHashSet<InstId>,
    /// Instructions with the address of an affected object as an operand.
    pub(super) users: FxHashSet<InstId>,
    /// `users`, and all instructions that may have had such an operand before.
    pub(super) all: FxHashSet<InstId>,
    /// The remaining budget of uses and steps.
    pub(super) left: usize,
}

impl Question {
    /// Finds the affected objects after instructions were inserted, removed, moved or changed, and
    /// the graph was `disturbed`. `None` if the budget was exceeded, or an address is too far from
    /// its object.
    pub(super) fn new(
        known: &PrivateMemory,
        code: Code<'_>,
        dom: &DomTree,
        changed: &[InstId],
        disturbed: &Disturbed,
    ) -> Option<Self> {
        let question = Question {
            objects: FxHashSet::default(),
            users: FxHashSet::default(),
            all: FxHashSet::default(),
            left: PRIVATE_STEPS,
        };
        let mut search = Search { known, code, dom, question, work: Vec::new() };
        changed.iter().try_for_each(|&inst| search.changed(inst))?;
        known.disturbed(disturbed, |object| search.join(object));
        while let Some(object) = search.work.pop() {
            if is_slot(code, object) {
                search.uses(object)?;
            }
        }
        let mut question = search.question;
        question.all.extend(&question.users);
        Some(question)
    }

    pub(super) fn step(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }
}

struct Search<'a> {
    known: &'a PrivateMemory,
    code: Code<'a>,
    dom: &'a DomTree,
    question: Question,
    /// Affected objects whose uses have not been visited.
    work: Vec<InstId>,
}

impl Search<'_> {
    fn join(&mut self, object: InstId) {
        if self.question.objects.insert(object) {
            self.work.push(object);
        }
    }

    /// Records an instruction that may have used an affected object. The objects that it accessed
    /// are affected as well.
    fn had(&mut self, inst: InstId) {
        self.question.all.insert(inst);
        let known = self.known;
        for access in known.accesses_of(inst) {
            self.join(known.dependencies.allocas[access.object as usize]);
        }
    }

    /// Adds the objects that a changed instruction uses or used.
    fn changed(&mut self, inst: InstId) -> Option<()> {
        let (body, dependencies) = (self.code.body, &self.known.dependencies);
        self.had(inst);
        dependencies.witnessed_by(inst).for_each(|object| self.join(object));
        if body.inst(inst).opcode == Opcode::Alloca {
            self.join(inst);
        }
        if body.block_of(inst).is_some() {
            self.given(inst)?;
        }
        match dependencies.addresses.contains(inst) {
            true => self.below(inst),
            false => Some(()),
        }
    }

    /// Adds the objects whose addresses are operands of an instruction, except those that are known
    /// not to be private.
    fn given(&mut self, inst: InstId) -> Option<()> {
        for &operand in self.code.body.operands(inst) {
            if let Some(object) = self.object(operand)? {
                let dependencies = &self.known.dependencies;
                if self.known.is_object(object)
                    || dependencies.witnessed_by(object).next().is_none()
                {
                    self.join(object);
                }
            }
        }
        Some(())
    }

    /// The alloca from which an address is computed.
    fn object(&mut self, address: Value) -> Option<Option<InstId>> {
        let body = self.code.body;
        let mut at = address.as_inst();
        while let Some(step) = at.filter(|&step| is_address(body, step)) {
            self.question.step()?;
            if body.inst(step).opcode == Opcode::Alloca {
                return Some(Some(step).filter(|&slot| is_slot(self.code, slot)));
            }
            at = body.operands(step).first().and_then(|operand| operand.as_inst());
        }
        Some(None)
    }

    /// Adds the objects that were accessed through addresses that depend on a changed one. An
    /// instruction that no longer uses such an address is in the list of changed instructions
    /// itself.
    fn below(&mut self, inst: InstId) -> Option<()> {
        let mut work = vec![inst];
        let mut seen: FxHashSet<InstId> = work.iter().copied().collect();
        while let Some(at) = work.pop() {
            for read in self.code.body.uses_of(at.into()) {
                self.question.step()?;
                let user = read.user;
                self.had(user);
                if self.known.dependencies.addresses.contains(user) && seen.insert(user) {
                    work.push(user);
                }
            }
        }
        Some(())
    }

    /// Visits all uses of an object, and of addresses computed from it.
    fn uses(&mut self, object: InstId) -> Option<()> {
        let body = self.code.body;
        let mut work = vec![object];
        while let Some(at) = work.pop() {
            for read in body.uses_of(at.into()) {
                self.question.step()?;
                let user = read.user;
                let Some(block) = body.block_of(user) else { continue };
                // The base of an address is its first operand.
                let is_made = is_address(body, user);
                if is_made && read.index != 0 {
                    return None;
                }
                if !self.dom.is_reachable(node_of(block)) {
                    // A phi counts even in unreachable code.
                    if body.inst(user).opcode == Opcode::Phi {
                        return None;
                    }
                    self.had(user);
                    continue;
                }
                if !self.question.users.insert(user) {
                    continue;
                }
                // If the instruction uses other objects, it used them before, or their addresses
                // have changed as well.
                self.had(user);
                if is_made {
                    work.push(user);
                }
            }
        }
        Some(())
    }
}
