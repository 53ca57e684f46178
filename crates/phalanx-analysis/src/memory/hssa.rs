//! Memory in HSSA form: a variable per private slot, and one per class of memory for the rest.
//!
//! # What
//!
//! What [`private`](super::private) cannot take apart falls into classes by who shares it ([`MemoryClass`]). An access through a
//! generic pointer touches every class that the pointer may lead to; a call, every class that its promises leave open. A fence or barrier
//! defines the classes that other threads write: what is read after it may be another.
//!
//! Each touch of a class is a mu (a use) or a chi (a may-definition) of its variable; no class is ever defined as a whole.
//! Constant memory has no definitions. Instructions that access private slots alone touch no class.
//!
//! # How
//!
//! [`ssa`](super::ssa) in pruned form, over five variables. O(instructions + blocks + edges).

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{
    InstId, Opcode, TypeKind, Value,
    attributes::{MemoryEffects, MemoryLocation},
    constant::ConstKind,
    inst::{InstFlags, Ordering},
};
use phalanx_target::address_space::{AddressSpace, SpaceKind};

use super::effects::{MemoryAccess, call_effects, memory_access};
use super::private::{PrivateMemory, value_type};
use super::ssa::{Event, EventKind, Events, Pruning, Ssa, Version};
use crate::lower::{Code, Surroundings};

/// Memory that is told apart, besides private slots. The number is that of its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MemoryClass {
    /// Private memory that others may reach, or that is not looked into.
    Private,
    /// Memory of a workgroup or cluster.
    Workgroup,
    /// Device memory.
    Global,
    /// Memory that does not change while a kernel runs.
    Constant,
    /// Anything else: parameters, registers of the pipeline, spaces without a meaning.
    Other,
}

impl MemoryClass {
    /// All classes by number.
    pub const ALL: [MemoryClass; 5] =
        [Self::Private, Self::Workgroup, Self::Global, Self::Constant, Self::Other];
}

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes(u8);

impl Classes {
    /// No class.
    pub const NONE: Classes = Classes(0);
    /// All.
    pub const ALL: Classes = Classes(0b1_1111);
    /// Those that other threads can write.
    pub const SHARED: Classes = Classes(0b1_0110);

    const fn one(class: MemoryClass) -> Self {
        Classes(1 << class as u8)
    }

    /// The classes that an address of a space may lead to.
    #[must_use]
    pub fn of(space: AddressSpace) -> Self {
        match space.kind() {
            SpaceKind::Private => Self::one(MemoryClass::Private),
            SpaceKind::Workgroup | SpaceKind::Cluster => Self::one(MemoryClass::Workgroup),
            SpaceKind::Global | SpaceKind::Buffer => Self::one(MemoryClass::Global),
            SpaceKind::Constant => Self::one(MemoryClass::Constant),
            SpaceKind::Generic | SpaceKind::Unknown => Self::ALL,
            SpaceKind::Region | SpaceKind::Parameter | SpaceKind::Input => {
                Self::one(MemoryClass::Other)
            }
        }
    }

    /// Whether a class is among them.
    #[must_use]
    pub const fn contains(self, class: MemoryClass) -> bool {
        self.0 >> class as u8 & 1 != 0
    }

    const fn union(self, other: Self) -> Self {
        Classes(self.0 | other.0)
    }

    const fn minus(self, class: MemoryClass) -> Self {
        Classes(self.0 & !(1 << class as u8))
    }

    fn iter(self) -> impl Iterator<Item = MemoryClass> {
        MemoryClass::ALL.into_iter().filter(move |class| self.contains(*class))
    }
}

/// What an instruction does to a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassTouch {
    /// The instruction.
    pub inst: InstId,
    /// The class.
    pub class: MemoryClass,
    /// A mu or a chi.
    pub is_chi: bool,
    /// The version before it.
    pub before: Version,
    /// The version that a chi makes is [`Version::Def`] of this.
    pub event: u32,
}

/// The memory of a function in HSSA form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySsa {
    private: PrivateMemory,
    touches: Vec<ClassTouch>,
    /// First touch by instruction, plus one.
    first: Vec<u32>,
    ssa: Ssa,
}

impl MemorySsa {
    /// That of a function.
    #[must_use]
    pub fn new(code: Code<'_>, around: Surroundings<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        let private = PrivateMemory::new(code, around, cfg, dom);
        let mut by_block: Vec<(Node, Event)> = Vec::new();
        let mut touches: Vec<ClassTouch> = Vec::new();
        for &node in dom.preorder() {
            for inst in code.body.block_insts(phalanx_ir::flow::block_of(node)) {
                let access = memory_access(code, around, inst);
                if access == MemoryAccess::None {
                    continue;
                }
                let (reads, writes) = classes(code, around, &private, inst, access);
                let mus = reads.iter().map(|class| (class, false));
                // Nothing defines constant memory.
                let chis = writes.minus(MemoryClass::Constant).iter().map(|class| (class, true));
                for (class, is_chi) in mus.chain(chis) {
                    let kind = if is_chi { EventKind::MayDef } else { EventKind::Use };
                    by_block.push((node, Event { variable: class as u32, kind }));
                    let before = Version::Entry;
                    touches.push(ClassTouch { inst, class, is_chi, before, event: 0 });
                }
            }
        }
        let (events, place) = Events::new(cfg.node_count(), &by_block);
        let ssa = Ssa::new(cfg, dom, &events, MemoryClass::ALL.len() as u32, Pruning::Live);
        let mut first = vec![0u32; code.body.id_count()];
        for (i, touch) in touches.iter_mut().enumerate() {
            touch.event = place[i];
            touch.before = ssa.reaching(place[i]);
            let entry = &mut first[touch.inst.into_raw().into_u32() as usize];
            if *entry == 0 {
                *entry = i as u32 + 1;
            }
        }
        Self { private, touches, first, ssa }
    }

