//! Shapes after an edit.
//!
//! The form of a value is a function of its operands' forms, and nothing goes round: a changed instruction is found again, and
//! whoever reads it if it has become another, until nothing does. The order does not matter to the result.
//!
//! O(values whose form changes and their users). Gives up after as many steps as there are instructions.

use std::collections::VecDeque;

use phalanx_ir::{InstId, Opcode, Value as Operand};
use rustc_hash::FxHashSet;

use super::{Place, Shapes, looks};

impl Shapes {
    /// Brings the shapes up to date with instructions that changed, were moved, inserted or removed; gives these and all
    /// whose rule may have become another one. None if it is better to start anew.
    pub(crate) fn follow(&mut self, place: Place<'_>, changed: &[InstId]) -> Option<Vec<InstId>> {
        self.grow(place);
        let body = place.code.body;
        let mut out = changed.to_vec();
        let mut queue: VecDeque<InstId> = changed.iter().copied().collect();
        let mut waiting: FxHashSet<InstId> = changed.iter().copied().collect();
        let mut edited = waiting.clone();
        let mut left = body.id_count() + 64;
        while let Some(inst) = queue.pop_front() {
            waiting.remove(&inst);
            left = left.checked_sub(1)?;
            let is_other = self.renew(place, inst);
            // Who looks at the instruction itself and not at its shape only.
            let is_edited = edited.remove(&inst);
            if !is_other && !is_edited {
                continue;
            }
            for user in body.uses_of(Operand::inst(inst)).map(|use_| use_.user) {
                let opcode = body.inst(user).opcode;
                if !looks(opcode) {
                    continue;
                }
                out.push(user);
                let is_to_find = is_other && opcode != Opcode::Phi || opcode == Opcode::Select;
                if is_to_find && waiting.insert(user) {
                    queue.push_back(user);
                }
            }
        }
        (!self.is_crowded()).then_some(out)
    }
}
