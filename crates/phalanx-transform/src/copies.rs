//! Which blocks can be copied, and how edges are redirected to a copy.

use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{BlockId, InstId, Opcode, Value, edit::Transaction, metadata::kind};
use smallvec::SmallVec;

use crate::{code::Code, pass::PassError};

/// Why a block cannot be copied.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    /// It ends in something else than a branch.
    Terminator,
    /// Its address is taken.
    Address,
    /// This instruction may not be duplicated.
    NoDuplicate(InstId),
}

/// Whether a block can be copied, convergence aside. O(instructions).
pub(crate) fn check_block(
    db: &Database,
    function: FunctionInput,
    code: &Code<'_>,
    block: BlockId,
) -> Result<(), Obstacle> {
    let body = code.body;
    let terminator = body.terminator(block).map(|inst| body.inst(inst).opcode);
    if !matches!(terminator, Some(Opcode::Br | Opcode::Switch)) {
        return Err(Obstacle::Terminator);
    }
    let addresses = &function.module(db).shell(db).block_addresses;
    if addresses.iter().any(|a| a.function == code.header.name && a.block == block) {
        return Err(Obstacle::Address);
    }
    let is_bound = |&inst: &InstId| {
        let opcode = body.inst(inst).opcode;
        let is_pad = matches!(opcode, Opcode::LandingPad | Opcode::CatchPad | Opcode::CleanupPad);
        is_pad || opcode.is_call() && !code.may_be_copied(inst)
    };
    match body.block_insts(block).find(is_bound) {
        Some(inst) => Err(Obstacle::NoDuplicate(inst)),
        None => Ok(()),
    }
}

/// Redirects all edges from a block to `old` so that they lead to `new`. The phis of `new` take
/// these values for them, unless they have a value for such an edge already.
pub(crate) fn redirect(
    edit: &mut Transaction<'_>,
    from: BlockId,
    old: BlockId,
    new: BlockId,
    values: &[(InstId, Value)],
) -> Result<(), PassError> {
    let successors = edit.flow().successors(from);
    let is_known = successors.contains(&new);
    let places: SmallVec<[usize; 4]> =
        (0..).zip(successors).filter(|&(_, &to)| to == old).map(|(at, _)| at).collect();
    for (nth, &at) in places.iter().enumerate() {
        edit.redirect_edge(from, at, new)?;
        // Further parallel edges get the value of the first automatically.
        if nth == 0 && !is_known {
            for &(phi, value) in values {
                edit.add_phi_input(phi, value, from)?;
            }
        }
    }
    Ok(())
}

/// Removes `!llvm.loop` from a branch that no longer leads back to a header.
pub(crate) fn unmark(edit: &mut Transaction<'_>, block: BlockId) -> Result<(), PassError> {
    let Some(terminator) = edit.body().terminator(block) else { return Ok(()) };
    if edit.extras().attachments_of(terminator).any(|a| a.kind == kind::LOOP) {
        edit.attach(terminator, "llvm.loop", None)?;
    }
    Ok(())
}
