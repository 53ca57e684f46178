//! Barriers of a function of the IR.

use phalanx_graph::Node;
use phalanx_ir::{GlobalName, InstId, Opcode, constant::ConstKind, flow::node_of};
use phalanx_target::{Scope, intrinsics};

use crate::lower::Code;

/// The blocks with an aligned barrier of all threads of a workgroup, in order of the function: see [`is_whole_barrier`]. O(instructions).
#[must_use]
pub fn barrier_blocks(code: Code<'_>) -> Vec<Node> {
    let has_barrier =
        |&block: &_| code.body.block_insts(block).any(|inst| is_whole_barrier(code, inst));
    code.flow.order().iter().copied().filter(has_barrier).map(node_of).collect()
}

/// Whether an instruction is an aligned barrier of all threads of a workgroup. A numbered barrier counts when its number is a constant.
#[must_use]
pub fn is_whole_barrier(code: Code<'_>, inst: InstId) -> bool {
    let body = code.body;
    if body.inst(inst).opcode != Opcode::Call {
        return false;
    }
    let Some(callee) = body.const_callee(inst) else { return false };
    let ConstKind::Global(GlobalName::Named(symbol)) = code.context.const_data(callee).kind else {
        return false;
    };
    let name = std::str::from_utf8(code.context.bytes(symbol)).ok();
    let barrier = name.and_then(intrinsics::lookup).and_then(|found| found.info.barrier);
    let is_whole =
        barrier.is_some_and(|b| b.proves_uniform_control() && b.scope == Scope::Workgroup);
    // A reduction has its predicate last: that can be anything.
    is_whole && body.call_args(inst).first().is_none_or(|number| number.as_const().is_some())
}
