//! Whether a branch lets only a few lanes of a wave come to an instruction.
//!
//! ```c
//! if ((threadIdx.x & 31) == 0)
//!   atomicAdd(sum, partial);    // one lane of each wave
//! ```
//!
//! A block is guarded by the branches that dominate it on one side only. A guard lets few lanes
//! come if it compares a value that differs between lanes for equality, or asks for a number below
//! one, alone or together with other conditions (`&&`). A condition that is no comparison (an
//! elected lane, a flag) may choose one lane, and is assumed to. All other conditions (`i < n`,
//! `a[i] > 0`) let many lanes come. O(dominators of the block).

use phalanx_graph::Node;
use phalanx_ir::{
    InstId, Opcode, Value,
    flow::{block_of, node_of},
    inst::IntPredicate,
};
use phalanx_target::Scope;

use super::{Facts, sites::integer};
use crate::code::Numbering;

/// How many parts of a condition are looked at.
const PARTS: usize = 16;

/// Whether few lanes of a wave come to an instruction, as far as its guards tell.
pub(super) fn lanes_come(facts: Facts<'_>, inst: InstId) -> bool {
    let Some(block) = facts.code.body.block_of(inst) else { return true };
    let mut at = node_of(block);
    while let Some(above) = facts.dom.idom(at) {
        if let Some((condition, side)) = guard(facts, above, at)
            && lets_few(facts, condition, side)
        {
            return true;
        }
        at = above;
    }
    false
}

/// The condition under which threads go from a block to one that it immediately dominates, and the
/// value that the condition then has.
fn guard(facts: Facts<'_>, above: Node, below: Node) -> Option<(Value, bool)> {
    if facts.cfg.predecessors(below).len() != 1 {
        return None;
    }
    let last = facts.code.body.terminator(block_of(above))?;
    let [yes, no] = facts.cfg.successors(above) else { return None };
    let is_branch = facts.code.body.inst(last).opcode == Opcode::Br;
    let condition = *facts.code.body.operands(last).first()?;
    (is_branch && yes != no).then_some((condition, *yes == below))
}

/// Whether a condition has the value `side` in few lanes.
fn lets_few(facts: Facts<'_>, condition: Value, side: bool) -> bool {
    let body = facts.code.body;
    let mut work = vec![(condition, side)];
    for _ in 0..PARTS {
        let Some((value, side)) = work.pop() else { return false };
        if !varies(facts, value) {
            continue;
        }
        let Some(inst) = value.as_inst() else { return true };
        let operands = body.operands(inst);
        let data = body.inst(inst);
        match (data.opcode, side) {
            (Opcode::ICmp, _) => {
                let bound = integer(facts.code, operands[1]);
                match (data.int_predicate(), side) {
                    (IntPredicate::Eq, true) | (IntPredicate::Ne, false) => return true,
                    (IntPredicate::Ult | IntPredicate::Slt, true)
                    | (IntPredicate::Uge | IntPredicate::Sge, false)
                        if bound.is_some_and(|bound| bound <= 1) =>
                    {
                        return true;
                    }
                    _ => {}
                }
            }
            (Opcode::FCmp, _) => {}
            (Opcode::And, true) | (Opcode::Or, false) => {
                work.extend(operands.iter().map(|&part| (part, side)));
            }
            // `a && b` and `a || b`.
            (Opcode::Select, _) => work.extend(operands.iter().map(|&part| (part, side))),
            (Opcode::Xor, _) => work.push((operands[0], !side)),
            // One part may hold in few lanes, and the other in many.
            (Opcode::And | Opcode::Or, _) => {}
            _ => return true,
        }
    }
    false
}

/// Whether a value differs between lanes of a wave.
fn varies(facts: Facts<'_>, value: Value) -> bool {
    let number = Numbering::new(facts.code.header).operand(value);
    number
        .is_some_and(|number| facts.divergence.value(number).intersects(facts.varying(Scope::Wave)))
}
