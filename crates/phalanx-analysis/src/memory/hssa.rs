//! Memory in HSSA form: a variable per private slot, and one per class of memory for the rest.
//!
//! # What
//!
//! Memory that [`private`](super::private) cannot divide into slots falls into classes by who
//! shares it ([`MemoryClass`]). An access touches every class that its address may lead to. Two
//! facts narrow these classes: the type of the address, and the memories that the pointer may lead
//! to ([`Reach`], from [`MemoryKinds`](crate::spaces::MemoryKinds)). For example, a generic pointer
//! that is known to lead to workgroup memory touches that class alone. A call touches every class
//! that its attributes and the summary of its callee do not exclude. A fence or barrier defines the
//! classes that other threads can write, since a later read may see their writes.
//!
//! Each touch of a class is a mu (a use) or a chi (a may-definition) of its variable; no class is
//! ever defined as a whole. Constant memory has no definitions. Instructions that access only
//! private slots touch no class.
//!
//! ```text
//! %v = load i32, ptr addrspace(1) %p      ; mu(global)
//! store i32 %v, ptr addrspace(3) %q       ; chi(workgroup)
//! fence seq_cst                           ; chi(workgroup), chi(global), chi(other)
//! ```
//!
//! **Why that is sound.** Let two accesses touch the same byte, and let some thread write it. Then
//! the classes of each access include the class of the memory that the byte is in, since both the
//! type and the kinds are upper bounds. So the two accesses have a class in common.
//!
//! # How
//!
//! A pruned [form](super::form) with five variables. O(instructions + blocks + edges). For the cost
//! of an incremental update see [`update`].

mod update;

use std::sync::Arc;

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{
    InstId, Opcode, TypeKind, Value,
    attributes::{Access, AttrKind, MemoryEffects, MemoryLocation},
    constant::ConstKind,
    inst::{InstFlags, Ordering},
};
use phalanx_target::address_space::{AddressSpace, SpaceKind};

use super::effects::{MemoryAccess, call_effects, memory_access};
use super::form::{Does, Form, Reader, Touch};
use super::order::acquires;
use super::private::PrivateMemory;
use super::ssa::Pruning;
use crate::code::{
    Code, Environment, SpaceSet,
    calls::{Effects, Spaces},
    value_type,
};

pub use super::form::Version;

/// A class of memory, besides private slots. Its number is that of its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MemoryClass {
    /// Private memory without slots: other code may have its address, or the analysis does not
    /// divide it.
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
    /// All classes, by number.
    pub const ALL: [MemoryClass; 5] =
        [Self::Private, Self::Workgroup, Self::Global, Self::Constant, Self::Other];

    /// Its name in printed output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Workgroup => "workgroup",
            Self::Global => "global",
            Self::Constant => "constant",
            Self::Other => "other",
        }
    }
}

/// Facts about where instructions access memory, besides the types of addresses.
#[derive(Clone, Copy)]
pub struct Reach<'a> {
    /// Where an operand of an instruction may lead.
    pub leads_to: &'a dyn Fn(InstId, u32) -> SpaceSet,
    /// What a call may write, including its callees. `None` if that is not known.
    pub written_by: &'a dyn Fn(InstId) -> Option<SpaceSet>,
}

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes(u8);

impl Classes {
    /// The empty set.
    pub const NONE: Classes = Classes(0);
    /// All classes.
    pub const ALL: Classes = Classes(0b1_1111);
    /// The classes that other threads can write.
    pub const SHARED: Classes = Classes(0b1_0110);

    const fn one(class: MemoryClass) -> Self {
        Classes(1 << class as u8)
    }

    /// The classes that an address of a space may lead to.
    #[must_use]
    pub fn of(space: AddressSpace) -> Self {
        Self::of_kind(space.kind())
    }

