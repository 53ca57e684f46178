//! Forward data flow, memory included: what each entity of a function directly influences.
//!
//! # What
//!
//! This is the affect map of Kong (*Variance Analysis on SSA-based IR*, 2009) in full. The [affect
//! map](phalanx_core::affect) that divergence is solved on leaves out what cannot change
//! divergence: an operand that a result does not depend on, memory whose content does not differ.
//! Here nothing is left out, and every edge has a kind ([`Edge`]).
//!
//! Its nodes ([`Entity`]) are arguments, instructions (stores and terminators too: they are
//! statements that something influences), and versions of memory variables in HSSA form
//! ([`memory`](crate::memory)):
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
//! **Other threads.** Other threads also write workgroup and device memory. What they wrote becomes
//! visible at fences, barriers, ordered and volatile accesses and calls. Every version of such a
//! class leads to [`Entity::Others`], which leads to every instruction where it can become visible.
//! Values that threads exchange without memory (shuffles, votes) are operands. Races are ignored: a
//! plain load sees what its own thread wrote before it, and what was visible at the last such
//! instruction.
//!
//! **Addresses.** An analysis of addresses, such as that of memory spaces, needs only edges that
//! form addresses and other values: [`Edges::WithoutContent`]. It does not go into memory, or from
//! an address to what is accessed there.
//!
//! Control dependence is no data flow: see [`control`](phalanx_core::control).
//!
//! # How
//!
//! No table holds all edges. The readers of a value are in the body's def-use lists, which edits
//! keep up to date. The versions that an instruction makes, and the readers of those of a class,
//! are in the HSSA form, which is updated after edits. Neither has the edges from versions of
//! private slots: [`MemoryFlow`] is their SSA form inverted. It depends on that form alone, so it
//! stays valid over all edits that leave the form as it is. [`DataFlow`] reads these three on
//! demand.
//!
//! # Complexity
//!
//! Users of a value: O(uses). Users of a version of a slot: O(instructions that read it); of a
//! class: O(touches of the blocks in which it is read), which is O(touches of the function) for all
//! versions of a class together; of [`Entity::Others`]: O(touches). Reaching everything that is
//! influenced: O(instructions + operands + touches of memory) at most. The first question about a
//! body makes its def-use lists, if it has none. The first one about a version of a class looks at
//! all blocks.

mod memory;
#[cfg(any(test, feature = "testing"))]
pub mod twin;

use phalanx_core::affect::Value;
use phalanx_graph::{BitSet, Node};
use phalanx_ir::{InstId, Opcode, constant::ConstKind, inst::InstFlags, inst::Ordering};
use smallvec::SmallVec;

use crate::{
    code::{Code, Definition, Numbering},
    memory::{
        MemorySsa,
        hssa::{self, ClassReader, Classes, MemoryClass},
        ssa::{EventKind, Version},
    },
};

pub use self::memory::MemoryFlow;

/// A node of the data flow graph: it influences others, or is influenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// An argument or an instruction, by its number in the tables of the analyses.
    Value(Value),
    /// The version of a private slot that an event makes.
    Slot(u32),
    /// A memory phi of a private slot.
    SlotPhi(u32),
    /// The version of a class of memory that an instruction makes.
    Class(MemoryClass, InstId),
    /// The memory phi of a class in a block.
    ClassPhi(MemoryClass, Node),
    /// What other threads may have written to memory of a class.
    Others(MemoryClass),
}

/// How one entity influences another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// The user computes with it, selects it, passes it or tests it.
    Operand,
    /// It is the base of an address that the user makes.
    Base,
    /// It is an index of an address that the user makes.
    Index,
    /// It says how many bytes the user accesses.
    Size,
    /// It says where the user accesses memory.
    Address,
    /// It is written to memory, or read from there.
    Content,
    /// It is the old content of memory, of which the user overwrites a part.
    OldContent,
}

