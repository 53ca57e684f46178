//! Forward data flow, memory included: what anything in a function directly influences.
//!
//! # What
//!
//! This is the affect map of Kong (*Variance Analysis on SSA-based IR*, 2009) in full. The [affect map](crate::affect) that
//! divergence is solved on leaves out what is known not to matter for that: an operand that a result does not
//! depend on, memory whose content does not differ. Here nothing is left out, and every edge says what it is ([`Edge`]).
//!
//! Its nodes ([`Entity`]) are arguments, instructions (stores and terminators too: they are statements that something
//! influences), and versions of memory variables in HSSA form ([`memory`](crate::memory)):
//!
//! | from | to | edge |
//! |---|---|---|
//! | an operand | what computes with it | operand; base or index of an address; size of a copy |
//! | an address | the access | address |
//! | what is stored | the store | content |
//! | an instruction that writes | the version that it makes (chi) | content |
//! | a version | what reads it (mu) | content |
//! | a version | the next one, unless that replaces all of it | old content |
//! | versions that meet | their memory phi | content |
//!
//! **Other threads.** Memory of a workgroup and of the device is written by others, too, and what they wrote becomes visible
//! at fences, barriers, ordered and volatile accesses and calls. Every version of such a class leads to [`Entity::Others`], and that to
//! everything where it can become visible. Values that threads hand each other without memory (shuffles, votes) are operands.
//! Races are not looked at: a plain load sees what was written before it in its own thread, or before such a point.
//!
//! **Addresses.** An analysis of addresses (of memory spaces, say) follows values as far as they form other addresses, and not into
//! memory or from a base to what is loaded through it: [`Edges::WithoutContent`].
//!
//! Control dependence is no data flow: see [`control`](crate::control).
//!
//! # Complexity
//!
//! O(instructions + operands + touches of memory), and so is reaching everything that is influenced.

use phalanx_graph::BitSet;
use phalanx_ir::{InstId, Opcode, constant::ConstKind, inst::InstFlags, inst::Ordering};

use crate::{
    affect::Value,
    lower::{Code, Numbering},
    memory::{
        MemorySsa,
        hssa::MemoryClass,
        private::Effect,
        ssa::{EventKind, Version},
    },
};

/// What is influenced or influences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// An argument or an instruction, by its number in the tables of the analyses.
    Value(Value),
    /// A version of a private slot that an event makes.
    Slot(u32),
    /// A memory phi of a private slot.
    SlotPhi(u32),
    /// A version of a class of memory that an event makes.
    Class(u32),
    /// A memory phi of a class.
    ClassPhi(u32),
    /// What other threads may have written to a class.
    Others(MemoryClass),
}

/// How something influences something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// It is computed with, selected, passed or tested.
    Operand,
    /// It is the base that an address is made from.
    Base,
    /// It is an index of an address.
    Index,
    /// It says how many bytes are touched.
    Size,
    /// It says where memory is accessed.
    Address,
    /// It is written to memory, or read from there.
    Content,
    /// It is what memory held before a part was written.
    OldContent,
}

/// Which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// All.
    All,
    /// Those that form addresses and other values: not content of memory, and not from an address to what is accessed there.
    WithoutContent,
}

impl Edges {
    /// Whether an edge is among them.
    #[must_use]
    pub fn contains(self, edge: Edge) -> bool {
        self == Edges::All || !matches!(edge, Edge::Address | Edge::Content | Edge::OldContent)
    }
}

/// Where each kind of entity begins in the dense numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Layout {
    slots: u32,
    slot_phis: u32,
    classes: u32,
    class_phis: u32,
    others: u32,
}

impl Layout {
    fn number(self, entity: Entity) -> u32 {
        match entity {
            Entity::Value(value) => value.raw(),
            Entity::Slot(event) => self.slots + event,
            Entity::SlotPhi(phi) => self.slot_phis + phi,
            Entity::Class(event) => self.classes + event,
            Entity::ClassPhi(phi) => self.class_phis + phi,
            Entity::Others(class) => self.others + class as u32,
        }
    }

    fn entity(self, number: u32) -> Entity {
        if number < self.slots {
            Entity::Value(Value::from_raw(number))
        } else if number < self.slot_phis {
            Entity::Slot(number - self.slots)
        } else if number < self.classes {
            Entity::SlotPhi(number - self.slot_phis)
        } else if number < self.class_phis {
            Entity::Class(number - self.classes)
        } else if number < self.others {
            Entity::ClassPhi(number - self.class_phis)
        } else {
            Entity::Others(MemoryClass::ALL[(number - self.others) as usize])
        }
    }

