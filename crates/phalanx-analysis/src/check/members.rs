//! Operations of a wave: which lanes take part, and which were expected to.
//!
//! Votes, shuffles and similar operations are performed by the threads of a wave that execute them
//! together. If only some threads execute a block, the branches before it decide which ones.
//!
//! - On targets whose operations have no mask, the result depends on the threads that are there.
//!   That is a note ([`Rule::DivergentGroupOperation`]), since it is often intended.
//! - On PTX a mask names the threads that take part, and all named threads have to come. A constant
//!   mask is usually right for whole waves only, so under divergent control some named lanes may be
//!   missing ([`Rule::MissingMembers`]). It is an error if evaluation shows a named lane that goes
//!   another way, and a note if the missing lanes have ended.
//!
//! In usual launches rows consist of whole waves. If evaluation shows that threads then stay
//! together, the finding is a note. If evaluation shows that all named lanes come when the first of
//! them does (`if (tid < 8)` with a mask of eight), the mask is right.
//!
//! A mask that is computed is assumed to be right here; [`masks`](super::masks) evaluates such
//! masks. O(operations × branches that decide them).

use phalanx_graph::Node;
use phalanx_ir::{InstId, Opcode, Value, flow::node_of};
use phalanx_target::{Scope, SourceSet};

use super::{
    Facts, Finding, Geometry, Level, Rule,
    barriers::{conditional, likely},
    counted::{is_alike_in_rows, is_alike_unless_wraps},
    launch::harmless,
    sites::{Argument, Site, SiteKind, arguments, intrinsic, intrinsic_of},
    witness::{Decision, constant, decision, named_come, only_stored, witness},
};

/// How many operations are looked through.
const STEPS: usize = 8;

/// The finding about an operation of a wave, if there is one.
pub(super) fn finding(facts: Facts<'_>, site: &Site) -> Option<Finding> {
    let SiteKind::Group { members } = site.kind else { return None };
    let arguments = arguments(facts, site);
    let mask = members.and_then(|at| arguments.get(usize::from(at)).copied());
    let conditional = conditional(facts, site, Scope::Wave);
    if !conditional.is_empty() {
        let (rule, level) = match mask {
            Some(_) => (Rule::MissingMembers, likely(facts, conditional)),
            None => (Rule::DivergentGroupOperation, Level::Note),
        };
        return Some(Finding {
            sources: conditional,
            ..Finding::new(rule, level, site.inst, Scope::Wave)
        });
    }
    if !facts.is_parted(site.block, Scope::Wave) {
        return None;
    }
    let lanes = |mask| match mask {
        Argument::Value(mask) => constant(facts, mask),
        Argument::Integer(mask) => Some(mask as u64),
        Argument::Computed => None,
    };
    match mask.map(lanes) {
        // The program computed the mask, and is assumed to know the lanes.
        Some(None) => None,
        Some(Some(lanes)) => missing(facts, site, lanes),
        None => whoever(facts, site),
    }
}

/// The finding about a mask that is the result of `activemask` under divergent control.
///
/// `activemask` is for lanes that were there together and choose one that acts for all: by a vote
/// among them, or by a shuffle from a lane that is computed from the mask. That is a note. If lanes
/// part after the mask was made, some named lanes may not come. If they read from a lane that is
/// not computed from the mask, that lane may not be named.
pub(super) fn active(facts: Facts<'_>, site: &Site) -> Option<Finding> {
    let SiteKind::Group { members: Some(at) } = site.kind else { return None };
    let arguments = arguments(facts, site);
    let &Argument::Value(mask) = arguments.get(usize::from(at))? else { return None };
    let call = active_mask(facts, mask)?;
    if !facts.is_parted(site.block, Scope::Wave) {
        return None;
    }
    let made = facts.code.body.block_of(call).map(node_of)?;
    let all: Vec<(Node, SourceSet)> = deciding(facts, site).collect();
    let &(branch, sources) = all.first()?;
    let parts_after = |&&(branch, _): &&(Node, SourceSet)| {
        made == branch || made != site.block && facts.dom.dominates(made, branch)
    };
    let later = all.iter().find(parts_after);
    let base = intrinsic_of(facts, site).map_or("", |found| found.base);
    let reads_any = base.starts_with("shfl.sync.")
        && match (base.starts_with("shfl.sync.idx"), arguments.get(2)) {
            (true, Some(&Argument::Value(lane))) => !is_made_of(facts, lane, call),
            _ => true,
        };
    let level = match later.is_some() || reads_any {
        true => Level::Warning,
        false => Level::Note,
    };
    let (branch, sources) = later.copied().unwrap_or((branch, sources));
    Some(Finding {
        branch: Some(branch),
        sources,
        ..Finding::new(Rule::ActiveMask, level, site.inst, Scope::Wave)
    })
}

