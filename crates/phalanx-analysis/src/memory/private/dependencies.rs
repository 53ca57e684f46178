//! The dependency set of private memory: which edits of instructions cannot change it.
//!
//! # What
//!
//! [`PrivateMemory`] depends on the allocas, on the escapes of their addresses, and on the accesses
//! of the allocas that do not escape. So it stays the same unless a changed instruction
//!
//! - is an alloca, or the address of a private object;
//! - is a *witness* of an object that is not private: the instruction that lets its address escape,
//!   or a step from the object to that instruction. As long as the witnesses are unchanged, other
//!   uses of the object do not matter;
//! - has, or had, the address of a private object as an operand, and its access has changed or
//!   moved. A store of another value is the same access, and so is a load of another type of the
//!   same size. A comparison is no access.
//!
//! If only objects with addresses are wanted ([`Wanted::Addresses`]), integers count as addresses
//! if the function converts an integer to a pointer. One such instruction is recorded. If there is
//! none, an edit may not add one.
//!
//! If calls are followed, a change of any instruction that uses an address of an object counts.
//!
//! # How
//!
//! The dependency set consists of sets of instructions and of the accesses of each instruction. For
//! a changed instruction, the accesses are computed from its operands again and compared. An
//! instruction has not moved if its neighbours among the touching instructions are the same as
//! before, since unchanged instructions keep their order. The search for neighbours steps over a
//! bounded number of other instructions.
//!
//! **Complexity.** O(operands of changed instructions), times the steps of an address.

use phalanx_ir::{Body, InstId, Opcode, Value, flow::node_of};

use smallvec::SmallVec;

use super::PrivateMemory;
use super::accesses::{Access, Reach, Wanted};
use super::objects::{is_address, is_cast, number};
use super::scan::Scan;
use crate::code::{Code, Environment};
use crate::memory::{by_inst::InstSet, place::neighbours};

/// What the answer depends on. May contain more than necessary.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DependencySet {
    /// Private objects, and addresses computed from them.
    pub(super) addresses: InstSet,
    /// Other instructions with such an address as an operand.
    pub(super) users: InstSet,
    /// Witnesses of objects that are not private, each with its object, sorted.
    pub(super) witnesses: Vec<(InstId, InstId)>,
    /// Accesses of private objects, in the order of [`PrivateMemory::touches`].
    pub(super) accesses: Vec<Access>,
    /// By the number of an object in `accesses`: its alloca.
    pub(super) allocas: Vec<InstId>,
    /// Objects that are not put into SSA form, because they have no wanted access.
    pub(super) unwanted: InstSet,
    /// One instruction that converts an integer to a pointer, if that matters.
    pub(super) cast: Option<InstId>,
    /// The reach of the scan. `None` if no dependencies are recorded.
    pub(super) reach: Option<Reach>,
}

impl DependencySet {
    pub(super) fn new(reach: Reach) -> Self {
        DependencySet { reach: Some(reach), ..DependencySet::default() }
    }

    pub(super) fn is_known(&self) -> bool {
        self.reach.is_some()
    }

    /// The objects of which an instruction is a witness.
    pub(super) fn witnessed_by(&self, inst: InstId) -> impl Iterator<Item = InstId> + '_ {
        let first = self.witnesses.partition_point(|(by, _)| number(*by) < number(inst));
        let own = self.witnesses[first..].iter().take_while(move |(by, _)| *by == inst);
        own.map(|&(_, object)| object)
    }
}

impl PrivateMemory {
    /// Whether an instruction gives an address of an object, over any number of steps. Not known if
    /// calls are followed.
    pub(in crate::memory) fn is_address(&self, inst: InstId) -> bool {
        self.dependencies.addresses.contains(inst)
    }

