//! Redirects jumps past empty blocks.
//!
//! A block that holds only phis and a jump is bypassed: its predecessors lead to its successor,
//! whose phis take the values. The header of a cycle stays. So every other block keeps the chain of
//! headers around it, and all groups of threads stay: the depth-first search visits the successor
//! at the time when it visited the empty block.
//!
//! A block stays when a predecessor already leads to the successor with a different value, or when
//! phis of the block are read elsewhere.

use phalanx_graph::{Cfg, Cycles};
use phalanx_ir::{
    BlockId, InstId, Opcode, Value,
    edit::Transaction,
    flow::{block_of, node_of},
    metadata::kind,
};
use smallvec::SmallVec;

use super::{erase, graph, has_address};
use crate::pass::PassError;

/// Bypasses empty blocks; returns whether there were any.
pub(super) fn run(edit: &mut Transaction<'_>) -> Result<bool, PassError> {
    let order = targets_first(edit);
    if order.is_empty() {
        return Ok(false);
    }
    let Some((cfg, cycles)) = graph(edit) else { return Ok(false) };
    // Only in a ring of empty blocks is one asked about after edges were moved to it.
    let mut has_more = vec![false; edit.flow().id_count()];
    let mut gone = Vec::new();
    for block in order {
        let Some(to) = target(edit, block) else { continue };
        let from = predecessors(&cfg, block);
        if has_more[node_of(block).index()] || !can_pass(edit, &cycles, block, to, &from) {
            continue;
        }
        pass(edit, block, to, &from)?;
        has_more[node_of(to).index()] = true;
        gone.push(block);
    }
    erase(edit, &gone)?;
    Ok(!gone.is_empty())
}

/// Empty blocks, each behind the empty block that it leads to. So an edge is moved once, not along
/// a chain of empty joins block by block.
fn targets_first(edit: &Transaction<'_>) -> Vec<BlockId> {
    let mut all = Vec::new();
    let mut seen = vec![false; edit.flow().id_count()];
    let mut chain = Vec::new();
    for &first in edit.flow().order() {
        let mut block = first;
        while let Some(to) = target(edit, block)
            && !std::mem::replace(&mut seen[node_of(block).index()], true)
        {
            chain.push(block);
            block = to;
        }
        all.extend(chain.drain(..).rev());
    }
    all
}

fn predecessors(cfg: &Cfg, block: BlockId) -> SmallVec<[BlockId; 4]> {
    let mut all: SmallVec<[BlockId; 4]> =
        cfg.predecessors(node_of(block)).iter().map(|&node| block_of(node)).collect();
    all.sort_unstable_by_key(|from| from.into_raw().into_u32());
    all.dedup();
    all
}

/// Where a block that holds nothing but phis and a jump leads.
fn target(edit: &Transaction<'_>, block: BlockId) -> Option<BlockId> {
    let body = edit.body();
    let terminator = body.terminator(block)?;
    let first = body.block_insts(block).find(|&inst| body.inst(inst).opcode != Opcode::Phi)?;
    let &[to] = edit.flow().successors(block) else { return None };
    let is_loop = edit.extras().attachments_of(terminator).any(|a| a.kind == kind::LOOP);
    let is_jump = first == terminator && body.inst(terminator).opcode == Opcode::Br;
    (is_jump && to != block && !is_loop && edit.flow().entry() != Some(block)).then_some(to)
}

fn can_pass(
    edit: &Transaction<'_>,
    cycles: &Cycles,
    block: BlockId,
    to: BlockId,
    from: &[BlockId],
) -> bool {
    let body = edit.body();
    if from.is_empty() || cycles.is_header(node_of(block)) || has_address(edit, block) {
        return false;
    }
    // With one predecessor that jumps, merging the blocks is simpler.
    if from.len() == 1 && edit.flow().successors(from[0]).len() == 1 {
        return false;
    }
    let can_redirect = |&p: &BlockId| {
        let opcode = body.terminator(p).map(|t| body.inst(t).opcode);
        p != block && matches!(opcode, Some(Opcode::Br | Opcode::Switch))
    };
    if !from.iter().all(can_redirect) {
        return false;
    }
    let is_read_there = |phi: InstId| {
        edit.uses_of(phi).all(|u| {
            let is_phi =
                body.inst(u.user).opcode == Opcode::Phi && body.block_of(u.user) == Some(to);
            is_phi && body.phi_incoming(u.user).nth(u.index as usize).is_some_and(|e| e.1 == block)
        })
    };
    if !body.phis(block).all(is_read_there) {
        return false;
    }
    // A predecessor that leads to both blocks must bring the same value.
    from.iter().filter(|&&p| edit.flow().successors(p).contains(&to)).all(|&p| {
        body.phis(to).all(|phi| {
            let by_block = edit.phi_input(phi, block).map(|value| through(edit, block, value, p));
            edit.phi_input(phi, p) == by_block
        })
    })
}

/// The value that an operand of the successor's phi has when the empty block is entered from
/// `from`.
fn through(edit: &Transaction<'_>, block: BlockId, value: Value, from: BlockId) -> Value {
    match value.as_inst() {
        Some(phi)
            if edit.body().block_of(phi) == Some(block)
                && edit.body().inst(phi).opcode == Opcode::Phi =>
        {
            edit.phi_input(phi, from).unwrap_or(value)
        }
        _ => value,
    }
}

fn pass(
    edit: &mut Transaction<'_>,
    block: BlockId,
    to: BlockId,
    from: &[BlockId],
) -> Result<(), PassError> {
    // Read before the edges change, since that changes the phis of the empty block.
    let phis: SmallVec<[InstId; 8]> = edit.body().phis(to).collect();
    let mut values: Vec<(InstId, BlockId, Value)> = Vec::new();
    for &phi in &phis {
        if let Some(value) = edit.phi_input(phi, block) {
            values.extend(from.iter().map(|&p| (phi, p, through(edit, block, value, p))));
        }
    }
    for &p in from {
        let had = edit.flow().successors(p).contains(&to);
        let places: SmallVec<[usize; 4]> = edit
            .flow()
            .successors(p)
            .iter()
            .enumerate()
            .filter(|&(_, &s)| s == block)
            .map(|(at, _)| at)
            .collect();
        for (nth, &at) in places.iter().enumerate() {
            edit.redirect_edge(p, at, to)?;
            // Further parallel edges get the value of the first automatically.
            if nth == 0 && !had {
                for &(phi, _, value) in values.iter().filter(|entry| entry.1 == p) {
                    edit.add_phi_input(phi, value, p)?;
                }
            }
        }
    }
    Ok(())
}
