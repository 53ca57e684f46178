//! Turns small branches without effects into selections.
//!
//! ```text
//!   A                A                      A  t.., f..
//!  / \      or      / \        becomes      |  selects
//! T   F            T   |                    J
//!  \ /              \  |
//!   J                J-+
//! ```
//!
//! `T` and `F` hold only a few speculatable instructions and are reached from `A` alone. Where such
//! an instruction was not executed before, its result is poison at worst, and a selection ignores
//! the value that it does not choose. Metadata that would cause undefined behaviour there is
//! removed ([`speculated`](crate::speculated)). Convergent operations are not speculatable. `T` and
//! `F` have one predecessor and are no headers, so no chain of headers changes.
//!
//! A selection gets the location of the branch. Instructions that were computed on one side lose
//! their location, and debug records there lose their values.

use phalanx_ir::{
    BlockId, InstBuilder as _, InstId, Opcode, TypeKind, Value, edit::Transaction, flow::node_of,
};
use smallvec::SmallVec;

use super::{erase, has_address, inner, jump};
use crate::{
    code::Code,
    locations::{Locations, copy},
    pass::PassError,
    speculated::forget_claims,
};

/// How many selections may replace one branch.
const SELECTS: usize = 2;

struct Shape {
    /// Blocks to be emptied, at most one for each edge of the branch.
    sides: [Option<BlockId>; 2],
    join: BlockId,
}

/// Replaces branches, except those of blocks in `kept`; returns whether there were any.
pub(super) fn run(
    edit: &mut Transaction<'_>,
    speculated: usize,
    kept: &[bool],
    locations: &mut Locations,
) -> Result<bool, PassError> {
    let mut gone = Vec::new();
    let order: Vec<BlockId> = edit.flow().order().to_vec();
    for block in order {
        if kept.get(node_of(block).index()).copied().unwrap_or(false) {
            continue;
        }
        if let Some(shape) = shape(edit, block, speculated) {
            convert(edit, block, &shape, locations)?;
            gone.extend(shape.sides.into_iter().flatten());
        }
    }
    erase(edit, &gone)?;
    Ok(!gone.is_empty())
}

fn shape(edit: &Transaction<'_>, block: BlockId, speculated: usize) -> Option<Shape> {
    let (flow, body) = (edit.flow(), edit.body());
    let &[yes, no] = flow.successors(block) else { return None };
    let terminator = body.terminator(block)?;
    if body.inst(terminator).opcode != Opcode::Br || yes == no {
        return None;
    }
    let code = Code::in_edit(edit);
    let side = |side: BlockId| -> Option<BlockId> {
        let &[next] = flow.successors(side) else { return None };
        let terminator = body.terminator(side)?;
        let insts = inner(&code, side);
        let fits = flow.in_degree(side) == 1
            && next != side
            && body.inst(terminator).opcode == Opcode::Br
            && body.phis(side).next().is_none()
            && is_speculated(&code, &insts, speculated)
            && !has_address(edit, side);
        fits.then_some(next)
    };
    let shape = match (side(yes), side(no)) {
        (Some(a), Some(b)) if a == b => Shape { sides: [Some(yes), Some(no)], join: a },
        (Some(a), _) if a == no => Shape { sides: [Some(yes), None], join: no },
        (_, Some(b)) if b == yes => Shape { sides: [None, Some(no)], join: yes },
        _ => return None,
    };
    if shape.join == block || flow.entry() == Some(shape.join) {
        return None;
    }
    let mut selects = 0;
    for phi in body.phis(shape.join) {
        let [a, b] = inputs(edit, block, &shape, phi)?;
        if a != b {
            let is_selectable = !matches!(
                edit.context().type_kind(body.inst(phi).ty),
                TypeKind::Token | TypeKind::X86Amx
            );
            selects += 1;
            if !is_selectable || selects > SELECTS {
                return None;
            }
        }
    }
    Some(shape)
}

/// Whether all instructions are speculatable, and no more than `most`.
pub(super) fn is_speculated(code: &Code<'_>, insts: &[InstId], most: usize) -> bool {
    insts.len() <= most && insts.iter().all(|&inst| code.is_speculatable(inst))
}

/// Moves the instructions of a block before another one, where they are executed more often.
pub(super) fn hoist(
    edit: &mut Transaction<'_>,
    block: BlockId,
    before: InstId,
    locations: &mut Locations,
) -> Result<(), PassError> {
    for inst in inner(&Code::in_edit(edit), block) {
        forget_claims(edit, inst)?;
        locations.drop(edit, inst)?;
        edit.move_before(inst, before)?;
    }
    // Debug records at the jump stand before it now.
    if let Some(jump) = edit.body().terminator(block) {
        edit.forget_debug_values(jump)?;
        edit.carry_debug_records(jump, before)?;
    }
    Ok(())
}

/// The values that a phi of the join takes on each edge of the branch.
fn inputs(
    edit: &Transaction<'_>,
    block: BlockId,
    shape: &Shape,
    phi: InstId,
) -> Option<[Value; 2]> {
    let by = |side: Option<BlockId>| edit.phi_input(phi, side.unwrap_or(block));
    Some([by(shape.sides[0])?, by(shape.sides[1])?])
}

fn convert(
    edit: &mut Transaction<'_>,
    block: BlockId,
    shape: &Shape,
    locations: &mut Locations,
) -> Result<(), PassError> {
    let Some(terminator) = edit.body().terminator(block) else { return Ok(()) };
    let condition = edit.body().operands(terminator)[0];
    for side in shape.sides.into_iter().flatten() {
        hoist(edit, side, terminator, locations)?;
    }
    let phis: SmallVec<[InstId; 8]> = edit.body().phis(shape.join).collect();
    let mut values: SmallVec<[Value; 8]> = SmallVec::new();
    for &phi in &phis {
        let Some([a, b]) = inputs(edit, block, shape, phi) else { return Ok(()) };
        values.push(match a == b {
            true => a,
            false => {
                let flags = edit.body().inst(phi).flags;
                let name = edit.extras().names.inst(phi);
                let name = name.map(|name| format!("{}.sel", String::from_utf8_lossy(name)));
                let mut cursor = edit.before(terminator);
                cursor.flagged(flags).named(&name.unwrap_or_default());
                let select = cursor.select(condition, a, b)?;
                if let Some(select) = select.as_inst() {
                    copy(edit, terminator, select)?;
                }
                select
            }
        });
    }
    jump(edit, block, shape.join)?;
    for (&phi, value) in phis.iter().zip(values) {
        match edit.phi_input(phi, block) {
            Some(_) => edit.set_phi_input(phi, value, block)?,
            None => edit.add_phi_input(phi, value, block)?,
        }
    }
    Ok(())
}
