//! Merges straight lines of blocks into one block, and replaces phis that have one value.

use phalanx_analysis::convergence::tokens::Tokens;
use phalanx_ir::{BlockId, InstId, Opcode, Type, Value, edit::Transaction};

use super::has_address;
use crate::{pass::PassError, speculated};

/// Merges blocks; returns whether there were any.
pub(super) fn run(edit: &mut Transaction<'_>) -> Result<bool, PassError> {
    let changed = trivial_phis(edit)?;
    let order: Vec<BlockId> = edit.flow().order().to_vec();
    let merged = edit.merge_successors(&order, |edit, block| can_merge(edit, block))?;
    Ok(changed || merged > 0)
}

/// Whether a block contains the heart of a cycle, even if the cycle is gone. No other convergent
/// operation may stand before a heart.
fn has_heart(edit: &Transaction<'_>, block: BlockId) -> bool {
    let (tokens, body) = (Tokens::new(edit.context()), edit.body());
    let is_heart = |inst: InstId| {
        let data = body.inst(inst);
        data.ty == Type::TOKEN && data.opcode.is_call() && tokens.used(body, inst).is_some()
    };
    !tokens.is_unused() && body.block_insts(block).any(is_heart)
}

fn can_merge(edit: &Transaction<'_>, block: BlockId) -> bool {
    // A block that has been merged away has no instructions.
    let Some(terminator) = edit.body().terminator(block) else { return false };
    let flow = edit.flow();
    let &[next] = flow.successors(block) else { return false };
    let reads_itself = |phi: InstId| edit.body().phi_values(phi).contains(&Value::inst(phi));
    edit.body().inst(terminator).opcode == Opcode::Br
        && next != block
        && flow.in_degree(next) == 1
        && flow.entry() != Some(next)
        && !edit.body().phis(next).any(reads_itself)
        && !has_address(edit, next)
        && !has_heart(edit, next)
}

/// The only value of a phi; none if there are several, or none at all.
pub(crate) fn only_value(phi: InstId, values: &[Value]) -> Option<Value> {
    let mut only = None;
    for &value in values.iter().filter(|&&value| value != Value::inst(phi)) {
        match only {
            None => only = Some(value),
            Some(found) if found == value => {}
            Some(_) => return None,
        }
    }
    only
}

/// Replaces phis of one value. The value is available at the phi, because it is available at the
/// end of all predecessors.
fn trivial_phis(edit: &mut Transaction<'_>) -> Result<bool, PassError> {
    let order = edit.flow().order().iter();
    let work = order.flat_map(|&block| edit.body().phis(block)).collect();
    replace_trivial(edit, work)
}

/// Replaces the given phis, and phis that read them, if they have one value; returns whether there
/// were any.
pub(crate) fn replace_trivial(
    edit: &mut Transaction<'_>,
    mut work: Vec<InstId>,
) -> Result<bool, PassError> {
    let mut changed = false;
    while let Some(phi) = work.pop() {
        if edit.body().block_of(phi).is_none() {
            continue;
        }
        let Some(value) = only_value(phi, edit.body().phi_values(phi)) else { continue };
        // In unreachable blocks a phi may be its own only value through other phis.
        let users: Vec<InstId> = edit.uses_of(phi).map(|u| u.user).collect();
        speculated::replace(edit, phi, value)?;
        changed = true;
        work.extend(users.into_iter().filter(|&u| edit.body().inst(u).opcode == Opcode::Phi));
    }
    Ok(changed)
}
