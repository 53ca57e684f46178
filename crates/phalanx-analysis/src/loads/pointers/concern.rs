//! Which changes of instructions leave it as it is what pointers are made from.
//!
//! An instruction *matters* if it gives a pointer, or has an operand that is one or is made of entities or numbers as an address is. Of one that does not
//!
//! - nothing is propagated: sets are those of pointers alone;
//! - no operand is anything that could be done something with, so it is no sink, and names no root;
//! - no private memory is touched: whatever touches it has an address for an operand.
//!
//! Roots and sinks are listed in the order of instructions that matter, and what stands between these does not count. So if no changed instruction
//! matters, or did when the answer was made, everything is as it was; private memory and the graph are the same then, or whoever keeps the
//! answer knows that they are not.
//!
//! **Complexity.** O(operands of changed instructions); constants are looked through only if they are made of others.

use phalanx_ir::{Const, InstId, ValueKind, constant::ConstKind};

use super::{PointerFlow, entities, has_number, is_pointer};
use crate::lower::Code;

impl PointerFlow {
    /// Whether anything here may be otherwise after these instructions were inserted, removed, moved or changed. The graph and private
    /// memory are the same.
    #[must_use]
    pub fn concerns(&self, code: Code<'_>, changed: &[InstId]) -> bool {
        changed.iter().any(|&inst| self.concerned.contains(inst) || matters(code, inst))
    }
}

/// Whether an instruction has to do with pointers. See the [module documentation](self).
pub(super) fn matters(code: Code<'_>, inst: InstId) -> bool {
    let body = code.body;
    let is_address = |&operand: &phalanx_ir::Value| match operand.kind() {
        ValueKind::Inst(inst) => is_pointer(code, body.inst(inst).ty),
        ValueKind::Arg(position) => match code.header.params.get(position as usize) {
            Some(&ty) => is_pointer(code, ty),
            None => true,
        },
        ValueKind::Const(constant) => names_something(code, constant),
        ValueKind::Block(_) | ValueKind::Metadata(_) => false,
    };
    is_pointer(code, body.inst(inst).ty) || body.operands(inst).iter().any(is_address)
}

fn names_something(code: Code<'_>, constant: Const) -> bool {
    let kind = &code.context.const_data(constant).kind;
    // Most constants are plain numbers.
    let is_leaf = kind.parts().is_empty() && kind.entity().is_none();
    let may_be_number =
        matches!(kind, ConstKind::Expr(_) | ConstKind::BlockAddress { .. } | ConstKind::PtrAuth(_));
    (!is_leaf || may_be_number)
        && (has_number(code, constant) || !entities(code, constant).is_empty())
}