/// Which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// All edges.
    All,
    /// Edges that form addresses and other values. Left out are edges of the content of memory, and
    /// those from an address to what is accessed there.
    WithoutContent,
}

impl Edges {
    /// Whether an edge is followed.
    #[must_use]
    pub fn contains(self, edge: Edge) -> bool {
        self == Edges::All || !matches!(edge, Edge::Address | Edge::Content | Edge::OldContent)
    }
}

/// Where each kind of entity begins in the dense numbering. Some numbers have no entity: not every
/// instruction makes a version of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Layout {
    slots: u32,
    slot_phis: u32,
    classes: u32,
    class_phis: u32,
    others: u32,
    /// The number of instructions, and of blocks.
    insts: u32,
    blocks: u32,
}

impl Layout {
    /// The layout for this many values, of which the last are instructions.
    fn new(values: usize, insts: usize, memory: &MemorySsa) -> Self {
        let (private, count) = (memory.private(), MemoryClass::ALL.len() as u32);
        let (insts, blocks) = (insts as u32, memory.block_count() as u32);
        let slots = values as u32;
        let slot_phis = slots + private.events().len() as u32;
        let classes = slot_phis + private.ssa().phis().len() as u32;
        let class_phis = classes + count * insts;
        let others = class_phis + count * blocks;
        Layout { slots, slot_phis, classes, class_phis, others, insts, blocks }
    }

    /// The number of an entity; none if the function has no such entity.
    fn number(self, entity: Entity) -> Option<u32> {
        let is_there = match entity {
            Entity::Value(value) => value.raw() < self.slots,
            Entity::Slot(event) => event < self.slot_phis - self.slots,
            Entity::SlotPhi(phi) => phi < self.classes - self.slot_phis,
            Entity::Class(_, inst) => inst.into_raw().into_u32() < self.insts,
            Entity::ClassPhi(_, block) => block.raw() < self.blocks,
            Entity::Others(_) => true,
        };
        is_there.then(|| match entity {
            Entity::Value(value) => value.raw(),
            Entity::Slot(event) => self.slots + event,
            Entity::SlotPhi(phi) => self.slot_phis + phi,
            Entity::Class(class, inst) => {
                self.classes + class as u32 * self.insts + inst.into_raw().into_u32()
            }
            Entity::ClassPhi(class, block) => {
                self.class_phis + class as u32 * self.blocks + block.raw()
            }
            Entity::Others(class) => self.others + class as u32,
        })
    }

    fn entity(self, number: u32) -> Entity {
        // Classes one after the other, with so many of something each.
        let class = |number: u32, each: u32| {
            (MemoryClass::ALL[(number / each.max(1)) as usize], number % each.max(1))
        };
        if number < self.slots {
            Entity::Value(Value::from_raw(number))
        } else if number < self.slot_phis {
            Entity::Slot(number - self.slots)
        } else if number < self.classes {
            Entity::SlotPhi(number - self.slot_phis)
        } else if number < self.class_phis {
            let (class, inst) = class(number - self.classes, self.insts);
            Entity::Class(class, InstId::from_raw(inst.into()))
        } else if number < self.others {
            let (class, block) = class(number - self.class_phis, self.blocks);
            Entity::ClassPhi(class, Node::from_raw(block))
        } else {
            Entity::Others(MemoryClass::ALL[(number - self.others) as usize])
        }
    }

    fn len(self) -> usize {
        self.others as usize + MemoryClass::ALL.len()
    }
}

/// Forward data flow of a function, over facts that the caller holds. See the [module
/// documentation](self).
#[derive(Clone, Copy, Debug)]
pub struct DataFlow<'a> {
    code: Code<'a>,
    numbering: Numbering,
    memory: &'a MemorySsa,
    flow: &'a MemoryFlow,
    layout: Layout,
}

/// A list of edges from one entity; most entities have at most as many.
type Users = SmallVec<[(Entity, Edge); 8]>;

