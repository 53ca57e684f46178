//! Hoists a loop-invariant operation out of its loop.
//!
//! The operation computes a value and has no other effect, its operands are defined outside, every
//! round executes it, and no thread leaves the loop before the others. Then the group that entered
//! makes all rounds together, and each round gives every thread the same value. The loop must have
//! a preheader (`licm` and `simplifycfg` can make one).

use phalanx_core::legality::machines::Machines;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{CycleId, Node};
use phalanx_ir::{
    BlockId, InstId,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashMap;

use super::carry_out;
use crate::answers::Answers;
use crate::{code::Code, convergent::Operation, pass::PassError};

pub(super) fn run(
    db: &mut Database,
    function: FunctionInput,
    machines: Machines,
) -> Result<bool, PassError> {
    let moves = search(db, function, machines);
    carry_out(db, function, &moves, |edit, &(inst, to), locations| {
        locations.drop(edit, inst)?;
        Ok(edit.move_to_end(inst, to)?)
    })
}

fn search(db: &Database, function: FunctionInput, machines: Machines) -> Vec<(InstId, BlockId)> {
    let mut moves = Vec::new();
    let (Some(cfg), Some(cycles), Some(dfs)) =
        (queries::cfg(db, function), queries::cycles(db, function), queries::dfs(db, function))
    else {
        return moves;
    };
    let code = Code::of(db, function);
    let answers = Answers::new(db, function, machines);
    // The cycle before which an operation will be placed.
    let mut moved: FxHashMap<InstId, CycleId> = FxHashMap::default();
    // Inner cycles first: an operation that leaves one may leave the next in a later run.
    let mut order: Vec<CycleId> = cycles.iter().collect();
    order.sort_by_key(|&cycle| (std::cmp::Reverse(cycles.depth(cycle)), cycle.raw()));
    for cycle in order {
        let header = cycles.header(cycle);
        let mut before =
            cfg.predecessors(header).iter().filter(|&&p| !cycles.contains(cycle, p)).copied();
        let (Some(to), None) = (before.next(), before.next()) else { continue };
        let mut blocks: Vec<Node> = cycles.blocks(cycle).to_vec();
        blocks.retain(|&node| cycles.innermost(node) == Some(cycle));
        blocks.sort_unstable_by_key(|&node| dfs.rpo_index(node));
        // A thread that does not return from a call is missing in later rounds.
        let all_return = cycles.blocks(cycle).iter().all(|&node| {
            code.body.block_insts(block_of(node)).all(|inst| {
                let is_call = code.body.inst(inst).opcode.is_call();
                !is_call || code.call(inst).comes_back()
            })
        });
        if !all_return {
            continue;
        }
        for &node in &blocks {
            for inst in code.body.block_insts(block_of(node)) {
                let Some(operation) = Operation::of(&code, inst) else { continue };
                let is_outside = code.body.operands(inst).iter().all(|operand| {
                    let Some(read) = operand.as_inst() else { return true };
                    if let Some(&before) = moved.get(&read) {
                        return before == cycle || !cycles.contains_cycle(cycle, before);
                    }
                    let block = code.body.block_of(read).map(node_of);
                    block.is_some_and(|block| !cycles.contains(cycle, block))
                });
                if operation.is_pure()
                    && is_outside
                    && !moved.contains_key(&inst)
                    && answers
                        .at(operation.scope)
                        .is_some_and(|legality| legality.hoist(node, to, false).is_ok())
                {
                    moved.insert(inst, cycle);
                    moves.push((inst, block_of(to)));
                }
            }
        }
    }
    moves
}
