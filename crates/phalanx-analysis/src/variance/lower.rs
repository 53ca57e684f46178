//! Finds the barriers of a function of the IR.

use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, flow::node_of};
use phalanx_target::{Scope, intrinsics::Family};

use crate::code::Code;

/// The blocks with an aligned barrier of all threads of a workgroup, in order of the function: see
/// [`is_whole_barrier`]. O(instructions).
#[must_use]
pub fn barrier_blocks(code: Code<'_>) -> Vec<Node> {
    let has_barrier =
        |&block: &_| code.body.block_insts(block).any(|inst| is_whole_barrier(code, inst));
    code.flow.order().iter().copied().filter(has_barrier).map(node_of).collect()
}

/// Whether an instruction is an aligned barrier of all threads of a workgroup. A numbered barrier
/// counts when its number is a constant.
#[must_use]
pub fn is_whole_barrier(code: Code<'_>, inst: InstId) -> bool {
    let body = code.body;
    if body.inst(inst).opcode != Opcode::Call {
        return false;
    }
    let Some(found) = code.called_intrinsic(inst) else { return false };
    let is_whole = found
        .info
        .barrier
        .is_some_and(|b| b.proves_uniform_control() && b.scope == Scope::Workgroup);
    // A barrier with a reduction has its predicate as the last operand, which can be any value.
    // Barriers of libraries have no number.
    is_whole
        && (found.family == Family::Library
            || body.call_args(inst).first().is_none_or(|number| number.as_const().is_some()))
}