impl<'a> DataFlow<'a> {
    /// The data flow of a function, with its memory and the edges of its private slots.
    #[must_use]
    pub fn new(code: Code<'a>, memory: &'a MemorySsa, flow: &'a MemoryFlow) -> Self {
        let values = code.header.params.len() + code.body.id_count();
        let layout = Layout::new(values, code.body.id_count(), memory);
        Self { code, numbering: Numbering::new(code.header), memory, flow, layout }
    }

    /// All entities of the function, in order.
    pub fn entities(self) -> impl Iterator<Item = Entity> {
        let all = (0..self.layout.len() as u32).map(move |number| self.layout.entity(number));
        all.filter(move |&entity| match entity {
            Entity::Class(class, inst) => self.memory.defines(inst, class),
            Entity::ClassPhi(class, block) => self.memory.phi(class, block).is_some(),
            _ => true,
        })
    }

    /// The entities that an entity directly influences, with the kinds of edges, in order. Empty if
    /// the function does not have the entity.
    pub fn users(self, entity: Entity) -> impl Iterator<Item = (Entity, Edge)> {
        let mut users = Users::new();
        if self.layout.number(entity).is_some() {
            self.each_user(entity, |to, edge| users.push((to, edge)));
        }
        users.sort_unstable();
        users.dedup();
        users.into_iter()
    }

    /// The number of edges. O(function).
    #[must_use]
    pub fn edge_count(self) -> usize {
        self.entities().map(|entity| self.users(entity).count()).sum()
    }

    /// All entities that some entities influence over any number of edges, and these entities
    /// themselves. Entities that the function does not have are left out.
    #[must_use]
    pub fn reached(self, from: impl IntoIterator<Item = Entity>, edges: Edges) -> Reached {
        let mut reached = Reached { layout: self.layout, members: BitSet::new(self.layout.len()) };
        let mut work: Vec<Entity> = Vec::new();
        work.extend(from.into_iter().filter(|&entity| reached.insert(entity)));
        while let Some(entity) = work.pop() {
            self.each_user(entity, |to, edge| {
                if edges.contains(edge) && reached.insert(to) {
                    work.push(to);
                }
            });
        }
        reached
    }

    /// Calls `call` with the users of an entity, in any order, some of them more than once.
    fn each_user(self, entity: Entity, mut call: impl FnMut(Entity, Edge)) {
        let value = match entity {
            Entity::Value(value) => value,
            Entity::Slot(_) | Entity::SlotPhi(_) => {
                return self
                    .flow
                    .users(entity, self.numbering)
                    .for_each(|(to, edge)| call(to, edge));
            }
            Entity::Class(class, inst) => {
                if Classes::SHARED.contains(class) {
                    call(Entity::Others(class), Edge::Content);
                }
                return self.readers(class, hssa::Version::Def(inst), call);
            }
            Entity::ClassPhi(class, block) => {
                return self.readers(class, hssa::Version::Phi(block), call);
            }
            Entity::Others(class) => {
                let touches = self.memory.touches().filter(|touch| touch.class == class);
                let sees = touches.filter(|touch| sees_others(self.code, touch.inst));
                if Classes::SHARED.contains(class) {
                    sees.for_each(|touch| call(self.inst(touch.inst), Edge::Content));
                }
                return;
            }
        };
        let (value, inst) = match self.numbering.definition(value) {
            Definition::Argument(position) => (phalanx_ir::Value::arg(position), None),
            Definition::Inst(inst) => (inst.into(), Some(inst)),
        };
        for read in self.code.body.uses_of(value) {
            let to = Entity::Value(self.numbering.inst(read.user));
            call(to, edge(self.code, read.user, read.index as usize));
        }
        let Some(inst) = inst else { return };
        let private = self.memory.private();
        for touch in private.of(inst) {
            if private.events().event(touch.event).kind != EventKind::Use {
                call(Entity::Slot(touch.event), Edge::Content);
            }
        }
        for touch in self.memory.of(inst).filter(|touch| touch.is_chi) {
            call(Entity::Class(touch.class, inst), Edge::Content);
        }
    }

