//! Copies the body of a loop, one copy after the other.
//!
//! ```text
//!   before            two copies            all rounds
//!
//!  -> H -> exit      -> H  -> exit         -> H  -> exit
//!  |  |                 |                     |
//!  |  B              B  -> H' -> exit      B  -> H' -> exit
//!  |__|                    |                     |
//!                          B' -> H               B' -> not reached
//! ```
//!
//! Every copy keeps its exits. So the threads that execute a block of the `n`-th copy are those
//! that executed the block in that round. If a cycle is left, its headers still distinguish
//! executions as the rounds did. If no cycle is left, each round has blocks of its own. So the
//! branches may be divergent. The back edge of the last of all rounds is never taken.

use phalanx_ir::{
    BlockId, InstBuilder as _, InstId, Type, Value,
    edit::{Clones, Transaction},
    metadata::MetadataId,
};
use rustc_hash::FxHashSet;

use super::shape::Loop;
use crate::{
    copies::{redirect, unmark},
    pass::PassError,
    ssa::{Variable, is_read_outside},
};

/// Where the back edge of the last copy leads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Back {
    /// To the first copy; the loop gets this `!llvm.loop` node.
    ToFirst(MetadataId),
    /// Nowhere: the edge is never taken.
    Nowhere,
}

/// The copies; the first one is the original loop.
#[derive(Debug)]
pub(super) struct Copies {
    clones: Vec<Clones>,
}

impl Copies {
    /// The copy of a block for a round.
    pub(super) fn block(&self, round: usize, block: BlockId) -> BlockId {
        let clones = round.checked_sub(1).and_then(|at| self.clones.get(at));
        clones.and_then(|clones| clones.block(block)).unwrap_or(block)
    }

    fn value(&self, round: usize, value: Value) -> Value {
        let clones = round.checked_sub(1).and_then(|at| self.clones.get(at));
        clones.map_or(value, |clones| clones.value(value))
    }

    fn inst(&self, round: usize, inst: InstId) -> InstId {
        self.value(round, inst.into()).as_inst().unwrap_or(inst)
    }
}

/// Makes a loop of `count` copies. The caller repairs values that are read outside
/// ([`crate::ssa::repair`]).
pub(super) fn copy(
    edit: &mut Transaction<'_>,
    found: &Loop,
    count: usize,
    back: Back,
    variables: &mut Vec<Variable>,
) -> Result<Copies, PassError> {
    let mut region = found.blocks.clone();
    let latch = match *found.latches {
        [only] => only,
        _ => {
            let merged = merge_latches(edit, found)?;
            region.push(merged);
            merged
        }
    };
    let header = found.header;
    let inside: FxHashSet<BlockId> = region.iter().copied().collect();
    let read_outside: Vec<InstId> = region
        .iter()
        .flat_map(|&block| edit.body().block_insts(block))
        .filter(|&inst| edit.body().inst(inst).ty != Type::VOID)
        .filter(|&inst| is_read_outside(edit, inst, &|block| inside.contains(&block)))
        .collect();
    // Each copy is inserted after the last block of the region, so the last copy is made first.
    let mut clones: Vec<Clones> = Vec::new();
    for _ in 1..count {
        clones.push(edit.clone_blocks(&region)?);
    }
    clones.reverse();
    let copies = Copies { clones };
    let phis: Vec<(InstId, Value)> = edit
        .body()
        .phis(header)
        .filter_map(|phi| Some((phi, edit.phi_input(phi, latch)?)))
        .collect();
    for round in 0..count {
        let from = copies.block(round, latch);
        let own_header = copies.block(round, header);
        let next = round + 1;
        let (to, target) = match (next < count, back) {
            (true, _) => (copies.block(next, header), next),
            (false, Back::ToFirst(_)) => (header, 0),
            (false, Back::Nowhere) => {
                let end = edit.create_block("", Some(from))?;
                edit.at_end(end).unreachable()?;
                redirect(edit, from, own_header, end, &[])?;
                unmark(edit, from)?;
                continue;
            }
        };
        let values: Vec<(InstId, Value)> = phis
            .iter()
            .map(|&(phi, value)| (copies.inst(target, phi), copies.value(round, value)))
            .collect();
        redirect(edit, from, own_header, to, &values)?;
        unmark(edit, from)?;
    }
    if let (Back::ToFirst(node), Some(terminator)) =
        (back, edit.body().terminator(copies.block(count - 1, latch)))
    {
        edit.attach(terminator, "llvm.loop", Some(node))?;
    }
    for inst in read_outside {
        let Some(block) = edit.body().block_of(inst) else { continue };
        let definition = |round| (copies.block(round, block), copies.value(round, inst.into()));
        let definitions = (0..count).map(definition).collect();
        variables.push(Variable { original: inst, definitions });
    }
    Ok(copies)
}

/// Leads all back edges through one new block. It is not the header of a cycle, and all cycles keep
/// their headers, so all groups of threads stay.
fn merge_latches(edit: &mut Transaction<'_>, found: &Loop) -> Result<BlockId, PassError> {
    let header = found.header;
    let last = found.blocks.last().copied();
    let name = match edit.extras().names.block(header) {
        Some(name) if !name.is_empty() => format!("{}.latch", String::from_utf8_lossy(name)),
        _ => String::new(),
    };
    let new = edit.create_block(&name, last)?;
    edit.at_end(new).br(header)?;
    let phis: Vec<InstId> = edit.body().phis(header).collect();
    // For each latch, the values of the new phis.
    let mut joins: Vec<Vec<(InstId, Value)>> = vec![Vec::new(); found.latches.len()];
    let mut merged: Vec<(InstId, Value)> = Vec::new();
    for phi in phis {
        let inputs: Vec<Value> =
            found.latches.iter().filter_map(|&latch| edit.phi_input(phi, latch)).collect();
        let Some(&first) = inputs.first() else { continue };
        if inputs.iter().all(|&input| input == first) {
            merged.push((phi, first));
            continue;
        }
        let ty = edit.body().inst(phi).ty;
        let join = edit.at_start(new).phi(ty)?;
        merged.push((phi, join));
        for (values, input) in joins.iter_mut().zip(inputs) {
            values.extend(join.as_inst().map(|join| (join, input)));
        }
    }
    for (&latch, values) in found.latches.iter().zip(&joins) {
        redirect(edit, latch, header, new, values)?;
        unmark(edit, latch)?;
    }
    for (phi, value) in merged {
        edit.add_phi_input(phi, value, new)?;
    }
    Ok(new)
}