    const fn of_kind(kind: SpaceKind) -> Self {
        match kind {
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

    /// The classes of a set of memories.
    #[must_use]
    pub fn of_memories(memories: SpaceSet) -> Self {
        const DEVICE: SpaceSet =
            SpaceSet::GLOBAL.or(SpaceSet::BUFFER).or(SpaceSet::RESOURCE).or(SpaceSet::STRIDED);
        const OTHER: SpaceSet = SpaceSet::PARAMETER.or(SpaceSet::REGION).or(SpaceSet::INPUT);
        // A space without a known meaning may have addresses of any memory.
        if memories.contains(SpaceSet::OTHER) {
            return Self::ALL;
        }
        let parts = [
            (SpaceSet::PRIVATE, MemoryClass::Private),
            (SpaceSet::SHARED.or(SpaceSet::PEERS), MemoryClass::Workgroup),
            (DEVICE, MemoryClass::Global),
            (SpaceSet::CONSTANT, MemoryClass::Constant),
            (OTHER, MemoryClass::Other),
        ];
        let parts = parts.iter().filter(|(part, _)| memories.meets(*part));
        parts.fold(Self::NONE, |all, (_, class)| all.union(Self::one(*class)))
    }

    /// The classes that addresses of some kinds of spaces may lead to.
    fn of_kinds(kinds: Spaces) -> Self {
        const KINDS: [SpaceKind; 9] = [
            SpaceKind::Private,
            SpaceKind::Workgroup,
            SpaceKind::Cluster,
            SpaceKind::Global,
            SpaceKind::Buffer,
            SpaceKind::Constant,
            SpaceKind::Region,
            SpaceKind::Parameter,
            SpaceKind::Input,
        ];
        let kinds = KINDS.into_iter().filter(|&kind| kinds.has(kind));
        kinds.fold(Self::NONE, |all, kind| all.union(Self::of_kind(kind)))
    }

    /// Whether the set contains a class.
    #[must_use]
    pub const fn contains(self, class: MemoryClass) -> bool {
        self.0 >> class as u8 & 1 != 0
    }

    const fn union(self, other: Self) -> Self {
        Classes(self.0 | other.0)
    }

    const fn and(self, other: Self) -> Self {
        Classes(self.0 & other.0)
    }

    const fn minus(self, class: MemoryClass) -> Self {
        Classes(self.0 & !(1 << class as u8))
    }
}

/// What an instruction does to a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassTouch {
    /// The instruction.
    pub inst: InstId,
    /// The class.
    pub class: MemoryClass,
    /// Whether it is a chi; otherwise it is a mu. The version that a chi makes is [`Version::Def`]
    /// of the instruction.
    pub is_chi: bool,
    /// The version before it.
    pub before: Version,
}

/// A reader of a version of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassReader {
    /// An instruction, with a mu or a chi or both.
    Inst {
        /// The instruction.
        inst: InstId,
        /// Whether it has a chi.
        has_chi: bool,
    },
    /// The phi of a block.
    Phi(Node),
}

/// The memory of a function in HSSA form. See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySsa {
    private: Arc<PrivateMemory>,
    form: Form,
}

impl MemorySsa {
    /// The form of a function with these private slots.
    #[must_use]
    pub fn new(
        code: Code<'_>,
        env: Environment<'_>,
        graph: (&Cfg, &DomTree),
        private: Arc<PrivateMemory>,
        reach: Reach<'_>,
    ) -> Self {
        let scan = Scan { code, env, private: &private, reach };
        let variables = (MemoryClass::ALL.len() as u8, Pruning::Live);
        let form = Form::new(code.body, graph, variables, |inst| scan.does(inst));
        Self { private, form }
    }

    /// Private slots and their versions.
    #[must_use]
    pub fn private(&self) -> &PrivateMemory {
        &self.private
    }

