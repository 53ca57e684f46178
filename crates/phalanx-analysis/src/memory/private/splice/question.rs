//! Which objects are in question after an edit, and who has to do with them.
//!
//! # What
//!
//! An object is in question if what is said of it may be something else:
//!
//! - it is a changed alloca, or one that is there for the first time;
//! - a changed instruction was given its address and did something with it, or is given it now;
//! - it was not private, and a changed instruction was part of why: only then can it become
//!   private;
//! - it was accessed through an address that hangs on a changed one;
//! - the graph was edited, and its slots may have [another form](Disturbed) for that;
//! - an instruction did something with it that has to do with another object in question, or had.
//!   So no instruction has touches of an object in question and of another.
//!
//! An object that is not private for a reason that has not changed is not in question, whatever
//! else is done with it. What stands where nobody comes does nothing, unless it is a phi.
//!
//! # How
//!
//! Addresses are followed up along their first operands, and down along def-use lists. An
//! instruction that did something with an object in question either has changed, or hangs on an
//! address that has changed, or uses the object still; so all of them are met, and nothing is
//! searched for in tables of touches.
//!
//! More than a bounded number of uses and steps is not worth it; then there is no answer. O(uses
//! and steps).

use phalanx_graph::DomTree;
use phalanx_ir::{InstId, Opcode, Value, flow::node_of};
use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::memory::{
    private::{PrivateMemory, follow::is_slot, is_address},
    ssa::Disturbed,
};
use crate::policy::PRIVATE_STEPS;

/// Objects in question, and who has to do with them.
pub(super) struct Question {
    /// Objects, also those that are none any more.
    pub(super) objects: FxHashSet<InstId>,
    /// Instructions with the address of one for an operand.
    pub(super) users: FxHashSet<InstId>,
    /// These, and all others that may have had one.
    pub(super) all: FxHashSet<InstId>,
    /// How many uses and steps may still be looked at.
    pub(super) left: usize,
}

impl Question {
    /// What is in question after these instructions were inserted, removed, moved or changed, and
    /// this was disturbed. None if there is too much to look at, or something that is not looked
    /// into.
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
    /// Objects in question whose uses have not been looked at.
    work: Vec<InstId>,
}

impl Search<'_> {
    fn join(&mut self, object: InstId) {
        if self.question.objects.insert(object) {
            self.work.push(object);
        }
    }

    /// Notes an instruction that may have had to do with an object in question, and joins those
    /// that it did something with.
    fn had(&mut self, inst: InstId) {
        self.question.all.insert(inst);
        let known = self.known;
        for access in known.accesses_of(inst) {
            self.join(known.concern.allocas[access.object as usize]);
        }
    }

    /// Joins the objects with which a changed instruction has to do, or had.
    fn changed(&mut self, inst: InstId) -> Option<()> {
        let (body, concern) = (self.code.body, &self.known.concern);
        self.had(inst);
        concern.witnessed_by(inst).for_each(|object| self.join(object));
        if body.inst(inst).opcode == Opcode::Alloca {
            self.join(inst);
        }
        if body.block_of(inst).is_some() {
            self.given(inst)?;
        }
        match concern.addresses.contains(inst) {
            true => self.below(inst),
            false => Some(()),
        }
    }

    /// Joins the objects whose addresses an instruction has for operands, but for those that are
    /// known not to be private.
    fn given(&mut self, inst: InstId) -> Option<()> {
        for &operand in self.code.body.operands(inst) {
            if let Some(object) = self.object(operand)? {
                let concern = &self.known.concern;
                if self.known.is_object(object) || concern.witnessed_by(object).next().is_none() {
                    self.join(object);
                }
            }
        }
        Some(())
    }

    /// The stack slot that an address is made from.
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

    /// Joins what was accessed through addresses that hang on one that has changed. Whoever was
    /// given it and is no longer has changed as well.
    fn below(&mut self, inst: InstId) -> Option<()> {
        let mut work = vec![inst];
        let mut seen: FxHashSet<InstId> = work.iter().copied().collect();
        while let Some(at) = work.pop() {
            for read in self.code.body.uses_of(at.into()) {
                self.question.step()?;
                let user = read.user;
                self.had(user);
                if self.known.concern.addresses.contains(user) && seen.insert(user) {
                    work.push(user);
                }
            }
        }
        Some(())
    }

    /// Looks at all uses of an object, and of what is made from it.
    fn uses(&mut self, object: InstId) -> Option<()> {
        let body = self.code.body;
        let mut work = vec![object];
        while let Some(at) = work.pop() {
            for read in body.uses_of(at.into()) {
                self.question.step()?;
                let user = read.user;
                let Some(block) = body.block_of(user) else { continue };
                // What an address is made from stands first.
                let is_made = is_address(body, user);
                if is_made && read.index != 0 {
                    return None;
                }
                if !self.dom.is_reachable(node_of(block)) {
                    // A phi counts where nobody comes, too.
                    if body.inst(user).opcode == Opcode::Phi {
                        return None;
                    }
                    self.had(user);
                    continue;
                }
                if !self.question.users.insert(user) {
                    continue;
                }
                // What it does with other objects, it did before, or their addresses have changed
                // as well.
                self.had(user);
                if is_made {
                    work.push(user);
                }
            }
        }
        Some(())
    }
}
