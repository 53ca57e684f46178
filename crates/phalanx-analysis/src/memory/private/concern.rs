//! Which changes of instructions leave private memory as it is.
//!
//! # What
//!
//! What [`PrivateMemory`] says follows from the allocas, from who lets the address of which escape,
//! and from what is done with the others. So it stays as it is unless a changed instruction
//!
//! - is an alloca, or the address of a private object;
//! - is the *witness* of an object that is not private: one instruction that lets its address
//!   escape, or one of the steps from the object to there. While that stands, whatever else is done
//!   with the object is nothing to private memory;
//! - has, or had, the address of a private object for an operand, and does not do with it what it
//!   did, or not where. A store of another value does, and a load of another type of that size; and
//!   a comparison that comes or goes never did anything.
//!
//! Where objects are of no interest unless addresses are put there or loaded from there, integers
//! count as addresses if one integer at least is made a pointer: then that instruction is a
//! witness, and else there must be none.
//!
//! Where functions that are called are followed, every instruction that has to do with an object
//! counts.
//!
//! # How
//!
//! Sets of instructions, and the accesses of each instruction, which are found again from its
//! operands. An instruction is where it was among those that touch private memory if the next ones
//! before and behind it are the same as before: of all instructions that were not changed the order
//! is what it was. Instructions that touch nothing are stepped over, a bounded number of them.
//!
//! **Complexity.** O(operands of changed instructions), times the steps of an address.

use phalanx_ir::{Body, InstId, Opcode, Value, flow::node_of};

use smallvec::SmallVec;

use super::PrivateMemory;
use super::accesses::{Access, Reach, Wanted};
use super::objects::{is_address, is_cast, number};
use super::scan::Scan;
use crate::code::{Code, Surroundings};
use crate::memory::{by_inst::InstSet, place::neighbours};

/// What the answer hangs on: all of that, and maybe more.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Concern {
    /// Private objects, and addresses that are made from them.
    pub(super) addresses: InstSet,
    /// Other instructions that have one for an operand.
    pub(super) users: InstSet,
    /// Witnesses of objects that are not private, by number, each with its object.
    pub(super) witnesses: Vec<(InstId, InstId)>,
    /// What is done with private objects, in the order of [`PrivateMemory::touches`].
    pub(super) accesses: Vec<Access>,
    /// By the number of an object in these.
    pub(super) allocas: Vec<InstId>,
    /// Objects that are not put into SSA form, because nothing that is wanted is read from them.
    pub(super) unwanted: InstSet,
    /// One instruction that makes a pointer of an integer, where that matters.
    pub(super) cast: Option<InstId>,
    /// How all of it was found; none if nothing is known here.
    pub(super) reach: Option<Reach>,
}

impl Concern {
    pub(super) fn new(reach: Reach) -> Self {
        Concern { reach: Some(reach), ..Concern::default() }
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
    /// Whether an instruction gives an address of an object, however many steps away. Not told
    /// where calls are followed.
    pub(in crate::memory) fn is_address(&self, inst: InstId) -> bool {
        self.concern.addresses.contains(inst)
    }

    /// Whether anything here may be otherwise after these instructions were inserted, removed,
    /// moved or changed, but for where pointers come from. The graph is the same, or there were no
    /// objects.
    #[must_use]
    pub fn concerns_objects(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        changed: &[InstId],
    ) -> bool {
        let concern = &self.concern;
        let followed = changed.iter().filter(|&&inst| self.concerns_at_all(code, inst));
        let mut followed = followed.copied();
        let Some(reach) = concern.reach else { return followed.next().is_some() };
        if self.has_other_casts(code.body, changed) {
            return true;
        }
        followed.any(|inst| {
            let has_address = self.addresses_of(code.body, inst).next().is_some();
            code.body.inst(inst).opcode == Opcode::Alloca
                || concern.witnessed_by(inst).next().is_some()
                || concern.addresses.contains(inst)
                || (has_address || concern.users.contains(inst))
                    && !self.is_as_before(code, around, reach, inst)
        })
    }

    /// Whether integers may have become pointers that were none, or none any more, where that
    /// matters.
    pub(super) fn has_other_casts(&self, body: &Body, changed: &[InstId]) -> bool {
        let matters = self.concern.reach.is_some_and(|reach| reach.wanted != Wanted::All);
        matters
            && match self.concern.cast {
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
            self.concern.addresses.contains(*operand) && is_address(body, *operand)
        })
    }

    /// Whether an instruction does with private objects what it did, at the same place among those
    /// that do anything.
    fn is_as_before(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        reach: Reach,
        inst: InstId,
    ) -> bool {
        // What nobody executes any more did nothing if it had no part in this.
        let Some(block) = code.body.block_of(inst) else { return self.of(inst).is_empty() };
        let mut again = Scan::of_one(code, around, reach);
        for (position, operand) in self.addresses_of(code.body, inst) {
            if !again.look_at(inst, node_of(block), (position, Value::inst(operand)), |_| None) {
                return false;
            }
        }
        // A call that does nothing with an address has it all the same.
        if self.is_plain && !again.is_plain() {
            return false;
        }
        let before = self.accesses_of(inst);
        let is_wanted = |access: &&Access| {
            access.has_address || !self.concern.unwanted.contains(again.alloca(access))
        };
        let now: SmallVec<[&Access; 4]> = again.accesses().iter().filter(is_wanted).collect();
        let is_equal = |(a, b): (&Access, &&Access)| {
            let is_same = again.alloca(b) == self.concern.allocas[a.object as usize];
            is_same && *a == Access { object: a.object, ..**b }
        };
        before.len() == now.len()
            && before.iter().zip(&now).all(is_equal)
            && (self.of(inst).is_empty() || self.is_in_place(code.body, inst).unwrap_or(false))
    }

    /// What an instruction did.
    pub(super) fn accesses_of(&self, inst: InstId) -> &[Access] {
        let Some(first) = self.of(inst).first() else { return &[] };
        let rest = &self.concern.accesses[first.access as usize..];
        let count = rest.iter().take_while(|access| access.inst == inst).count();
        &rest[..count]
    }

    /// Whether the instructions that touch private memory before and behind one are those that they
    /// were.
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
