//! Which cycle a temporal use is blamed on.
//!
//! A use that lies outside of several cycles around the definition is found at the outermost of them. Threads need not
//! leave that one in different iterations: the divergent exit may be that of a cycle within, and then a reader is told
//! that one, which is in the list of cycles with divergent exits. Sources are not touched.
//!
//! O(1) per use that is named well already, else O(listed cycles around the definition).

use phalanx_graph::{CycleId, Cycles};
use phalanx_target::SourceSet;

use crate::divergence::{
    llvm::merge,
    result::{Divergence, TemporalUse},
    table::ValueTable,
};

/// Renames the cycles of temporal uses whose own exits do not diverge.
pub(crate) fn name_cycles(result: &mut Divergence, cycles: &Cycles, table: &ValueTable) {
    if result.temporal.is_empty() {
        return;
    }
    let mut exits = vec![SourceSet::EMPTY; cycles.len()];
    for &(cycle, sources) in &result.divergent_exits {
        exits[cycle.index()] |= sources;
    }
    let is_named_well = |t: &TemporalUse| t.sources.difference(exits[t.cycle.index()]).is_empty();
    if result.temporal.iter().all(is_named_well) {
        return;
    }
    // The closest cycle around each, itself included, that has a divergent exit.
    let mut listed: Vec<Option<CycleId>> = vec![None; cycles.len()];
    for cycle in cycles.iter() {
        let up = cycles.parent(cycle).and_then(|up| listed[up.index()]);
        listed[cycle.index()] = if exits[cycle.index()].is_empty() { up } else { Some(cycle) };
    }
    let around = |cycle: CycleId| {
        std::iter::successors(listed[cycle.index()], |&c| listed[cycles.parent(c)?.index()])
    };
    for use_ in &mut result.temporal {
        if is_named_well(use_) {
            continue;
        }
        let Some(inner) = cycles.innermost(table.block(use_.value)) else { continue };
        let within = around(inner).take_while(|&c| cycles.contains_cycle(use_.cycle, c));
        // The outermost that leaves nothing unsaid, or else that says something.
        let mut best: Option<(bool, CycleId)> = None;
        for cycle in within.filter(|&c| exits[c.index()].intersects(use_.sources)) {
            let full = use_.sources.difference(exits[cycle.index()]).is_empty();
            if full || best.is_none_or(|(was_full, _)| !was_full) {
                best = Some((full, cycle));
            }
        }
        if let Some((_, cycle)) = best {
            use_.cycle = cycle;
        }
    }
    result.temporal = merge(std::mem::take(&mut result.temporal));
}
