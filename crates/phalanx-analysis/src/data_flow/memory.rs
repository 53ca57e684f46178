//! Edges from versions of memory: the HSSA form turned round.
//!
//! The form says of each touch which version is before it; this says of each version what comes behind. It follows from the form and from nothing else, so
//! it is there as long as the form is. An edge that hangs on flags of an instruction too is here whatever the flags are, and
//! [`DataFlow`](super::DataFlow) leaves it out when it is asked.
//!
//! **Invariants.** Instructions are known by their ids, not by their numbers among all values: these move when the function gets another argument.
//!
//! **Complexity.** O(versions + edges), with edges of one version sorted.

use phalanx_ir::InstId;

use super::{Edge, Entity, Layout, class, slot};
use crate::{
    lower::Numbering,
    memory::{
        MemorySsa,
        hssa::Classes,
        private::{Effect, Touch},
        ssa::EventKind,
    },
};

/// Where an edge from a version leads. Instructions come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Inst(u32),
    /// By its number.
    Version(u32),
}

/// Edges from versions of memory. See the [module documentation](self).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MemoryFlow {
    /// The numbering of versions: with no values.
    layout: Layout,
    /// First edge by version, and the end.
    start: Vec<u32>,
    edges: Vec<(Target, Edge)>,
}

impl MemoryFlow {
    /// That of the memory of a function.
    #[must_use]
    pub fn new(memory: &MemorySsa) -> Self {
        let mut found = Collect { layout: Layout::new(0, memory), edges: Vec::new() };
        found.slots(memory);
        found.classes(memory);
        found.phis(memory);
        found.finish()
    }

    /// What a version influences, whatever the flags of instructions are.
    pub(super) fn users(
        &self,
        version: Entity,
        numbering: Numbering,
    ) -> impl Iterator<Item = (Entity, Edge)> {
        let number = self.layout.number(version) as usize;
        let of = self.start[number] as usize..self.start[number + 1] as usize;
        self.edges[of].iter().map(move |&(to, edge)| match to {
            Target::Inst(id) => (Entity::Value(numbering.inst(InstId::from_raw(id.into()))), edge),
            Target::Version(number) => (self.layout.entity(number), edge),
        })
    }
}

/// Whether an instruction takes anything from what a slot held; what only writes does not.
pub(super) fn is_read(touch: &Touch) -> bool {
    !matches!(touch.effect, Effect::Store | Effect::Fill | Effect::CopyTo | Effect::Clobber)
}

/// Edges as they are found.
struct Collect {
    layout: Layout,
    edges: Vec<(u32, Target, Edge)>,
}

impl Collect {
    fn add_inst(&mut self, from: Entity, inst: InstId) {
        let inst = Target::Inst(inst.into_raw().into_u32());
        self.edges.push((self.layout.number(from), inst, Edge::Content));
    }

    fn add_version(&mut self, from: Entity, to: Entity, edge: Edge) {
        let to = Target::Version(self.layout.number(to));
        self.edges.push((self.layout.number(from), to, edge));
    }

    fn slots(&mut self, memory: &MemorySsa) {
        let private = memory.private();
        for touch in private.touches() {
            let Some(before) = slot(private.reaching(touch)) else { continue };
            if is_read(touch) {
                self.add_inst(before, touch.inst);
            }
            if private.events().event(touch.event).kind == EventKind::MayDef {
                self.add_version(before, Entity::Slot(touch.event), Edge::OldContent);
            }
        }
    }

    fn classes(&mut self, memory: &MemorySsa) {
        for touch in memory.touches() {
            let (made, others) = (Entity::Class(touch.event), Entity::Others(touch.class));
            if let Some(before) = class(touch.before) {
                self.add_inst(before, touch.inst);
                if touch.is_chi {
                    self.add_version(before, made, Edge::OldContent);
                }
            }
            if Classes::SHARED.contains(touch.class) {
                if touch.is_chi {
                    self.add_version(made, others, Edge::Content);
                }
                self.add_inst(others, touch.inst);
            }
        }
    }

    fn phis(&mut self, memory: &MemorySsa) {
        let ssa = memory.private().ssa();
        for (number, phi) in ssa.phis().iter().enumerate() {
            for from in ssa.incoming(phi).iter().filter_map(|(_, version)| slot(*version)) {
                self.add_version(from, Entity::SlotPhi(number as u32), Edge::Content);
            }
        }
        let ssa = memory.ssa();
        for (number, phi) in ssa.phis().iter().enumerate() {
            for from in ssa.incoming(phi).iter().filter_map(|(_, version)| class(*version)) {
                self.add_version(from, Entity::ClassPhi(number as u32), Edge::Content);
            }
        }
    }

    fn finish(mut self) -> MemoryFlow {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut start = vec![0u32; self.layout.len() + 1];
        for (from, ..) in &self.edges {
            start[*from as usize + 1] += 1;
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let edges = self.edges.into_iter().map(|(_, to, edge)| (to, edge)).collect();
        MemoryFlow { layout: self.layout, start, edges }
    }
}
