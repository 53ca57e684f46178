//! Operations of a wave: who takes part, and who was expected to.
//!
//! Votes, shuffles and their like are performed by the threads of a wave that execute them together. Where a block is executed by some threads and
//! not by others, who that is depends on the branches before it.
//!
//! - On targets where the operation has no mask, the result follows from who happens to be there: a note
//!   ([`Rule::DivergentGroupOperation`]), since often that is what is meant.
//! - PTX names those who take part by a mask, and all that are named have to come. A mask that is a constant is right for whole
//!   waves only, so under divergent control some that it names may be missing ([`Rule::MissingMembers`]): an error when
//!   evaluation shows a lane that is named and goes another way, a note where the missing ones have ended.
//!
//! A launch whose rows are whole waves is what most people mean: where evaluation shows that threads then stay together, a note says so. Where it shows that all that are named go along with the
//! first of them that does (`if (tid < 8)` with a mask of eight), the mask is right.
//!
//! A mask that is computed is taken to be right. O(operations × branches that decide them).

use phalanx_graph::Node;
use phalanx_target::{Scope, SourceSet};

use super::{
    Facts, Finding, Geometry, Level, Rule,
    barriers::{conditional, likely},
    counted::is_alike_unless_wraps,
    launch::harmless,
    sites::{Argument, Site, SiteKind, arguments},
    witness::{Decision, constant, decision, named_come, witness},
};

/// What there is to say about an operation of a wave.
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
        // Computed: whoever did knows.
        Some(None) => None,
        Some(Some(lanes)) => missing(facts, site, lanes),
        None => whoever(facts, site),
    }
}

/// Branches that part threads of a wave before an operation, from the last on, and by what. Each is evaluated when it is asked for.
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

/// An operation with a constant mask that some of the threads named by it may not come to.
fn missing(facts: Facts<'_>, site: &Site, lanes: u64) -> Option<Finding> {
    let mut worst: Option<Finding> = None;
    for (branch, sources) in deciding(facts, site) {
        let targets = facts.cfg.successors(branch);
        let (coming, staying): (Vec<Node>, Vec<Node>) = targets
            .iter()
            .copied()
            .partition(|&target| facts.ways().come(branch, target, site.block));
        let named = named_come(facts, branch, lanes, |node| coming.contains(&node));
        if named == Decision::Together {
            continue;
        }
        // Those that miss it have ended if nothing is left for them to do.
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
        let is_for_rows =
            [named, decision(facts, branch, Scope::Wave)].contains(&Decision::TogetherInRows);
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
fn ends(facts: Facts<'_>, block: Node) -> bool {
    !facts.ways().any([block], |_| true, |at| super::barriers::has_effect(facts, at))
}