    /// The touches of an instruction: for each class, its mu before its chi.
    pub fn of(&self, inst: InstId) -> impl Iterator<Item = ClassTouch> + '_ {
        let touches = self.form.of(inst);
        let mus = touches.clone().filter(|touch| touch.uses).map(|touch| class_touch(touch, false));
        let chis = touches.filter(|touch| touch.defines).map(|touch| class_touch(touch, true));
        mus.chain(chis)
    }

    /// All touches: those of an instruction together, the mu of a class before its chi.
    pub fn touches(&self) -> impl Iterator<Item = ClassTouch> + '_ {
        self.form.touches().flat_map(|touch| {
            let mu = touch.uses.then(|| class_touch(touch, false));
            mu.into_iter().chain(touch.defines.then(|| class_touch(touch, true)))
        })
    }

    /// Whether an instruction makes a version of a class.
    #[must_use]
    pub fn defines(&self, inst: InstId, class: MemoryClass) -> bool {
        self.form.of_variable(inst, class as u8).is_some_and(|touch| touch.defines)
    }

    /// The number of blocks of the function. Blocks of phis have smaller numbers.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.form.block_count()
    }

    /// The blocks with a phi of a class, in order.
    pub fn phis(&self, class: MemoryClass) -> impl ExactSizeIterator<Item = Node> + '_ {
        self.form.phis(class as u8)
    }

    /// The versions that come into the phi of a class in a block: one from each distinct
    /// predecessor, sorted by predecessor. `None` if the block has no such phi.
    #[must_use]
    pub fn phi(
        &self,
        class: MemoryClass,
        block: Node,
    ) -> Option<impl ExactSizeIterator<Item = (Node, Version)> + '_> {
        self.form.incoming(class as u8, block)
    }

    /// Calls `call` for each reader of a version of a class. Readers of [`Version::Entry`] are not
    /// reported. O(touches of the blocks in which it is read), and O(blocks + edges) the first
    /// time.
    pub fn readers(&self, class: MemoryClass, version: Version, mut call: impl FnMut(ClassReader)) {
        self.form.readers(class as u8, version, |reader| {
            call(match reader {
                Reader::Touch(inst, has_chi) => ClassReader::Inst { inst, has_chi },
                Reader::Phi(block) => ClassReader::Phi(block),
            });
        });
    }
}

fn class_touch(touch: Touch, is_chi: bool) -> ClassTouch {
    let class = MemoryClass::ALL[usize::from(touch.variable)];
    ClassTouch { inst: touch.inst, class, is_chi, before: touch.before }
}

struct Scan<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    private: &'a PrivateMemory,
    reach: Reach<'a>,
}

