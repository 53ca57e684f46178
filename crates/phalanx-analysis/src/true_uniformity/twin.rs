//! True uniformity of all values at once, from the tables of the function: a direct form of the
//! definition, to compare with.
//!
//! All values are members until shown otherwise; a value that is no member is propagated to its
//! readers. O(values + uses).

use phalanx_core::{
    affect::{UserKind, Value},
    divergence::ValueTable,
};
use phalanx_graph::BitSet;
use phalanx_ir::{InstId, Opcode, Type, ValueKind};
use phalanx_target::{AddressSpace, Architecture};

use super::{Known, NAMED};
use crate::code::{Code, Definition, Numbering};

/// The values that are equal over all lanes of a wave, active or not, by number. `table` is that of
/// the function.
#[must_use]
pub fn truly_uniform(
    code: Code<'_>,
    architecture: Architecture,
    known: Known<'_>,
    table: &ValueTable,
) -> BitSet {
    let Known { flow, divergence, control, varying, is_kernel } = known;
    let numbering = Numbering::new(code.header);
    let arguments = code.header.params.len();
    let is_read_from_private = |value| match numbering.definition(value) {
        Definition::Inst(inst) => may_read_private(code, architecture, inst),
        Definition::Argument(_) => false,
    };
    let is_computed_once = |value: Value| {
        let block = table.block(value);
        is_kernel
            && value.index() >= arguments
            && flow.dom.is_reachable(block)
            && flow.cycles.innermost(block).is_none()
            && !control[block.index()].intersects(varying)
            && !divergence.value(value).intersects(varying)
    };
    let mut selects = BitSet::new(table.len());
    for phi in table.all_phis().filter(|phi| phi.is_joinable) {
        selects.insert(phi.value.index());
    }
    // Whether a value is a member by itself, whatever its operands; whether it is none by itself.
    let mut members = BitSet::new(table.len());
    let mut is_settled = BitSet::new(table.len());
    let mut work = Vec::new();
    for value in table.values() {
        if !table.is_reported(value) {
            // Other threads have other memory, whatever was stored here.
            is_settled.insert(value.index());
            work.push(value);
            continue;
        }
        let seed = table.seed(value);
        let is_known = NAMED.contains(seed) && !seed.intersects(varying);
        let (member, settled) = if value.index() < arguments {
            (is_kernel && seed.is_empty(), true)
        } else if is_computed_once(value) {
            (true, true)
        } else if table.is_phi(value) {
            let selects = selects.contains(value.index());
            (!selects && is_known, selects)
        } else {
            // A value that ignores its operands is decided by its sources.
            let is_private = is_read_from_private(value);
            let is_member = table.is_pure(value) && is_known && !is_private;
            (is_member, is_private || table.is_fixed(value))
        };
        if member {
            members.insert(value.index());
        } else {
            work.push(value);
        }
        if settled {
            is_settled.insert(value.index());
        }
    }
    while let Some(value) = work.pop() {
        for user in table.affects().users(value) {
            let UserKind::Value(user) = user.kind() else { continue };
            if !is_settled.contains(user.index()) && members.remove(user.index()) {
                work.push(user);
            }
        }
    }
    members
}

/// Whether an instruction is a load of anything but constant memory, by the type of the address
/// alone. More loads count as such than with exact facts.
fn may_read_private(code: Code<'_>, architecture: Architecture, inst: InstId) -> bool {
    let Code { context, header, body, .. } = code;
    if body.inst(inst).opcode != Opcode::Load {
        return false;
    }
    let ty: Type = match body.operands(inst)[0].kind() {
        ValueKind::Inst(inst) => body.inst(inst).ty,
        ValueKind::Arg(position) => header.params[position as usize],
        ValueKind::Const(constant) => context.const_data(constant).ty,
        _ => return true,
    };
    let space = context.type_kind(ty).address_space();
    !space.is_some_and(|space| AddressSpace::of(architecture, space).is_constant())
}
