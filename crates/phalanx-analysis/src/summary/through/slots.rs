//! What follows from the SSA form of a slot of what an argument points to, without any solution.

use phalanx_graph::{Node, PostDomTree};
use phalanx_ir::{InstId, flow::node_of};
use rustc_hash::FxHashSet;

use super::super::returns::parting_for;
use super::seeded::Pointee;
use crate::divergence::Flow;
use crate::lower::Code;
use crate::memory::{
    PrivateMemory,
    private::{Effect, Touch, parameter_of},
    ssa::{EventKind, Version},
};

/// See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotFacts {
    pub(super) is_written: bool,
    /// Whether what is there at the entry is nowhere left at a return.
    pub(super) is_certain: bool,
    /// The branches at which threads part for returns where the slot holds different things.
    pub(super) parting: Vec<Node>,
}

impl SlotFacts {
    /// Those of all slots of memory, by number; of stack slots nothing is told. O(touches), and the versions of the slots in question.
    pub(super) fn all(
        graphs: (Code<'_>, Flow<'_>, &PostDomTree),
        memory: &PrivateMemory,
    ) -> Vec<SlotFacts> {
        Self::of_objects(graphs, memory, |_| true)
    }

    /// The same where nothing is told of other objects than these.
    pub(super) fn of_objects(
        graphs: (Code<'_>, Flow<'_>, &PostDomTree),
        memory: &PrivateMemory,
        is_told: impl Fn(InstId) -> bool,
    ) -> Vec<SlotFacts> {
        let mut found = vec![SlotFacts::default(); memory.slots().len()];
        let mut exits: Vec<Vec<&Touch>> = vec![Vec::new(); found.len()];
        let is_told = |object| parameter_of(object).is_some() && is_told(object);
        for touch in memory.touches().iter().filter(|touch| is_told(memory.object(touch))) {
            let slot = touch.slot as usize;
            found[slot].is_written |= memory.events().event(touch.event).kind != EventKind::Use;
            if touch.effect == Effect::Return {
                exits[slot].push(touch);
            }
        }
        let of_pointees = memory.slots().iter().zip(&mut found).zip(&exits);
        for ((_, facts), exits) in of_pointees.filter(|((slot, _), _)| is_told(slot.alloca)) {
            facts.is_certain = is_certain(memory, exits);
            facts.parting = parting(graphs, memory, exits);
        }
        found
    }

    /// Those of what an argument points to, among those of all slots of the memory that tells of it.
    pub(super) fn of_pointee(all: &[SlotFacts], pointee: Option<&Pointee>) -> Vec<SlotFacts> {
        let slots = pointee.into_iter().flat_map(|pointee| &pointee.slots);
        slots.map(|slot| all[slot.number as usize].clone()).collect()
    }

    /// As if no branch parted threads.
    pub(super) fn forget_parting(&mut self) {
        self.parting.clear();
    }
}

fn is_certain(memory: &PrivateMemory, exits: &[&Touch]) -> bool {
    let ssa = memory.ssa();
    let mut work: Vec<Version> = exits.iter().map(|touch| memory.reaching(touch)).collect();
    let mut seen: FxHashSet<Version> = FxHashSet::default();
    while let Some(version) = work.pop() {
        match version {
            Version::Entry => return false,
            Version::Def(event) => {
                let is_partial = memory.events().event(event).kind == EventKind::MayDef;
                if is_partial && seen.insert(version) {
                    work.push(ssa.reaching(event));
                }
            }
            Version::Phi(phi) => {
                if seen.insert(version) {
                    let phi = &ssa.phis()[phi as usize];
                    work.extend(ssa.incoming(phi).iter().map(|(_, version)| *version));
                }
            }
        }
    }
    true
}

fn parting(
    (code, flow, postdom): (Code<'_>, Flow<'_>, &PostDomTree),
    memory: &PrivateMemory,
    exits: &[&Touch],
) -> Vec<Node> {
    let exit = |touch: &&Touch| {
        let node = node_of(code.body.block_of(touch.inst)?);
        let version = memory.reaching(touch);
        Some((node, version, is_once((code, flow), memory, version)))
    };
    let given: Vec<(Node, Version, bool)> = exits.iter().filter_map(exit).collect();
    parting_for(flow, postdom, code.flow.id_count(), &given)
}

/// Whether a version is one per call.
fn is_once((code, flow): (Code<'_>, Flow<'_>), memory: &PrivateMemory, version: Version) -> bool {
    let block = match version {
        Version::Entry => return true,
        Version::Phi(phi) => Some(memory.ssa().phis()[phi as usize].block),
        Version::Def(event) => {
            let touch = memory.touch_of(event);
            code.body.block_of(touch.inst).map(node_of)
        }
    };
    block.is_some_and(|block| flow.cycles.innermost(block).is_none())
}
