//! What branches above a place show of conditions there.
//!
//! A block with one predecessor, which branches two ways, is executed where the condition of that
//! branch held, or where it did not; so is all that it dominates. The condition then is that
//! constant, and a comparison may follow from another ([`implied`]). Of an `and` that held both
//! parts did, of an `or` that did not neither did, and likewise of selections.
//!
//! Every thread has taken that way itself, so nothing is asked of groups of threads. A condition
//! that was branched on was neither poison nor `undef`, whatever its operands are.
//!
//! Cost: O(1); only some dominators are looked at.

use phalanx_graph::DomTree;
use phalanx_ir::{
    BlockId, Opcode, Type, Value,
    flow::{block_of, node_of},
};
use smallvec::{SmallVec, smallvec};

use crate::{code::Code, jump_threading::implied};

/// How many dominators are looked at.
const DOMINATORS: usize = 8;
/// How many parts of a condition are.
const PARTS: usize = 8;

/// What a condition is in a reachable block, if a branch above shows it.
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

/// The condition of the branch of a block, and whether it holds where a block is executed that is
/// reached by that branch alone.
fn branch(code: &Code<'_>, from: BlockId, to: BlockId) -> Option<(Value, bool)> {
    let terminator = code.body.terminator(from)?;
    let &[yes, no] = code.flow.successors(from) else { return None };
    let is_branch = code.body.inst(terminator).opcode == Opcode::Br && yes != no;
    if !is_branch || code.flow.in_degree(to) != 1 || (yes != to && no != to) {
        return None;
    }
    Some((code.body.operands(terminator)[0], yes == to))
}

/// What a condition is where another one holds or does not.
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
