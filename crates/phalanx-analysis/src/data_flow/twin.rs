//! Data flow by its definition: one pass over the function looks at what each instruction reads.
//! Slow, for tests.

use phalanx_ir::{InstId, Opcode};

use super::{Edge, Entity, edge, memory::is_read, sees_others, slot};
use crate::{
    code::{Code, Numbering},
    memory::{
        MemorySsa,
        hssa::{Classes, MemoryClass, Version},
        ssa::EventKind,
    },
};

/// All edges of a function in order: source, target, and kind.
#[must_use]
pub fn edges(code: Code<'_>, memory: &MemorySsa) -> Vec<(Entity, Entity, Edge)> {
    let numbering = Numbering::new(code.header);
    let mut twin = Twin { code, numbering, edges: Vec::new() };
    for &block in code.flow.order() {
        for inst in code.body.block_insts(block) {
            twin.operands(inst);
            twin.slots(memory, inst);
            twin.classes(memory, inst);
        }
    }
    let private = memory.private();
    for (number, phi) in private.ssa().phis().iter().enumerate() {
        for from in private.ssa().incoming(phi).iter().filter_map(|(_, version)| slot(*version)) {
            twin.edges.push((from, Entity::SlotPhi(number as u32), Edge::Content));
        }
    }
    for variable in MemoryClass::ALL {
        for block in memory.phis(variable) {
            let incoming = memory.phi(variable, block).into_iter().flatten();
            for from in incoming.filter_map(|(_, version)| class(variable, version)) {
                twin.edges.push((from, Entity::ClassPhi(variable, block), Edge::Content));
            }
        }
    }
    twin.edges.sort_unstable();
    twin.edges.dedup();
    twin.edges
}

struct Twin<'a> {
    code: Code<'a>,
    numbering: Numbering,
    edges: Vec<(Entity, Entity, Edge)>,
}

impl Twin<'_> {
    fn inst(&self, inst: InstId) -> Entity {
        Entity::Value(self.numbering.inst(inst))
    }

    fn operands(&mut self, inst: InstId) {
        let body = self.code.body;
        let operands: &[phalanx_ir::Value] = match body.inst(inst).opcode {
            Opcode::Phi => body.phi_values(inst),
            _ => body.operands(inst),
        };
        for (position, &operand) in operands.iter().enumerate() {
            if let Some(from) = self.numbering.operand(operand) {
                let edge = edge(self.code, inst, position);
                self.edges.push((Entity::Value(from), self.inst(inst), edge));
            }
        }
    }

    fn slots(&mut self, memory: &MemorySsa, inst: InstId) {
        let private = memory.private();
        let at = self.inst(inst);
        for touch in private.of(inst) {
            let kind = private.events().event(touch.event).kind;
            let made = Entity::Slot(touch.event);
            if let Some(before) = slot(private.reaching(touch)) {
                if is_read(touch) {
                    self.edges.push((before, at, Edge::Content));
                }
                if kind == EventKind::MayDef {
                    self.edges.push((before, made, Edge::OldContent));
                }
            }
            if kind != EventKind::Use {
                self.edges.push((at, made, Edge::Content));
            }
        }
    }

    fn classes(&mut self, memory: &MemorySsa, inst: InstId) {
        let at = self.inst(inst);
        let is_store = self.code.body.inst(inst).opcode == Opcode::Store;
        for touch in memory.of(inst) {
            let (made, others) = (Entity::Class(touch.class, inst), Entity::Others(touch.class));
            let is_shared = Classes::SHARED.contains(touch.class);
            if let Some(before) = class(touch.class, touch.before) {
                if !is_store {
                    self.edges.push((before, at, Edge::Content));
                }
                if touch.is_chi {
                    self.edges.push((before, made, Edge::OldContent));
                }
            }
            if touch.is_chi {
                self.edges.push((at, made, Edge::Content));
                if is_shared {
                    self.edges.push((made, others, Edge::Content));
                }
            }
            if is_shared && sees_others(self.code, inst) {
                self.edges.push((others, at, Edge::Content));
            }
        }
    }
}

fn class(class: MemoryClass, version: Version) -> Option<Entity> {
    match version {
        Version::Entry => None,
        Version::Def(inst) => Some(Entity::Class(class, inst)),
        Version::Phi(block) => Some(Entity::ClassPhi(class, block)),
    }
}
