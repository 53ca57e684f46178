//! Moves values that cross blocks into memory.
//!
//! Then blocks can be copied and edges redirected without updating phis.

use phalanx::ir::{
    BlockId, BuildError, InstBuilder as _, InstId, Opcode, Type, Value, edit::Transaction,
};

/// Replaces every phi, and every value outside the entry that another block reads, by a stack slot
/// of its own.
///
/// # Errors
/// When an edit is refused.
pub fn demote(edit: &mut Transaction<'_>) -> Result<(), BuildError> {
    let Some(entry) = edit.flow().entry() else { return Ok(()) };
    let triple = edit.module().triple.map(|t| edit.context().text(t).into_owned());
    let space = if triple.is_some_and(|t| t.starts_with("amdgcn")) { 5 } else { 0 };
    let order: Vec<BlockId> = edit.flow().order().to_vec();
    let slot = |edit: &mut Transaction<'_>, ty: Type| edit.at_start(entry).alloca(ty, space);
    for &block in &order {
        let phis: Vec<InstId> = edit.body().phis(block).collect();
        for phi in phis {
            let ty = edit.body().inst(phi).ty;
            let place = slot(edit, ty)?;
            let inputs: Vec<(Value, BlockId)> = edit.body().phi_incoming(phi).collect();
            for (at, &(value, from)) in inputs.iter().enumerate() {
                if inputs[..at].iter().all(|input| input.1 != from) {
                    edit.at_end(from).store(value, place)?;
                }
            }
            let value = edit.at_start(block).load(ty, place)?;
            edit.replace(phi, value)?;
        }
    }
    for &block in order.iter().filter(|&&block| block != entry) {
        let insts: Vec<InstId> = edit.body().block_insts(block).collect();
        for inst in insts {
            let data = *edit.body().inst(inst);
            if data.ty == Type::VOID || data.opcode.is_terminator() {
                continue;
            }
            let outside: Vec<_> = edit
                .uses_of(inst)
                .filter(|found| edit.body().block_of(found.user) != Some(block))
                .collect();
            if outside.is_empty() {
                continue;
            }
            let place = slot(edit, data.ty)?;
            edit.after(inst).store(inst, place)?;
            for found in outside {
                let value = edit.before(found.user).load(data.ty, place)?;
                edit.set_operand(found.user, found.index, value)?;
            }
        }
    }
    debug_assert!(
        order.iter().all(|&b| edit
            .body()
            .block_insts(b)
            .all(|i| edit.body().inst(i).opcode != Opcode::Phi))
    );
    Ok(())
}
