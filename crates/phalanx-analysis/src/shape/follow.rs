//! Shapes after an edit.
//!
//! The form of a value is a function of its operands' forms, and nothing goes round: a changed
//! instruction is found again, and whoever reads it if it has become another, until nothing does.
//! The order does not matter to the result. What nobody has asked for yet has been read by nobody.
//!
//! Whether a value can be poison in some threads only follows from the atoms of its form, which it
//! may have by way of operands that are no atoms. So where that becomes otherwise of an atom,
//! whoever has the atom in its form counts as another one.
//!
//! O(values whose form changes and their users). Gives up after as many steps as there are
//! instructions.

use std::{cmp::Reverse, collections::BinaryHeap};

use phalanx_core::affect::Value;
use phalanx_ir::{InstId, Opcode, Value as Operand};
use smallvec::SmallVec;

use super::{Place, Shapes, asks, form::Form, strides};

/// An instruction that is to be found again, in the order of numbers.
pub(super) type Queued = Reverse<(u32, InstId)>;

/// What an edit has made of shapes.
#[derive(Debug)]
pub(crate) struct Followed {
    /// Instructions that changed, and all whose rule may have become another one.
    pub(crate) rules: SmallVec<[InstId; 16]>,
    /// Those of which something else is known than before.
    pub(crate) others: Vec<InstId>,
}

impl Shapes {
    /// Brings the shapes up to date with instructions that changed, were moved, inserted or
    /// removed. None if it is better to start anew.
    pub(crate) fn follow(&mut self, place: Place<'_>, changed: &[InstId]) -> Option<Followed> {
        if self.is_circular {
            return None;
        }
        self.grow(place);
        let body = place.code.body;
        let (mut rules, mut others) = (SmallVec::from_slice(changed), Vec::new());
        // Atoms that have become poison in some threads only, or are it no more.
        let mut turned: SmallVec<[Value; 4]> = SmallVec::new();
        let number = |inst: InstId| inst.into_raw().into_u32();
        let mut edited: SmallVec<[u32; 8]> = SmallVec::new();
        // Numbers are near the order of the program, in which everything is found again once.
        let mut room = std::mem::take(&mut self.room);
        for &inst in changed {
            edited.push(number(inst));
            room.push(Reverse((number(inst), inst)));
        }
        edited.sort_unstable();
        let mut queue = BinaryHeap::from(room);
        let mut left = body.id_count() + 64;
        while let Some(Reverse((_, inst))) = queue.pop() {
            // It may wait for several operands.
            while queue.peek().is_some_and(|Reverse((_, next))| *next == inst) {
                queue.pop();
            }
            left = left.checked_sub(1)?;
            let value = place.numbering.inst(inst);
            let before = self.fact(value);
            let is_renewed = before.is_known() && self.renew(place, inst);
            let now = self.fact(value);
            if (before.form, now.form) == (0, 0) && before.is_defined != now.is_defined {
                turned.push(value);
            }
            let has_turned = |form: &Form| form.rest.values().any(|atom| turned.contains(&atom));
            let is_other = is_renewed
                || before.is_known()
                    && !turned.is_empty()
                    && self.form_of(now).is_some_and(has_turned);
            if is_other {
                others.push(inst);
            }
            // Who looks at the instruction itself and not at its shape only.
            let is_edited = edited.binary_search(&number(inst)).is_ok();
            if !is_other && !is_edited {
                continue;
            }
            strides::behind(body, inst, is_edited, |compare| rules.push(compare));
            for user in body.uses_of(Operand::inst(inst)).map(|use_| use_.user) {
                let opcode = body.inst(user).opcode;
                if asks(opcode) || opcode == Opcode::Phi {
                    rules.push(user);
                }
                let is_to_find = is_other && opcode != Opcode::Phi || opcode == Opcode::Select;
                let is_found = || self.fact(place.numbering.inst(user)).is_known();
                if is_to_find && is_found() {
                    queue.push(Reverse((number(user), user)));
                }
            }
        }
        self.room = queue.into_vec();
        self.can_be_followed().then_some(Followed { rules, others })
    }
}
