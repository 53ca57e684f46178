//! Which cycle a temporal use is blamed on.
//!
//! A use that lies outside of several cycles around the definition is found at the outermost of
//! them. Threads need not leave that one in different iterations: the divergent exit may be that of
//! a cycle within, and then a reader is told that one, which is in the list of cycles with
//! divergent exits. Sources are not touched.
//!
//! O(1) per use that is named well already, else O(listed cycles around the definition).

use crate::SourceSet;
use phalanx_graph::{CycleId, Cycles};

use crate::divergence::{llvm::merge, result::TemporalUse, table::ValueTable};

/// Renames the cycles of temporal uses whose own exits do not diverge.
pub(crate) fn name_cycles(
    temporal: &mut Vec<TemporalUse>,
    divergent_exits: &[(CycleId, SourceSet)],
    cycles: &Cycles,
    table: &ValueTable,
) {
    if temporal.is_empty() {
        return;
    }
    let mut exits = vec![SourceSet::EMPTY; cycles.len()];
    for &(cycle, sources) in divergent_exits {
        exits[cycle.index()] |= sources;
    }
    let is_named_well = |t: &TemporalUse| t.sources.difference(exits[t.cycle.index()]).is_empty();
    if temporal.iter().all(is_named_well) {
        return;
    }
    // The closest cycle around each, itself included, that has a divergent exit.
    let mut listed: Vec<Option<CycleId>> = vec![None; cycles.len()];
    for cycle in cycles.iter() {
        let up = cycles.parent(cycle).and_then(|up| listed[up.index()]);
        listed[cycle.index()] = if exits[cycle.index()].is_empty() { up } else { Some(cycle) };
    }
    let env = |cycle: CycleId| {
        std::iter::successors(listed[cycle.index()], |&c| listed[cycles.parent(c)?.index()])
    };
    for use_ in &mut *temporal {
        if is_named_well(use_) {
            continue;
        }
        let Some(inner) = cycles.innermost(table.block(use_.value)) else { continue };
        let within = env(inner).take_while(|&c| cycles.contains_cycle(use_.cycle, c));
        let sources = use_.sources;
        if let Some(cycle) = choose(within.map(|c| (c, exits[c.index()])), sources) {
            use_.cycle = cycle;
        }
    }
    *temporal = merge(std::mem::take(temporal));
}

/// Of cycles from the inside out with the sources of their divergent exits: the outermost that
/// leaves nothing of a use unsaid, or else that says something.
pub(crate) fn choose(
    cycles: impl Iterator<Item = (CycleId, SourceSet)>,
    sources: SourceSet,
) -> Option<CycleId> {
    let mut best: Option<(bool, CycleId)> = None;
    for (cycle, exits) in cycles.filter(|(_, exits)| exits.intersects(sources)) {
        let full = sources.difference(exits).is_empty();
        if full || best.is_none_or(|(was_full, _)| !was_full) {
            best = Some((full, cycle));
        }
    }
    best.map(|(_, cycle)| cycle)
}
