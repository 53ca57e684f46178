//! Forward data flow, memory included: what anything in a function directly influences.
//!
//! # What
//!
//! This is the affect map of Kong (*Variance Analysis on SSA-based IR*, 2009) in full. The [affect
//! map](phalanx_core::affect) that divergence is solved on leaves out what is known not to matter
//! for that: an operand that a result does not depend on, memory whose content does not differ.
//! Here nothing is left out, and every edge says what it is ([`Edge`]).
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
//! **Other threads.** Memory of a workgroup and of the device is written by others, too, and what
//! they wrote becomes visible at fences, barriers, ordered and volatile accesses and calls. Every
//! version of such a class leads to [`Entity::Others`], and that to everything where it can become
//! visible. Values that threads hand each other without memory (shuffles, votes) are operands.
//! Races are not looked at: a plain load sees what was written before it in its own thread, or
//! before such a point.
//!
//! **Addresses.** An analysis of addresses (of memory spaces, say) follows values as far as they
//! form other addresses, and not into memory or from a base to what is loaded through it:
//! [`Edges::WithoutContent`].
//!
//! Control dependence is no data flow: see [`control`](phalanx_core::control).
//!
//! # How
//!
//! No table holds all of that. Who reads a value is in the body's def-use lists, which edits keep
//! in step. Which versions an instruction makes, and who reads those of a class, is in the HSSA
//! form, which follows edits. What is in neither are the edges from versions of private slots:
//! [`MemoryFlow`] is their form turned round, follows from that alone, and so outlives every edit
//! that leaves them as they are. [`DataFlow`] looks at these three when it is asked.
//!
//! # Complexity
//!
//! Users of a value: O(uses). Users of a version of a slot: O(instructions that read it); of a
//! class: O(touches of the blocks in which it is read), which is O(touches of the function) for all
//! versions of a class together; of [`Entity::Others`] O(touches). Reaching everything that is
//! influenced: O(instructions + operands + touches of memory) at most. The first question about a
//! body makes its def-use lists, if it has none, and the first one about a version of a class looks
//! at all blocks.

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

/// What is influenced or influences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// An argument or an instruction, by its number in the tables of the analyses.
    Value(Value),
    /// A version of a private slot that an event makes.
    Slot(u32),
    /// A memory phi of a private slot.
    SlotPhi(u32),
    /// A version of a class of memory that an instruction makes.
    Class(MemoryClass, InstId),
    /// The memory phi of a class in a block.
    ClassPhi(MemoryClass, Node),
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
    /// Those that form addresses and other values: not content of memory, and not from an address
    /// to what is accessed there.
    WithoutContent,
}

impl Edges {
    /// Whether an edge is among them.
    #[must_use]
    pub fn contains(self, edge: Edge) -> bool {
        self == Edges::All || !matches!(edge, Edge::Address | Edge::Content | Edge::OldContent)
    }
}

/// Where each kind of entity begins in the dense numbering. Some numbers stand for nothing: not
/// every instruction makes a version of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Layout {
    slots: u32,
    slot_phis: u32,
    classes: u32,
    class_phis: u32,
    others: u32,
    /// How many instructions there are, and blocks.
    insts: u32,
    blocks: u32,
}

impl Layout {
    /// With so many values first, of which the last are instructions.
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

    /// The number of an entity; none when the function has nothing of the kind.
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

/// Forward data flow of a function, as its parts are. See the [module documentation](self).
#[derive(Clone, Copy, Debug)]
pub struct DataFlow<'a> {
    code: Code<'a>,
    numbering: Numbering,
    memory: &'a MemorySsa,
    flow: &'a MemoryFlow,
    layout: Layout,
}

/// Few entities have more users.
type Users = SmallVec<[(Entity, Edge); 8]>;

impl<'a> DataFlow<'a> {
    /// That of a function, whose memory is given, and its private slots turned round.
    #[must_use]
    pub fn new(code: Code<'a>, memory: &'a MemorySsa, flow: &'a MemoryFlow) -> Self {
        let values = code.header.params.len() + code.body.id_count();
        let layout = Layout::new(values, code.body.id_count(), memory);
        Self { code, numbering: Numbering::new(code.header), memory, flow, layout }
    }

    /// Everything that there is, in order: whatever it influences.
    pub fn entities(self) -> impl Iterator<Item = Entity> {
        let all = (0..self.layout.len() as u32).map(move |number| self.layout.entity(number));
        all.filter(move |&entity| match entity {
            Entity::Class(class, inst) => self.memory.defines(inst, class),
            Entity::ClassPhi(class, block) => self.memory.phi(class, block).is_some(),
            _ => true,
        })
    }

    /// What an entity directly influences, and how; in order. Nothing, when the function does not
    /// have it.
    pub fn users(self, entity: Entity) -> impl Iterator<Item = (Entity, Edge)> {
        let mut users = Users::new();
        if self.layout.number(entity).is_some() {
            self.each_user(entity, |to, edge| users.push((to, edge)));
        }
        users.sort_unstable();
        users.dedup();
        users.into_iter()
    }

    /// How many edges there are. O(function).
    #[must_use]
    pub fn edge_count(self) -> usize {
        self.entities().map(|entity| self.users(entity).count()).sum()
    }

    /// All that some entities influence over any number of edges, themselves included, but for
    /// those that the function does not have.
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

    /// Users in any order, and some of them more than once.
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

    /// What a version of a class influences, others aside.
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

    /// Whether an entity is among them.
    #[must_use]
    pub fn contains(&self, entity: Entity) -> bool {
        self.layout.number(entity).is_some_and(|number| self.members.contains(number as usize))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Entity> + '_ {
        self.members.iter().map(|number| self.layout.entity(number as u32))
    }
}

/// What an operand is for.
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
