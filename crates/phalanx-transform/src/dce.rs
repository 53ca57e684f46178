//! `dce`: removes what nothing needs.
//!
//! An instruction is *needed* when it has side effects ([`Code::has_side_effects`]) or a needed
//! instruction reads it. The pass removes all others, also those that read only each other, such as
//! a loop counter without another reader. So this is LLVM's `dce` and the part of its `adce` that
//! leaves control flow alone.
//!
//! A convergent operation without side effects is removed like any other when it is not needed:
//! that changes the group of no other operation.
//!
//! Cost: O(instructions + operands), one transaction.

use phalanx_db::{Database, FunctionInput};
use phalanx_graph::BitSet;
use phalanx_ir::{InstId, Opcode, Type, Value, edit::Transaction};
use smallvec::SmallVec;

use crate::{
    code::Code,
    pass::{Outcome, Pass, PassError},
};

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct Dce;

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

impl Pass for Dce {
    fn name(&self) -> &str {
        "dce"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let dead = unneeded(&Code::of(db, function));
        if dead.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        db.edit(function, |edit| erase_all(edit, &dead))?;
        Ok(Outcome::Changed)
    }
}

/// Instructions of reachable blocks that no effect depends on, in order.
fn unneeded(code: &Code<'_>) -> Vec<InstId> {
    let mut needed = BitSet::new(code.body.id_count());
    let mut work: Vec<InstId> = Vec::new();
    let all = || code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    for inst in all() {
        if code.has_side_effects(inst) && needed.insert(number(inst)) {
            work.push(inst);
        }
    }
    while let Some(inst) = work.pop() {
        for operand in code.body.operands(inst) {
            if let Some(of) = operand.as_inst()
                && needed.insert(number(of))
            {
                work.push(of);
            }
        }
    }
    all().filter(|&inst| !needed.contains(number(inst))).collect()
}

/// Erases instructions that only each other read. O(instructions + operands).
pub(crate) fn erase_all(edit: &mut Transaction<'_>, dead: &[InstId]) -> Result<(), PassError> {
    // Every cycle of reads goes through a phi, so these stop reading first.
    for &inst in dead {
        if edit.body().inst(inst).opcode == Opcode::Phi {
            forget(edit, inst)?;
        }
    }
    erase_unread(edit, dead)?;
    // Except in unreachable blocks, where any instruction may read any other.
    let left: Vec<InstId> =
        dead.iter().copied().filter(|&inst| edit.body().block_of(inst).is_some()).collect();
    for &inst in &left {
        forget(edit, inst)?;
    }
    erase_unread(edit, &left)
}

/// Replaces all uses of a dead instruction by poison.
fn forget(edit: &mut Transaction<'_>, inst: InstId) -> Result<(), PassError> {
    let ty = edit.body().inst(inst).ty;
    if edit.is_used(inst) && ty != Type::TOKEN {
        let poison = edit.context().const_poison(ty);
        edit.replace_uses_where(inst, poison, |_| true)?;
    }
    Ok(())
}

/// Erases instructions without readers, then those that only erased instructions read.
fn erase_unread(edit: &mut Transaction<'_>, dead: &[InstId]) -> Result<(), PassError> {
    let mut is_dead = BitSet::new(edit.body().id_count());
    for &inst in dead {
        is_dead.insert(number(inst));
    }
    let mut work: Vec<InstId> = dead.to_vec();
    while let Some(inst) = work.pop() {
        if edit.is_used(inst) || !is_dead.remove(number(inst)) {
            continue;
        }
        let operands: SmallVec<[Value; 8]> = edit.body().operands(inst).into();
        edit.erase(inst)?;
        let read = operands.iter().filter_map(|operand| operand.as_inst());
        work.extend(read.filter(|&of| is_dead.contains(number(of))));
    }
    Ok(())
}