impl Scan<'_> {
    /// What an instruction does to classes.
    fn does(&self, inst: InstId) -> Does {
        let (reads, writes) = match memory_access(self.code, self.env, inst) {
            MemoryAccess::None => return Does::NOTHING,
            access => self.classes(inst, access),
        };
        // Nothing defines constant memory.
        Does { uses: reads.0, defines: writes.minus(MemoryClass::Constant).0 }
    }

    /// The classes that an instruction may read, and may write.
    fn classes(&self, inst: InstId, access: MemoryAccess) -> (Classes, Classes) {
        let data = self.code.body.inst(inst);
        let is_ordered = || data.mem().ordering() > Ordering::Monotonic;
        // An ordered access makes writes of other threads visible.
        let ordered = |classes: Classes, is_ordered: bool| match is_ordered {
            true => classes.union(Classes::SHARED),
            false => classes,
        };
        let is_private = || !self.private.of(inst).is_empty();
        match data.opcode {
            Opcode::Load | Opcode::Store if is_private() => (Classes::NONE, Classes::NONE),
            Opcode::Load => {
                let read = self.at(inst, 0);
                let is_volatile = data.flags.contains(InstFlags::VOLATILE);
                let written = if is_volatile { read } else { Classes::NONE };
                (read, ordered(written, is_ordered()))
            }
            Opcode::Store => (Classes::NONE, ordered(self.at(inst, 1), is_ordered())),
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                let touched = if is_private() { Classes::NONE } else { self.at(inst, 0) };
                (touched, ordered(touched, is_ordered()))
            }
            Opcode::Fence => (Classes::NONE, Classes::SHARED),
            opcode if opcode.is_call() => self.of_call(inst),
            _ => {
                let writes =
                    if access == MemoryAccess::Write { Classes::ALL } else { Classes::NONE };
                (Classes::ALL, writes)
            }
        }
    }

    fn of_call(&self, call: InstId) -> (Classes, Classes) {
        let effects = call_effects(self.code, self.env, call);
        let (reads, writes) = self.of_effects(call, effects);
        // The call copies what a `byval` argument points to, whatever the callee does.
        let copied = self.pointers(call).filter(|&at| self.is_copied(call, at));
        let copied = copied.fold(Classes::NONE, |all, at| all.union(self.at(call, at as u32)));
        let Some(known) = self.summary(call) else { return (reads.union(copied), writes) };
        let narrow = self.of_effects(call, effects.intersect(known.memory));
        let visible = match acquires(self.code, self.env, call) {
            true => writes.and(Classes::SHARED),
            false => Classes::NONE,
        };
        (
            narrow.0.and(Classes::of_kinds(known.reads)).union(copied),
            narrow.1.and(Classes::of_kinds(known.writes)).union(visible),
        )
    }

    /// The summarized effects of the callee, including functions that it calls.
    fn summary(&self, call: InstId) -> Option<Effects> {
        let Code { context, body, .. } = self.code;
        let info = body.call_info(call);
        let ConstKind::Global(name) = context.const_data(body.const_callee(call)?).kind else {
            return None;
        };
        let control = context.find_symbol(b"convergencectrl");
        if info.bundles.iter().any(|&(tag, _)| Some(tag) != control) {
            return None;
        }
        let found = self.env.calls.summary(name)?;
        (found.ty == Some(info.function_type)).then_some(found.effects)
    }

    fn is_copied(&self, call: InstId, position: usize) -> bool {
        let attributes = self.code.body.call_info(call).attributes;
        self.code.context.param_attrs(attributes, position).has(AttrKind::ByVal)
    }

    /// Positions of the arguments of a call that are addresses, except addresses of private slots:
    /// the private memory has touches for these.
    fn pointers(&self, call: InstId) -> impl Iterator<Item = usize> {
        let Code { context, body, .. } = self.code;
        let touched = self.private.of(call);
        let is_wanted = move |position: &usize| {
            let argument = body.call_args(call)[*position];
            let is_address = value_type(self.code, argument).is_some_and(|ty| {
                matches!(context.type_kind(ty), TypeKind::Ptr(_) | TypeKind::Vector { .. })
            });
            let is_slot = || {
                let object = self.private.object_of(body, argument);
                let mut objects = touched.iter().map(|touch| self.private.object(touch));
                object.is_some_and(|object| objects.any(|of| of == object))
            };
            is_address && !is_slot()
        };
        (0..body.call_args(call).len()).filter(is_wanted)
    }

    /// The classes that a call with these effects reads and writes.
    fn of_effects(&self, call: InstId, effects: MemoryEffects) -> (Classes, Classes) {
        let elsewhere = |wanted: fn(Access) -> bool| {
            MemoryLocation::ALL.iter().any(|&location| {
                !matches!(location, MemoryLocation::ArgMem | MemoryLocation::InaccessibleMem)
                    && wanted(effects.access(location))
            })
        };
        let arguments = effects.access(MemoryLocation::ArgMem);
        let choose = |all: bool, argument: bool| match (all, argument) {
            (true, _) => Classes::ALL,
            (false, true) => self
                .pointers(call)
                .fold(Classes::NONE, |all, at| all.union(self.at(call, at as u32))),
            (false, false) => Classes::NONE,
        };
        let reads = choose(elsewhere(Access::reads), arguments.reads());
        let mut writes = choose(elsewhere(Access::writes), arguments.writes());
        if writes != Classes::NONE
            && let Some(written) = (self.reach.written_by)(call)
        {
            let visible = match acquires(self.code, self.env, call) {
                true => Classes::SHARED,
                false => Classes::NONE,
            };
            writes = writes.and(Classes::of_memories(written).union(visible));
        }
        (reads, writes)
    }

    /// The classes that an address may lead to: by its type, and by what is known of the operand.
    /// Both are upper bounds, so the result is their intersection. The intersection is empty if the
    /// kinds know that memory of a global type is constant; then the kinds decide.
    fn at(&self, inst: InstId, position: u32) -> Classes {
        let by_type = match self.code.body.operands(inst).get(position as usize) {
            Some(&address) => self.of_type(address).unwrap_or(Classes::ALL),
            None => Classes::ALL,
        };
        if by_type == Classes::NONE {
            return by_type;
        }
        let known = Classes::of_memories((self.reach.leads_to)(inst, position).memories());
        match (by_type.and(known), known) {
            // The pointer leads nowhere, or the code is not executed. The type decides.
            (_, Classes::NONE) => by_type,
            (Classes::NONE, known) => known,
            (both, _) => both,
        }
    }

    fn of_type(&self, address: Value) -> Option<Classes> {
        let context = self.code.context;
        let mut ty = value_type(self.code, address)?;
        if let TypeKind::Vector { elem, .. } = context.type_kind(ty) {
            ty = *elem;
        }
        if let Some(constant) = address.as_const()
            && let ConstKind::Undef | ConstKind::Poison = context.const_data(constant).kind
        {
            return Some(Classes::NONE);
        }
        let number = context.type_kind(ty).address_space()?;
        Some(Classes::of(AddressSpace::of(self.env.target.architecture(), number)))
    }
}