    fn len(self) -> usize {
        self.others as usize + MemoryClass::ALL.len()
    }
}

/// Forward data flow of a function. See the [module documentation](self).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DataFlow {
    layout: Layout,
    /// First user by entity, and the end.
    start: Vec<u32>,
    users: Vec<(u32, Edge)>,
}

impl DataFlow {
    /// That of a function, whose memory is given.
    #[must_use]
    pub fn new(code: Code<'_>, memory: &MemorySsa) -> Self {
        let numbering = Numbering::new(code.header);
        let private = memory.private();
        let values = (code.header.params.len() + code.body.id_count()) as u32;
        let slot_phis = values + private.events().len() as u32;
        let classes = slot_phis + private.ssa().phis().len() as u32;
        let class_phis = classes + memory.event_count() as u32;
        let others = class_phis + memory.ssa().phis().len() as u32;
        let layout = Layout { slots: values, slot_phis, classes, class_phis, others };
        let mut edges = Collect { code, numbering, layout, edges: Vec::new() };
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                edges.operands(inst);
                edges.slots(memory, inst);
                edges.classes(memory, inst);
            }
        }
        edges.phis(memory);
        edges.finish()
    }

    /// What an entity directly influences, and how; in order.
    pub fn users(&self, entity: Entity) -> impl Iterator<Item = (Entity, Edge)> + '_ {
        let number = self.layout.number(entity) as usize;
        let range = self.start[number] as usize..self.start[number + 1] as usize;
        self.users[range].iter().map(|&(to, edge)| (self.layout.entity(to), edge))
    }

    /// How many edges there are.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.users.len()
    }

    /// All that some entities influence over any number of edges, themselves included.
    #[must_use]
    pub fn reached(&self, from: impl IntoIterator<Item = Entity>, edges: Edges) -> Reached {
        let mut members = BitSet::new(self.layout.len());
        let mut work: Vec<u32> = Vec::new();
        for entity in from {
            let number = self.layout.number(entity);
            if members.insert(number as usize) {
                work.push(number);
            }
        }
        while let Some(number) = work.pop() {
            let number = number as usize;
            let users = &self.users[self.start[number] as usize..self.start[number + 1] as usize];
            for &(to, edge) in users {
                if edges.contains(edge) && members.insert(to as usize) {
                    work.push(to);
                }
            }
        }
        Reached { layout: self.layout, members }
    }
}

/// A set of entities of one function.
#[derive(Clone, Debug)]
pub struct Reached {
    layout: Layout,
    members: BitSet,
}

impl Reached {
    /// Whether an entity is among them.
    #[must_use]
    pub fn contains(&self, entity: Entity) -> bool {
        self.members.contains(self.layout.number(entity) as usize)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Entity> + '_ {
        self.members.iter().map(|number| self.layout.entity(number as u32))
    }
}

/// Edges as they are found.
struct Collect<'a> {
    code: Code<'a>,
    numbering: Numbering,
    layout: Layout,
    edges: Vec<(u32, u32, Edge)>,
}

