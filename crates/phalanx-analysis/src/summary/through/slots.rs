//! Facts about a slot of an argument's object that follow from its SSA form, without a solution.

use phalanx_core::divergence::FlowFacts;
use phalanx_graph::{Node, PostDomTree};
use phalanx_ir::{InstId, flow::node_of};
use rustc_hash::FxHashSet;

use super::super::returns::parting_for;
use super::seeded::Pointee;
use crate::code::Code;
use crate::memory::{
    PrivateMemory,
    private::{Effect, Touch, parameter_of},
    ssa::{EventKind, Version},
};

/// See the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotFacts {
    pub(crate) is_written: bool,
    /// Whether the content at function entry reaches no return.
    pub(crate) is_certain: bool,
    /// The branches that part threads for returns with different contents of the slot.
    pub(crate) parting: Vec<Node>,
    exits: Vec<Exit>,
}

/// The content of a slot at a return.
#[derive(Clone, Copy, Debug)]
struct Exit {
    ret: InstId,
    /// Compared only with versions of the same slot.
    version: Version,
    made: Made,
}

/// Where a version is made.
#[derive(Clone, Copy, Debug)]
enum Made {
    AtEntry,
    In(Node),
    By(InstId),
}

impl SlotFacts {
    /// The facts about all slots, by number. Slots of allocas get default facts. O(touches +
    /// versions of the other slots).
    pub(crate) fn all(
        graphs: (Code<'_>, FlowFacts<'_>, &PostDomTree),
        memory: &PrivateMemory,
    ) -> Vec<SlotFacts> {
        Self::of_objects(graphs, memory, |_| true)
    }

    /// The same, with default facts for all objects for which `is_told` is false.
    pub(crate) fn of_objects(
        graphs: (Code<'_>, FlowFacts<'_>, &PostDomTree),
        memory: &PrivateMemory,
        is_told: impl Fn(InstId) -> bool,
    ) -> Vec<SlotFacts> {
        let mut found = vec![SlotFacts::default(); memory.slots().len()];
        let is_told = |object| parameter_of(object).is_some() && is_told(object);
        for touch in memory.touches().iter().filter(|touch| is_told(memory.object(touch))) {
            let facts = &mut found[touch.slot as usize];
            facts.is_written |= memory.events().event(touch.event).kind != EventKind::Use;
            if touch.effect == Effect::Return {
                facts.exits.push(Exit::of(memory, touch));
            }
        }
        let of_pointees = memory.slots().iter().zip(&mut found);
        for (_, facts) in of_pointees.filter(|(slot, _)| is_told(slot.alloca)) {
            facts.is_certain = is_certain(memory, &facts.exits);
            facts.find_parting(graphs);
        }
        found
    }

    /// Selects the facts about the slots of one argument's object. `all` has those of all slots.
    pub(crate) fn of_pointee(all: &[SlotFacts], pointee: Option<&Pointee>) -> Vec<SlotFacts> {
        let slots = pointee.into_iter().flat_map(|pointee| &pointee.slots);
        slots.map(|slot| all[slot.number as usize].clone()).collect()
    }

    /// Drops the parting branches.
    pub(crate) fn forget_parting(&mut self) {
        self.parting.clear();
    }

    /// Finds the parting branches again in a new graph, if the SSA form of the slot is the same.
    /// O(blocks + edges), or O(1) with one return.
    pub(crate) fn find_parting(
        &mut self,
        (code, flow, postdom): (Code<'_>, FlowFacts<'_>, &PostDomTree),
    ) {
        self.parting.clear();
        if self.exits.len() > 1 {
            let given = self.exits.iter().filter_map(|exit| {
                let node = node_of(code.body.block_of(exit.ret)?);
                Some((node, exit.version, exit.made.is_once(code, flow)))
            });
            let given: Vec<(Node, Version, bool)> = given.collect();
            self.parting = parting_for(flow, postdom, code.flow.id_count(), &given);
        }
    }
}

impl Exit {
    fn of(memory: &PrivateMemory, touch: &Touch) -> Exit {
        let version = memory.reaching(touch);
        let made = match version {
            Version::Entry => Made::AtEntry,
            Version::Phi(phi) => Made::In(memory.ssa().phis()[phi as usize].block),
            Version::Def(event) => Made::By(memory.touch_of(event).inst),
        };
        Exit { ret: touch.inst, version, made }
    }
}

impl Made {
    /// Whether the version is made at most once per call.
    fn is_once(self, code: Code<'_>, flow: FlowFacts<'_>) -> bool {
        let block = match self {
            Made::AtEntry => return true,
            Made::In(block) => Some(block),
            Made::By(inst) => code.body.block_of(inst).map(node_of),
        };
        block.is_some_and(|block| flow.cycles.innermost(block).is_none())
    }
}

fn is_certain(memory: &PrivateMemory, exits: &[Exit]) -> bool {
    let ssa = memory.ssa();
    let mut work: Vec<Version> = exits.iter().map(|exit| exit.version).collect();
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
