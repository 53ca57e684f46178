//! What a dominating branch proves about a condition.
//!
//! If a block has one predecessor, and that ends in a two-way branch, then the block is executed
//! only after the condition held, or only after it did not. The same is true of all blocks that it
//! dominates. There the condition is a constant, and it may decide another comparison
//! ([`implied`]). If an `and` held, both operands held; if an `or` did not hold, neither operand
//! did. Selections that stand for `and` or `or` work likewise.
//!
//! ```text
//!   br i1 %c, label %then, label %else
//! then:                                ; %then has one predecessor: here %c is true
//!   %x = select i1 %c, i32 %a, i32 %b  ; %a
//! ```
//!
//! Every thread has taken that edge itself, so groups of threads do not matter. A condition that
//! was branched on was neither poison nor `undef`, whatever its operands are.
//!
//! Cost: O(1), since the number of dominators is bounded.

use phalanx_graph::DomTree;
use phalanx_ir::{
    BlockId, Opcode, Type, Value,
    flow::{block_of, node_of},
};
use smallvec::{SmallVec, smallvec};

use crate::{code::Code, jump_threading::implied};

/// How many dominators the search visits at most.
const DOMINATORS: usize = 8;
/// How many operands of `and`, `or` and selections the search visits at most.
const PARTS: usize = 8;

/// The constant that a condition is in a reachable block, if a dominating branch shows it.
pub(crate) fn known_at(
    code: &Code<'_>,
    dom: &DomTree,
    block: BlockId,
    condition: Value,
) -> Option<bool> {
    if condition.as_inst().is_none() && condition.as_arg().is_none()
        || code.type_of(condition) != Type::I1
    {
        return None;
    }
    let mut at = node_of(block);
    for _ in 0..DOMINATORS {
        let above = dom.idom(at)?;
        if let Some(shown) = branch(code, block_of(above), block_of(at))
            && let Some(holds) = follows(code, shown, condition)
        {
            return Some(holds);
        }
        at = above;
    }
    None
}

/// The condition of the branch that ends `from`, and whether it holds on the edge to `to`; none
/// unless that edge is the only way into `to`.
fn branch(code: &Code<'_>, from: BlockId, to: BlockId) -> Option<(Value, bool)> {
    let terminator = code.body.terminator(from)?;
    let &[yes, no] = code.flow.successors(from) else { return None };
    let is_branch = code.body.inst(terminator).opcode == Opcode::Br && yes != no;
    if !is_branch || code.flow.in_degree(to) != 1 || (yes != to && no != to) {
        return None;
    }
    Some((code.body.operands(terminator)[0], yes == to))
}

/// What a condition is, given that another one holds or does not hold.
fn follows(code: &Code<'_>, shown: (Value, bool), condition: Value) -> Option<bool> {
    let mut work: SmallVec<[(Value, bool); PARTS]> = smallvec![shown];
    for _ in 0..PARTS {
        let (value, holds) = work.pop()?;
        if value == condition {
            return Some(holds);
        }
        let Some(inst) = value.as_inst() else { continue };
        let operands = code.body.operands(inst);
        let is = |value: Value, bit: u128| code.int(value) == Some(bit);
        match code.body.inst(inst).opcode {
            Opcode::ICmp => {
                let asked = condition.as_inst();
                if let Some(found) = asked.and_then(|asked| implied(code, (inst, holds), asked)) {
                    return Some(found);
                }
            }
            Opcode::And if holds => work.extend(operands.iter().map(|&part| (part, true))),
            Opcode::Or if !holds => work.extend(operands.iter().map(|&part| (part, false))),
            Opcode::Xor if is(operands[1], 1) => work.push((operands[0], !holds)),
            Opcode::Select if holds && is(operands[2], 0) => {
                work.extend([(operands[0], true), (operands[1], true)]);
            }
            Opcode::Select if holds && is(operands[1], 0) => {
                work.extend([(operands[0], false), (operands[2], true)]);
            }
            Opcode::Select if !holds && is(operands[1], 1) => {
                work.extend([(operands[0], false), (operands[2], false)]);
            }
            Opcode::Select if !holds && is(operands[2], 1) => {
                work.extend([(operands[0], true), (operands[1], false)]);
            }
            _ => {}
        }
    }
    None
}