impl Collect<'_> {
    fn add(&mut self, from: Entity, to: Entity, edge: Edge) {
        self.edges.push((self.layout.number(from), self.layout.number(to), edge));
    }

    fn inst(&self, inst: InstId) -> Entity {
        Entity::Value(self.numbering.inst(inst))
    }

    fn operands(&mut self, inst: InstId) {
        let body = self.code.body;
        let to = self.inst(inst);
        let operands: &[phalanx_ir::Value] = match body.inst(inst).opcode {
            Opcode::Phi => body.phi_values(inst),
            _ => body.operands(inst),
        };
        for (position, &operand) in operands.iter().enumerate() {
            if let Some(from) = self.numbering.operand(operand) {
                self.add(Entity::Value(from), to, self.edge(inst, position));
            }
        }
    }

    /// What an operand is for.
    fn edge(&self, inst: InstId, position: usize) -> Edge {
        let body = self.code.body;
        match (body.inst(inst).opcode, position) {
            (Opcode::GetElementPtr, 0) => Edge::Base,
            (Opcode::GetElementPtr, _) => Edge::Index,
            (Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg, 0) | (Opcode::Store, 1) => {
                Edge::Address
            }
            (Opcode::Store, _) | (Opcode::AtomicRmw | Opcode::CmpXchg, _) => Edge::Content,
            (opcode, _) if opcode.is_call() => match (self.block_operation(inst), position) {
                (Some(_), 0) | (Some(BlockOperation::Copy), 1) => Edge::Address,
                (Some(BlockOperation::Fill), 1) => Edge::Content,
                (Some(_), 2) => Edge::Size,
                _ => Edge::Operand,
            },
            _ => Edge::Operand,
        }
    }

    fn block_operation(&self, call: InstId) -> Option<BlockOperation> {
        let callee = self.code.body.const_callee(call)?;
        let ConstKind::Global(name) = self.code.context.const_data(callee).kind else {
            return None;
        };
        let name = self.code.context.bytes(name.symbol()?);
        if name.starts_with(b"llvm.memcpy.") || name.starts_with(b"llvm.memmove.") {
            return Some(BlockOperation::Copy);
        }
        name.starts_with(b"llvm.memset.").then_some(BlockOperation::Fill)
    }

    fn slots(&mut self, memory: &MemorySsa, inst: InstId) {
        let private = memory.private();
        let at = self.inst(inst);
        for touch in private.of(inst) {
            let before = slot(private.reaching(touch));
            let kind = private.events().event(touch.event).kind;
            let made = Entity::Slot(touch.event);
            // What only writes takes nothing from what was there.
            let is_read = !matches!(
                touch.effect,
                Effect::Store | Effect::Fill | Effect::CopyTo | Effect::Clobber
            );
            if let Some(before) = before {
                if is_read {
                    self.add(before, at, Edge::Content);
                }
                if kind == EventKind::MayDef {
                    self.add(before, made, Edge::OldContent);
                }
            }
            if kind != EventKind::Use {
                self.add(at, made, Edge::Content);
            }
        }
    }

    fn classes(&mut self, memory: &MemorySsa, inst: InstId) {
        let at = self.inst(inst);
        let sees_others = self.sees_others(inst);
        let is_store = self.code.body.inst(inst).opcode == Opcode::Store;
        for touch in memory.of(inst) {
            let before = class(touch.before);
            let is_shared = crate::memory::hssa::Classes::SHARED.contains(touch.class);
            if let Some(before) = before {
                if !is_store {
                    self.add(before, at, Edge::Content);
                }
                if touch.is_chi {
                    self.add(before, Entity::Class(touch.event), Edge::OldContent);
                }
            }
            if touch.is_chi {
                self.add(at, Entity::Class(touch.event), Edge::Content);
                if is_shared {
                    let others = Entity::Others(touch.class);
                    self.add(Entity::Class(touch.event), others, Edge::Content);
                }
            }
            if is_shared && sees_others {
                self.add(Entity::Others(touch.class), at, Edge::Content);
            }
        }
    }

    /// Whether what others wrote can become visible here.
    fn sees_others(&self, inst: InstId) -> bool {
        let data = self.code.body.inst(inst);
        match data.opcode {
            Opcode::Load | Opcode::Store => {
                data.flags.contains(InstFlags::VOLATILE)
                    || data.mem().ordering() != Ordering::NotAtomic
            }
            _ => true,
        }
    }

    fn phis(&mut self, memory: &MemorySsa) {
        for (number, phi) in memory.private().ssa().phis().iter().enumerate() {
            for &(_, version) in memory.private().ssa().incoming(phi) {
                if let Some(from) = slot(version) {
                    self.add(from, Entity::SlotPhi(number as u32), Edge::Content);
                }
            }
        }
        for (number, phi) in memory.ssa().phis().iter().enumerate() {
            for &(_, version) in memory.ssa().incoming(phi) {
                if let Some(from) = class(version) {
                    self.add(from, Entity::ClassPhi(number as u32), Edge::Content);
                }
            }
        }
    }

    fn finish(mut self) -> DataFlow {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut start = vec![0u32; self.layout.len() + 1];
        for (from, ..) in &self.edges {
            start[*from as usize + 1] += 1;
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let users = self.edges.into_iter().map(|(_, to, edge)| (to, edge)).collect();
        DataFlow { layout: self.layout, start, users }
    }
}

/// An intrinsic that writes a block of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockOperation {
    Copy,
    Fill,
}

fn slot(version: Version) -> Option<Entity> {
    match version {
        Version::Entry => None,
        Version::Def(event) => Some(Entity::Slot(event)),
        Version::Phi(phi) => Some(Entity::SlotPhi(phi)),
    }
}

fn class(version: Version) -> Option<Entity> {
    match version {
        Version::Entry => None,
        Version::Def(event) => Some(Entity::Class(event)),
        Version::Phi(phi) => Some(Entity::ClassPhi(phi)),
    }
}