/// The call that made a mask, if it is of `activemask`.
fn active_mask(facts: Facts<'_>, mask: Value) -> Option<InstId> {
    let mut at = mask;
    for _ in 0..STEPS {
        let inst = at.as_inst()?;
        facts.reads_inst(inst);
        match facts.code.body.inst(inst).opcode {
            Opcode::Load => at = only_stored(facts, inst)?,
            Opcode::Call => {
                let found = intrinsic(facts.code, inst)?;
                return (found.base == "activemask").then_some(inst);
            }
            _ => return None,
        }
    }
    None
}

/// Whether a value is computed from a result. Looks at a bounded number of operations.
fn is_made_of(facts: Facts<'_>, value: Value, from: InstId) -> bool {
    let mut work = vec![value];
    for _ in 0..STEPS * STEPS {
        let Some(at) = work.pop() else { return false };
        let Some(inst) = at.as_inst() else { continue };
        if inst == from {
            return true;
        }
        facts.reads_inst(inst);
        let body = facts.code.body;
        match body.inst(inst).opcode {
            Opcode::Load => work.extend(only_stored(facts, inst)),
            Opcode::Call => work.extend_from_slice(body.call_args(inst)),
            Opcode::Phi => work.extend(body.phi_incoming(inst).map(|(value, _)| value)),
            _ => work.extend_from_slice(body.operands(inst)),
        }
    }
    // The limit was reached, so it may be.
    true
}

/// Branches that part threads of a wave before an operation, from the last on, with the sources.
/// Each one is evaluated on demand.
fn deciding<'a>(facts: Facts<'a>, site: &Site) -> impl Iterator<Item = (Node, SourceSet)> + 'a {
    let branches = facts.control.iterated_controllers(facts.postdom, [site.block]);
    let parting = move |branch| (branch, facts.parting(branch, Scope::Wave));
    branches.into_iter().map(parting).filter(|(_, sources)| !sources.is_empty())
}

fn whoever(facts: Facts<'_>, site: &Site) -> Option<Finding> {
    let (branch, sources) = deciding(facts, site).next()?;
    Some(Finding {
        branch: Some(branch),
        sources,
        safe: harmless(sources, Scope::Wave, facts.launch),
        ..Finding::new(Rule::DivergentGroupOperation, Level::Note, site.inst, Scope::Wave)
    })
}

/// The finding about an operation with a constant mask, some lanes of which may not come.
fn missing(facts: Facts<'_>, site: &Site, lanes: u64) -> Option<Finding> {
    let mut worst: Option<Finding> = None;
    for (branch, sources) in deciding(facts, site) {
        let targets = facts.cfg.successors(branch);
        let (mut coming, mut staying): (Vec<Node>, Vec<Node>) = targets
            .iter()
            .copied()
            .partition(|&target| facts.ways().come(branch, target, site.block));
        if coming.is_empty() {
            // The branch is behind the operation, so lanes that stay in the loop come in the next
            // round.
            (coming, staying) = targets.iter().copied().partition(|&target| {
                let cycle = facts.cycles.common(branch, site.block);
                cycle.is_some_and(|cycle| facts.cycles.contains(cycle, target))
            });
        }
        let named = named_come(facts, branch, lanes, |node| coming.contains(&node));
        if named == Decision::Together {
            continue;
        }
        // Lanes that miss the operation have ended if they have nothing left to do.
        let ends = facts.is_kernel && staying.iter().all(|&node| ends(facts, node));
        let is_together = !facts.is_parted(branch, Scope::Wave);
        let witness = (is_together && !ends)
            .then(|| {
                let stays = |node: Node| staying.contains(&node);
                witness(facts, branch, true, |node| coming.contains(&node), stays)
            })
            .flatten()
            .filter(|witness| is_named(lanes, witness.stays_away));
        let mut safe = harmless(sources, Scope::Wave, facts.launch);
        let is_for_rows = [named, decision(facts, branch, Scope::Wave)]
            .contains(&Decision::TogetherInRows)
            || is_alike_in_rows(facts, branch, Scope::Wave);
        if let Some(width) = facts.launch.wave_width.filter(|_| is_for_rows) {
            safe.insert(0, Geometry::RowsOfWaves(width));
        }
        let level = match (ends || is_for_rows, witness) {
            (true, _) => Level::Note,
            (false, Some(witness)) if witness.is_certain => Level::Error,
            _ if is_alike_unless_wraps(facts, branch, Scope::Wave) => Level::Note,
            _ => likely(facts, sources),
        };
        let finding = Finding {
            branch: Some(branch),
            sources,
            witness: witness.filter(|_| !is_for_rows),
            safe,
            ..Finding::new(Rule::MissingMembers, level, site.inst, Scope::Wave)
        };
        if worst.as_ref().is_none_or(|worst| finding.level > worst.level) {
            worst = Some(finding);
        }
    }
    worst
}

/// Whether a mask names a thread of the first wave.
fn is_named(lanes: u64, thread: [u32; 3]) -> bool {
    thread[1..] == [0, 0] && thread[0] < u64::BITS && lanes >> thread[0] & 1 == 1
}

/// Whether threads that come to a block do nothing but end.
pub(super) fn ends(facts: Facts<'_>, block: Node) -> bool {
    !facts.ways().any([block], |_| true, |at| super::barriers::has_effect(facts, at))
}
