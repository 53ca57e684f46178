//! Merges two successive branches with a common target into one.
//!
//! ```text
//!   A: br a                       A: c = select a, true, b
//!   |  \                             br c
//!   |   B: ..., br b   becomes       |  \
//!   |  /  \                          C   D
//!    C     D
//! ```
//!
//! The other combinations work likewise: `A` leads to `B` when `a` holds, or `B` to `C` when `b`
//! does not. `B` holds only a few speculatable instructions and is reached from `A` alone. The
//! condition of `B` may be poison where `B` was not reached, so the new condition is a selection
//! rather than an `or`. A phi in `C` has to take one value on both edges.
//!
//! `B` has one predecessor and is no header of a cycle, and every closed path through `A` and `D`
//! went through `B` before. So every other block keeps the headers around it. If a cycle has
//! several entries, its header may depend on the order of targets. So the step does nothing in
//! functions with irreducible cycles and convergent operations.
//!
//! The step keeps branches that leave a loop or begin a new round: passes that count rounds read
//! one condition. It does not merge a uniform branch with a divergent one: the uniform branch lets
//! a whole wave skip the second.

use phalanx_graph::Cycles;
use phalanx_ir::{
    BlockId, InstBuilder as _, InstId, Opcode, Value, edit::Transaction, flow::node_of,
    metadata::kind,
};
use smallvec::SmallVec;

use super::{
    graph, has_address, inner, keep_attachments,
    select::{hoist, is_speculated},
};
use crate::{
    code::Code,
    locations::{Locations, copy},
    pass::PassError,
};

/// How many branches are merged into one at most.
const JOINED: usize = 4;

/// Two branches that can be merged.
struct Pair {
    /// The block of the second branch.
    second: BlockId,
    /// The value of the first condition that leads there.
    when: bool,
    /// The common target.
    common: BlockId,
    /// The other target of the second branch.
    other: BlockId,
    /// The value of the second condition that leads to `other`.
    holds: bool,
}

/// Merges branches; returns whether there were any. `kept` are blocks whose uniform branches must
/// stay.
pub(super) fn run(
    edit: &mut Transaction<'_>,
    speculated: usize,
    kept: &[bool],
    locations: &mut Locations,
) -> Result<bool, PassError> {
    let order: Vec<BlockId> = edit.flow().order().to_vec();
    let is_kept = |block: BlockId| kept.get(node_of(block).index()).copied().unwrap_or(false);
    let mut cycles: Option<Cycles> = None;
    let mut changed = false;
    for block in order {
        for _ in 1..JOINED {
            let Some(pair) = pair(edit, block, speculated) else { break };
            if is_kept(block) != is_kept(pair.second) {
                break;
            }
            if cycles.is_none() {
                let Some((_, found)) = graph(edit) else { return Ok(changed) };
                let is_open = found.iter().any(|cycle| !found.is_reducible(cycle));
                if is_open && Code::in_edit(edit).convergent_blocks().next().is_some() {
                    return Ok(false);
                }
                cycles = Some(found);
            }
            // Blocks are removed, but the cycles around the remaining ones are the same.
            if !cycles.as_ref().is_some_and(|cycles| stays_inside(cycles, block, &pair)) {
                break;
            }
            join(edit, block, &pair, locations)?;
            changed = true;
        }
    }
    Ok(changed)
}

/// Whether neither target leaves the innermost cycle around a block or is its header.
fn stays_inside(cycles: &Cycles, block: BlockId, pair: &Pair) -> bool {
    cycles.innermost(node_of(block)).is_none_or(|cycle| {
        [pair.common, pair.other]
            .into_iter()
            .map(node_of)
            .all(|to| cycles.contains(cycle, to) && cycles.header(cycle) != to)
    })
}

/// The condition of a two-way branch without loop metadata.
fn condition(edit: &Transaction<'_>, block: BlockId) -> Option<Value> {
    let body = edit.body();
    let terminator = body.terminator(block)?;
    let is_loop = edit.extras().attachments_of(terminator).any(|a| a.kind == kind::LOOP);
    let is_branch = body.inst(terminator).opcode == Opcode::Br && !is_loop;
    is_branch.then(|| body.operands(terminator).first().copied()).flatten()
}

fn pair(edit: &Transaction<'_>, block: BlockId, speculated: usize) -> Option<Pair> {
    let flow = edit.flow();
    let &[yes, no] = flow.successors(block) else { return None };
    condition(edit, block).filter(|_| yes != no)?;
    [(yes, no, true), (no, yes, false)].into_iter().find_map(|(second, common, when)| {
        let &[first, last] = flow.successors(second) else { return None };
        let (other, holds) = match (first == common, last == common) {
            (true, false) => (last, false),
            (false, true) => (first, true),
            _ => return None,
        };
        condition(edit, second)?;
        let pair = Pair { second, when, common, other, holds };
        can_join(edit, block, &pair, speculated).then_some(pair)
    })
}

fn can_join(edit: &Transaction<'_>, block: BlockId, pair: &Pair, speculated: usize) -> bool {
    let (flow, body) = (edit.flow(), edit.body());
    let second = pair.second;
    let is_one_value = |phi| edit.phi_input(phi, block) == edit.phi_input(phi, second);
    second != block
        && flow.entry() != Some(second)
        && body.phis(second).next().is_none()
        && body.phis(pair.common).all(is_one_value)
        && flow.in_degree(second) == 1
        && !has_address(edit, second)
        && is_speculated(&Code::in_edit(edit), &inner(&Code::in_edit(edit), second), speculated)
}

fn join(
    edit: &mut Transaction<'_>,
    block: BlockId,
    pair: &Pair,
    locations: &mut Locations,
) -> Result<(), PassError> {
    let &Pair { second, when, common, other, holds } = pair;
    let (Some(a), Some(b)) = (condition(edit, block), condition(edit, second)) else {
        return Ok(());
    };
    let Some(terminator) = edit.body().terminator(block) else { return Ok(()) };
    hoist(edit, second, terminator, locations)?;
    // If the second branch is not reached, the thread goes to the common target.
    let missed: Value = edit.context().const_bool(!holds).into();
    let [on_true, on_false] = if when { [b, missed] } else { [missed, b] };
    let joined = edit.before(terminator).select(a, on_true, on_false)?;
    if let Some(select) = joined.as_inst() {
        copy(edit, terminator, select)?;
    }
    let phis: SmallVec<[InstId; 8]> = edit.body().phis(other).collect();
    let values: SmallVec<[Option<Value>; 8]> =
        phis.iter().map(|&phi| edit.phi_input(phi, second)).collect();
    let attachments: SmallVec<[_; 2]> = edit.extras().attachments_of(terminator).collect();
    let [yes, no] = if holds { [other, common] } else { [common, other] };
    edit.replace_terminator(block).cond_br(joined, yes, no)?;
    keep_attachments(edit, block, &attachments)?;
    for (phi, value) in phis.into_iter().zip(values) {
        if let Some(value) = value {
            edit.add_phi_input(phi, value, block)?;
        }
    }
    Ok(edit.erase_block(second)?)
}
