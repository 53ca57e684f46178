//! Edges from versions of private slots: the SSA form of the slots, inverted.
//!
//! The SSA form has, for each touch, the version before it. This table has, for each version, what
//! reads it or replaces a part of it. The table depends on private memory alone, so it is valid as
//! long as private memory is. Versions of classes of memory need no table: their form gives the
//! readers ([`MemorySsa::readers`](crate::memory::MemorySsa::readers)).
//!
//! ```text
//! store i32 %a, ptr %s       ; version 0
//! %v = load i32, ptr %s      ; edge from version 0 to %v
//! ```
//!
//! **Invariants.** The table has ids of instructions, not their numbers among all values, which
//! change when the function gets another argument.
//!
//! **Complexity.** O(versions + edges × log(edges)), since the edges are sorted.

use phalanx_ir::InstId;

use super::{Edge, Entity, slot};
use crate::{
    code::Numbering,
    memory::{
        PrivateMemory,
        private::{Effect, Touch},
        ssa::EventKind,
    },
};

/// The target of an edge from a version. Instructions come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Inst(u32),
    Version(u32),
}

/// Edges from versions of private slots. See the [module documentation](self).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MemoryFlow {
    /// How many events there are: phis have the numbers after these.
    events: u32,
    /// The position of the first edge of each version, and the end.
    start: Vec<u32>,
    edges: Vec<(Target, Edge)>,
}

impl MemoryFlow {
    /// The edges for the private slots of a function.
    #[must_use]
    pub fn new(private: &PrivateMemory) -> Self {
        let events = private.events().len() as u32;
        let mut found = Collect { events, edges: Vec::new() };
        found.touches(private);
        found.phis(private);
        found.finish(events as usize + private.ssa().phis().len())
    }

    /// What a version of a slot influences, in order.
    pub(super) fn users(
        &self,
        version: Entity,
        numbering: Numbering,
    ) -> impl Iterator<Item = (Entity, Edge)> {
        let of = number(self.events, version).map(|number| number as usize);
        let of = of.map_or(0..0, |at| self.start[at] as usize..self.start[at + 1] as usize);
        self.edges[of].iter().map(move |&(to, edge)| match to {
            Target::Inst(id) => (Entity::Value(numbering.inst(InstId::from_raw(id.into()))), edge),
            Target::Version(number) => match number.checked_sub(self.events) {
                None => (Entity::Slot(number), edge),
                Some(phi) => (Entity::SlotPhi(phi), edge),
            },
        })
    }
}

/// The number of a version of a slot.
fn number(events: u32, version: Entity) -> Option<u32> {
    match version {
        Entity::Slot(event) => Some(event),
        Entity::SlotPhi(phi) => Some(events + phi),
        _ => None,
    }
}

/// Whether an instruction takes anything from what a slot held; a touch that only writes does not.
pub(super) fn is_read(touch: &Touch) -> bool {
    !matches!(touch.effect, Effect::Store | Effect::Fill | Effect::CopyTo | Effect::Clobber)
}

/// Edges while they are collected.
struct Collect {
    events: u32,
    edges: Vec<(u32, Target, Edge)>,
}

impl Collect {
    fn add_inst(&mut self, from: Entity, inst: InstId) {
        let inst = Target::Inst(inst.into_raw().into_u32());
        self.edges.extend(number(self.events, from).map(|from| (from, inst, Edge::Content)));
    }

    fn add_version(&mut self, from: Entity, to: Entity, edge: Edge) {
        let both = number(self.events, from).zip(number(self.events, to));
        self.edges.extend(both.map(|(from, to)| (from, Target::Version(to), edge)));
    }

    fn touches(&mut self, private: &PrivateMemory) {
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

    fn phis(&mut self, private: &PrivateMemory) {
        let ssa = private.ssa();
        for (number, phi) in ssa.phis().iter().enumerate() {
            for from in ssa.incoming(phi).iter().filter_map(|(_, version)| slot(*version)) {
                self.add_version(from, Entity::SlotPhi(number as u32), Edge::Content);
            }
        }
    }

    fn finish(mut self, versions: usize) -> MemoryFlow {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut start = vec![0u32; versions + 1];
        for (from, ..) in &self.edges {
            start[*from as usize + 1] += 1;
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let edges = self.edges.into_iter().map(|(_, to, edge)| (to, edge)).collect();
        MemoryFlow { events: self.events, start, edges }
    }
}