    fn inst(self, inst: InstId) -> Entity {
        Entity::Value(self.numbering.inst(inst))
    }

    /// Calls `call` with the users of a version of a class, except other threads.
    fn readers(
        self,
        class: MemoryClass,
        version: hssa::Version,
        mut call: impl FnMut(Entity, Edge),
    ) {
        self.memory.readers(class, version, |reader| match reader {
            ClassReader::Inst { inst, has_chi } => {
                // A store takes nothing from what was there.
                if self.code.body.inst(inst).opcode != Opcode::Store {
                    call(self.inst(inst), Edge::Content);
                }
                if has_chi {
                    call(Entity::Class(class, inst), Edge::OldContent);
                }
            }
            ClassReader::Phi(block) => call(Entity::ClassPhi(class, block), Edge::Content),
        });
    }
}

/// A set of entities of one function.
#[derive(Clone, Debug)]
pub struct Reached {
    layout: Layout,
    members: BitSet,
}

impl Reached {
    fn insert(&mut self, entity: Entity) -> bool {
        self.layout.number(entity).is_some_and(|number| self.members.insert(number as usize))
    }

    /// Whether an entity is in the set.
    #[must_use]
    pub fn contains(&self, entity: Entity) -> bool {
        self.layout.number(entity).is_some_and(|number| self.members.contains(number as usize))
    }

    /// All entities of the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = Entity> + '_ {
        self.members.iter().map(|number| self.layout.entity(number as u32))
    }
}

/// The kind of the edge from an operand.
fn edge(code: Code<'_>, inst: InstId, position: usize) -> Edge {
    match (code.body.inst(inst).opcode, position) {
        (Opcode::GetElementPtr, 0) => Edge::Base,
        (Opcode::GetElementPtr, _) => Edge::Index,
        (Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg, 0) | (Opcode::Store, 1) => {
            Edge::Address
        }
        (Opcode::Store, _) | (Opcode::AtomicRmw | Opcode::CmpXchg, _) => Edge::Content,
        (opcode, _) if opcode.is_call() => match (block_operation(code, inst), position) {
            (Some(_), 0) | (Some(BlockOperation::Copy), 1) => Edge::Address,
            (Some(BlockOperation::Fill), 1) => Edge::Content,
            (Some(_), 2) => Edge::Size,
            _ => Edge::Operand,
        },
        _ => Edge::Operand,
    }
}

/// Whether what others wrote can become visible at an instruction that touches their memory.
fn sees_others(code: Code<'_>, inst: InstId) -> bool {
    let data = code.body.inst(inst);
    match data.opcode {
        Opcode::Load | Opcode::Store => {
            data.flags.contains(InstFlags::VOLATILE) || data.mem().ordering() != Ordering::NotAtomic
        }
        _ => true,
    }
}

/// An intrinsic that writes a block of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockOperation {
    Copy,
    Fill,
}

fn block_operation(code: Code<'_>, call: InstId) -> Option<BlockOperation> {
    let callee = code.body.const_callee(call)?;
    let ConstKind::Global(name) = code.context.const_data(callee).kind else {
        return None;
    };
    let name = code.context.bytes(name.symbol()?);
    if name.starts_with(b"llvm.memcpy.") || name.starts_with(b"llvm.memmove.") {
        return Some(BlockOperation::Copy);
    }
    name.starts_with(b"llvm.memset.").then_some(BlockOperation::Fill)
}

fn slot(version: Version) -> Option<Entity> {
    match version {
        Version::Entry => None,
        Version::Def(event) => Some(Entity::Slot(event)),
        Version::Phi(phi) => Some(Entity::SlotPhi(phi)),
    }
}
