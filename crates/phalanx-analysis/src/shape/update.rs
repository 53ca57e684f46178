//! Incremental update of shapes after an edit.
//!
//! The form of a value depends only on its operands' forms, without cycles. So the update computes
//! the fact of each changed instruction again. If the fact has changed, it does the same for the
//! users, and so on. The order does not matter to the result. A fact that was never computed has no
//! computed users.
//!
//! Whether a value can be poison in some threads only depends on the atoms of its form, which may
//! be operands of operands. So if this changes for an atom, all values with the atom in their form
//! count as changed.
//!
//! O(values whose form changes + their users). The update gives up after as many steps as there are
//! instructions.

use std::{cmp::Reverse, collections::BinaryHeap};

use phalanx_core::affect::Value;
use phalanx_ir::{InstId, Opcode, Value as Operand};
use smallvec::SmallVec;

use super::{ShapeContext, Shapes, asks, form::Form, strides};

/// An instruction to compute again, ordered by number.
pub(super) type Queued = Reverse<(u32, InstId)>;

/// The effect of an edit on shapes.
#[derive(Debug)]
pub(crate) struct UpdatedShapes {
    /// Instructions that were edited, and those whose rule may have changed.
    pub(crate) rules: SmallVec<[InstId; 16]>,
    /// Instructions whose facts have changed.
    pub(crate) others: Vec<InstId>,
}

impl Shapes {
    /// Updates shapes after instructions were changed, moved, inserted or removed. `None` if a new
    /// start is better.
    pub(crate) fn update(
        &mut self,
        place: ShapeContext<'_>,
        changed: &[InstId],
    ) -> Option<UpdatedShapes> {
        if self.is_circular {
            return None;
        }
        self.grow(place);
        let body = place.code.body;
        let (mut rules, mut others) = (SmallVec::from_slice(changed), Vec::new());
        // Atoms whose `is_defined` has changed.
        let mut turned: SmallVec<[Value; 4]> = SmallVec::new();
        let number = |inst: InstId| inst.into_raw().into_u32();
        let mut edited: SmallVec<[u32; 8]> = SmallVec::new();
        // In program order each fact is computed once. The order of numbers is close to it.
        let mut room = std::mem::take(&mut self.room);
        for &inst in changed {
            edited.push(number(inst));
            room.push(Reverse((number(inst), inst)));
        }
        edited.sort_unstable();
        let mut queue = BinaryHeap::from(room);
        let mut left = body.id_count() + 64;
        while let Some(Reverse((_, inst))) = queue.pop() {
            // An instruction may be queued several times.
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
            // Users may depend on the instruction itself, not only on its shape.
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
        self.can_be_updated().then_some(UpdatedShapes { rules, others })
    }
}