    /// Whether this answer, apart from origins, may change when these instructions are inserted,
    /// removed, moved or changed. The graph has to be the same, unless there were no objects.
    #[must_use]
    pub fn objects_depend_on(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        changed: &[InstId],
    ) -> bool {
        let dependencies = &self.dependencies;
        let updated = changed.iter().filter(|&&inst| self.depends_on_at_all(code, inst));
        let mut updated = updated.copied();
        let Some(reach) = dependencies.reach else { return updated.next().is_some() };
        if self.has_other_casts(code.body, changed) {
            return true;
        }
        updated.any(|inst| {
            let has_address = self.addresses_of(code.body, inst).next().is_some();
            code.body.inst(inst).opcode == Opcode::Alloca
                || dependencies.witnessed_by(inst).next().is_some()
                || dependencies.addresses.contains(inst)
                || (has_address || dependencies.users.contains(inst))
                    && !self.is_as_before(code, env, reach, inst)
        })
    }

    /// Whether the function may have got its first conversion of an integer to a pointer, or lost
    /// the recorded one, if that matters.
    fn has_other_casts(&self, body: &Body, changed: &[InstId]) -> bool {
        let matters = self.dependencies.reach.is_some_and(|reach| reach.wanted != Wanted::All);
        matters
            && match self.dependencies.cast {
                Some(cast) => !is_cast(body, cast),
                None => changed.iter().any(|&inst| is_cast(body, inst)),
            }
    }

    /// The operands of an instruction that are addresses of private objects, with their positions.
    fn addresses_of<'b>(
        &'b self,
        body: &'b Body,
        inst: InstId,
    ) -> impl Iterator<Item = (usize, InstId)> + 'b {
        let operands = body.operands(inst).iter().enumerate();
        let insts = operands.filter_map(|(at, operand)| Some((at, operand.as_inst()?)));
        insts.filter(|(_, operand)| {
            self.dependencies.addresses.contains(*operand) && is_address(body, *operand)
        })
    }

    /// Whether an instruction accesses private objects as before, and has not moved among the
    /// instructions that do.
    fn is_as_before(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        reach: Reach,
        inst: InstId,
    ) -> bool {
        // The instruction was removed. That changes nothing if it had no touches.
        let Some(block) = code.body.block_of(inst) else { return self.of(inst).is_empty() };
        let mut again = Scan::of_one(code, env, reach);
        for (position, operand) in self.addresses_of(code.body, inst) {
            if !again.look_at(inst, node_of(block), (position, Value::inst(operand)), |_| None) {
                return false;
            }
        }
        // A call has an address as an argument, even if it does not access the object.
        if self.is_plain && !again.is_plain() {
            return false;
        }
        let before = self.accesses_of(inst);
        let is_wanted = |access: &&Access| {
            access.has_address || !self.dependencies.unwanted.contains(again.alloca(access))
        };
        let now: SmallVec<[&Access; 4]> = again.accesses().iter().filter(is_wanted).collect();
        let is_equal = |(a, b): (&Access, &&Access)| {
            let is_same = again.alloca(b) == self.dependencies.allocas[a.object as usize];
            is_same && *a == Access { object: a.object, ..**b }
        };
        before.len() == now.len()
            && before.iter().zip(&now).all(is_equal)
            && (self.of(inst).is_empty() || self.is_in_place(code.body, inst).unwrap_or(false))
    }

    /// The recorded accesses of an instruction.
    pub(super) fn accesses_of(&self, inst: InstId) -> &[Access] {
        let Some(first) = self.of(inst).first() else { return &[] };
        let rest = &self.dependencies.accesses[first.access as usize..];
        let count = rest.iter().take_while(|access| access.inst == inst).count();
        &rest[..count]
    }

    /// Whether the touching instructions before and behind one are the same as before. `None` if
    /// they are too far away.
    fn is_in_place(&self, body: &Body, inst: InstId) -> Option<bool> {
        let touches = self.of(inst);
        let (first, last) = (touches.first()?.event, touches.last()?.event);
        let events = self.events.of(node_of(body.block_of(inst)?));
        if !events.contains(&first) {
            return Some(false);
        }
        let at = |event: Option<u32>| event.map(|event| self.touch_of(event).inst);
        let was_before = at(first.checked_sub(1).filter(|event| events.contains(event)));
        let was_behind = at(Some(last + 1).filter(|event| events.contains(event)));
        let now = neighbours(body, inst, |inst| !self.of(inst).is_empty())?;
        Some(now == [was_before, was_behind])
    }
}