    /// Private slots and their versions.
    #[must_use]
    pub fn private(&self) -> &PrivateMemory {
        &self.private
    }

    /// Mus, then chis of an instruction.
    #[must_use]
    pub fn of(&self, inst: InstId) -> &[ClassTouch] {
        let number = inst.into_raw().into_u32() as usize;
        let Some(first) = self.first.get(number).and_then(|first| first.checked_sub(1)) else {
            return &[];
        };
        let rest = &self.touches[first as usize..];
        let count = rest.iter().take_while(|touch| touch.inst == inst).count();
        &rest[..count]
    }

    /// How many touches of classes there are: events are numbered below this.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.touches.len()
    }

    /// Phis of classes, by block and class.
    #[must_use]
    pub fn ssa(&self) -> &Ssa {
        &self.ssa
    }
}

/// The classes that an instruction may read, and may write.
fn classes(
    code: Code<'_>,
    around: Surroundings<'_>,
    private: &PrivateMemory,
    inst: InstId,
    access: MemoryAccess,
) -> (Classes, Classes) {
    let body = code.body;
    let data = body.inst(inst);
    let operands = body.operands(inst);
    let is_ordered = || data.mem().ordering() > Ordering::Monotonic;
    let at = |address: Value| match of_address(code, around, address) {
        Some(classes) => classes,
        None => Classes::ALL,
    };
    // What is ordered makes writes of others visible.
    let ordered = |classes: Classes, is_ordered: bool| match is_ordered {
        true => classes.union(Classes::SHARED),
        false => classes,
    };
    let is_private = || private.of(inst).iter().any(|touch| touch.inst == inst);
    match data.opcode {
        Opcode::Load | Opcode::Store if is_private() => (Classes::NONE, Classes::NONE),
        Opcode::Load => {
            let read = at(operands[0]);
            let is_volatile = data.flags.contains(InstFlags::VOLATILE);
            let written = if is_volatile { read } else { Classes::NONE };
            (read, ordered(written, is_ordered()))
        }
        Opcode::Store => (Classes::NONE, ordered(at(operands[1]), is_ordered())),
        Opcode::AtomicRmw | Opcode::CmpXchg => {
            let touched = if is_private() { Classes::NONE } else { at(operands[0]) };
            (touched, ordered(touched, is_ordered()))
        }
        Opcode::Fence => (Classes::NONE, Classes::SHARED),
        opcode if opcode.is_call() => call_classes(code, around, private, inst),
        _ => {
            let writes = if access == MemoryAccess::Write { Classes::ALL } else { Classes::NONE };
            (Classes::ALL, writes)
        }
    }
}

fn call_classes(
    code: Code<'_>,
    around: Surroundings<'_>,
    private: &PrivateMemory,
    call: InstId,
) -> (Classes, Classes) {
    let effects: MemoryEffects = call_effects(code, around, call);
    let body = code.body;
    let elsewhere = |wanted: fn(phalanx_ir::attributes::Access) -> bool| {
        MemoryLocation::ALL.iter().any(|&location| {
            !matches!(location, MemoryLocation::ArgMem | MemoryLocation::InaccessibleMem)
                && wanted(effects.access(location))
        })
    };
    let mut by_argument = Classes::NONE;
    let touched = private.of(call);
    for &argument in body.call_args(call) {
        let Some(ty) = value_type(code, argument) else { continue };
        if !matches!(code.context.type_kind(ty), TypeKind::Ptr(_) | TypeKind::Vector { .. }) {
            continue;
        }
        // Private slots that a call takes are touches of their own.
        let is_private = private
            .object_of(body, argument)
            .is_some_and(|object| touched.iter().any(|touch| private.object(touch) == object));
        if !is_private {
            let classes = of_address(code, around, argument).unwrap_or(Classes::ALL);
            by_argument = by_argument.union(classes);
        }
    }
    let arguments = effects.access(MemoryLocation::ArgMem);
    let choose = |all: bool, argument: bool| match (all, argument) {
        (true, _) => Classes::ALL,
        (false, true) => by_argument,
        (false, false) => Classes::NONE,
    };
    (
        choose(elsewhere(phalanx_ir::attributes::Access::reads), arguments.reads()),
        choose(elsewhere(phalanx_ir::attributes::Access::writes), arguments.writes()),
    )
}

fn of_address(code: Code<'_>, around: Surroundings<'_>, address: Value) -> Option<Classes> {
    let mut ty = value_type(code, address)?;
    if let TypeKind::Vector { elem, .. } = code.context.type_kind(ty) {
        ty = *elem;
    }
    if let Some(constant) = address.as_const()
        && let ConstKind::Undef | ConstKind::Poison = code.context.const_data(constant).kind
    {
        return Some(Classes::NONE);
    }
    let number = code.context.type_kind(ty).address_space()?;
    Some(Classes::of(AddressSpace::of(around.target.architecture(), number)))
}
