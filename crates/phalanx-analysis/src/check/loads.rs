//! Loads that could be in a cheaper class but for one obstacle.
//!
//! | rule | where | reported when |
//! |---|---|---|
//! | [`Rule::CoherentLoad`] | NVPTX | nothing in the kernel writes through the pointer, and `ld.global.nc` is refused: the argument is not `noalias`, the pointer escapes, or the variable can be named from elsewhere |
//! | [`Rule::LaneByLaneLoad`] | AMDGPU | the address does not depend on positions in the wave, and `s_load` is refused: a store or an acquire before it, its alignment, or an address that depends on unknown values, other than arguments of unknown callers |
//!
//! Nothing is reported of loads whose address depends on the position in the wave, and of memory
//! that the kernel writes. [`loads`](crate::loads) finds the classes of loads. O(loads +
//! instructions).

use phalanx_ir::{InstId, Opcode};
use phalanx_target::{Architecture, Scope, SourceSet};

use super::{Facts, Finding, Level, Rule};
use crate::code::SpaceSet;
use crate::loads::{Load, LoadClass, LoadClasses, Refusal};
use crate::spaces::MemoryKinds;

/// Findings about loads, in the order of the function.
#[must_use]
pub fn findings(facts: Facts<'_>, loads: &LoadClasses, kinds: &MemoryKinds) -> Vec<Finding> {
    let rule = match facts.target.architecture() {
        Architecture::Nvptx => coherent,
        Architecture::Amdgcn => lane_by_lane,
        _ => return Vec::new(),
    };
    loads.loads().iter().filter_map(|load| rule(facts, kinds, load)).collect()
}

fn finding(rule: Rule, load: &Load, refusal: Refusal) -> Finding {
    let finding = Finding::new(rule, Level::Note, load.inst, Scope::Wave);
    Finding { refusal: Some(refusal), ..finding }
}

fn coherent(facts: Facts<'_>, kinds: &MemoryKinds, load: &Load) -> Option<Finding> {
    let refusal = load.refusal(LoadClass::NonCoherent)?;
    match refusal {
        Refusal::Aliased(_) => {
            let other = other_store(facts, kinds);
            Some(Finding { other, ..finding(Rule::CoherentLoad, load, refusal) })
        }
        Refusal::Escapes { .. } | Refusal::Visible(_) => {
            Some(finding(Rule::CoherentLoad, load, refusal))
        }
        _ => None,
    }
}

/// The first store that may be to device memory.
fn other_store(facts: Facts<'_>, kinds: &MemoryKinds) -> Option<InstId> {
    let body = facts.code.body;
    let mut insts = facts.code.flow.order().iter().flat_map(|&block| body.block_insts(block));
    insts.find(|&inst| {
        let address = match body.inst(inst).opcode {
            Opcode::Store => 1,
            Opcode::AtomicRmw | Opcode::CmpXchg => 0,
            _ => return false,
        };
        kinds.at(body, inst, address).meets(SpaceSet::GLOBAL)
    })
}

fn lane_by_lane(facts: Facts<'_>, kinds: &MemoryKinds, load: &Load) -> Option<Finding> {
    let refusal = load.refusal(LoadClass::Scalar)?;
    let memories = kinds.at(facts.code.body, load.inst, 0).memories();
    // Scalar loads read only these memories, so no other obstacle matters.
    if !(SpaceSet::GLOBAL | SpaceSet::CONSTANT).contains(memories) {
        return None;
    }
    let found = finding(Rule::LaneByLaneLoad, load, refusal);
    match refusal {
        Refusal::Clobbered(_) | Refusal::Acquire(_) | Refusal::Misaligned { .. } => Some(found),
        // In other functions, the unknown values may be arguments of unknown callers.
        Refusal::Divergent(sources) if facts.is_kernel || facts.callers_are_known => {
            let position = SourceSet::THREAD_XYZ | SourceSet::LANE | SourceSet::QUAD;
            let is_unknown = sources.contains(SourceSet::OPAQUE_THREAD);
            (is_unknown && !sources.intersects(position)).then_some(Finding { sources, ..found })
        }
        _ => None,
    }
}
