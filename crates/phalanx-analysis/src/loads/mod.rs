//! Loads that may take a cheaper way: scalar, non-coherent, broadcast (LDU).
//!
//! # What
//!
//! | class | the load may be done | because |
//! |---|---|---|
//! | [`LoadClass::Scalar`] | once for a wave, through a cache that sees no store of this launch (AMDGPU: `s_load`) | its address is one for the wave, and no store *happens before* it in this launch |
//! | [`LoadClass::NonCoherent`] | by each thread, through such a cache (PTX: `ld.global.nc`) | nobody writes the memory while the kernel runs |
//! | [`LoadClass::Ldu`] | once for a wave, through such a cache (PTX: `ldu.global`) | both |
//!
//! The claims, as they are checked by execution:
//!
//! - *one address for the wave*: threads of a wave that are converged at the load read the same address;
//! - *no store happens before it*: of the bytes that it reads none was written in this launch by a store that happens before the
//!   load, by any thread. A store that neither happens before nor after is a data race, and may be missed;
//! - *nobody writes*: of these bytes none is written in the whole launch, before or after the load, by any thread.
//!
//! # Why they hold
//!
//! What a thread may see of other threads it sees by an acquire ([`order`](crate::memory::order)). So *no store happens before the
//! load* if no acquire is on a way from the entry of the kernel to the load, and the thread itself has not stored there: the memory is in
//! the version that it has at the entry (`liveOnEntry`), over definitions that do not alias ([`clobbers`]). Barriers and fences are
//! acquires. LLVM's own mark (`!amdgpu.noclobber`) passes over them, which is wrong: another wave may have written before the barrier.
//!
//! *Nobody writes* follows from what the address is made from ([`pointers`]). All of these must be
//!
//! - constant: a constant variable, or constant memory;
//! - an argument of the kernel that is `noalias` and through which the kernel, with all that it calls, writes nothing: `readonly`
//!   says so, or [`PointerFlow::uses`] finds it. On an argument of a kernel `noalias` is a statement about the launch, which all threads
//!   are part of; on one of another function it is about the call only, and is not used;
//! - a variable that nobody outside of the module can name, through which nothing in the module writes;
//!
//! or the load is marked `!invariant.load`. Whatever cannot be shown is refused, with the first reason that was found
//! ([`Refusal`]).
//!
//! # Sources
//!
//! Kong, *Variance Analysis on SSA-based Intermediate Representation* (2009), for LDU: constant memory, memory marked read-only, or loads
//! reached from the entry only. That is not enough for LDU by itself: a later store, or one by another thread, is not excluded.
//! PTX ISA, `ld.global.nc` and `ldu`. LLVM, *User Guide for AMDGPU Backend*, memory model.
//!
//! # Cost
//!
//! O(instructions) once per function; per load a walk over at most [`clobbers::LIMIT`] definitions of memory, where its address is uniform.

pub mod clobbers;
pub mod pointers;
mod refusal;

use phalanx_graph::{Cfg, Cycles, DomTree};
use phalanx_ir::{
    GlobalName, InstId, Opcode, Type, TypeKind,
    attributes::AttrKind,
    inst::{InstFlags, Ordering},
};
use phalanx_target::{
    Architecture, Scope, SourceSet,
    address_space::{AddressSpace, SpaceKind},
    varying,
};

use crate::affect::User;
use crate::divergence::Divergence;
use crate::lower::{Code, Numbering, Surroundings};
use crate::memory::{AliasQuery, Location, PrivateMemory, TypeSizes, value_type};
use crate::summary::Spaces;
use clobbers::{Clobbers, Found};
use pointers::Passed;
pub use pointers::{Objects, PassedUse, PointerFlow, Root, RootUse};
pub use refusal::Refusal;

/// A cheaper way to load. See the [module documentation](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadClass {
    /// Once for a wave, of memory as it was when the launch began.
    Scalar,
    /// Of memory that nobody writes while the kernel runs.
    NonCoherent,
    /// Once for a wave, of such memory.
    Ldu,
}

impl LoadClass {
    /// All, in order.
    pub const ALL: [LoadClass; 3] = [Self::Scalar, Self::NonCoherent, Self::Ldu];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::NonCoherent => "non-coherent",
            Self::Ldu => "ldu",
        }
    }
}

/// What is known of one load: of each class, nothing if it may be of it, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The load.
    pub inst: InstId,
    refusals: [Option<Refusal>; 3],
}

impl Load {
    /// Why it is not of a class; nothing if it is.
    #[must_use]
    pub const fn refusal(&self, class: LoadClass) -> Option<Refusal> {
        self.refusals[class as usize]
    }

    /// Whether it may be done that way.
    #[must_use]
    pub const fn is(&self, class: LoadClass) -> bool {
        self.refusals[class as usize].is_none()
    }

    /// The classes that it is of.
    pub fn classes(&self) -> impl Iterator<Item = LoadClass> + use<> {
        let load = *self;
        LoadClass::ALL.into_iter().filter(move |&class| load.is(class))
    }
}

/// The classes of all loads of a function, in the order of its blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadClasses {
    loads: Vec<Load>,
}

impl LoadClasses {
    /// All loads.
    #[must_use]
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// One load.
    #[must_use]
    pub fn of(&self, inst: InstId) -> Option<&Load> {
        self.loads.iter().find(|load| load.inst == inst)
    }

    /// Loads of a class, in order.
    pub fn that_are(&self, class: LoadClass) -> impl Iterator<Item = InstId> + '_ {
        self.loads.iter().filter(move |load| load.is(class)).map(|load| load.inst)
    }
}

/// Who writes a variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableUse {
    /// Nobody: it is constant.
    Constant,
    /// Nobody in the module, and nobody else can name it.
    NeverWritten,
    /// Something in this function writes it, or lets others do so.
    Written(GlobalName),
    /// It can be named from elsewhere.
    Visible,
    /// It is no variable.
    Unknown,
}

/// A variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Who writes it.
    pub uses: VariableUse,
    /// The number of its address space.
    pub space: u32,
}

/// A rule that is left out, to see that its absence is noticed: a negative control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// Acquires make nothing visible.
    Acquires,
    /// Stores before a load do not count.
    Clobbers,
    /// Nothing is said of other iterations: an address is what it was when a store was done.
    Iterations,
    /// Stores through an argument do not count.
    Writes,
    /// What functions that are called do with arguments does not count.
    Calls,
    /// An argument need not be `noalias`.
    Aliases,
    /// Addresses need not be uniform.
    Uniformity,
}

/// What is known besides the code.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The graph.
    pub cfg: &'a Cfg,
    /// Its dominators.
    pub dom: &'a DomTree,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// What diverges.
    pub divergence: &'a Divergence,
    /// Slots that nobody else reaches.
    pub private: &'a PrivateMemory,
    /// What pointers are made from.
    pub pointers: &'a PointerFlow,
    /// Whether threads start here, and nowhere else is it entered.
    pub is_kernel: bool,
    /// Whether a load is promised to read memory that never changes.
    pub is_promised: &'a dyn Fn(InstId) -> bool,
    /// What is known of a variable.
    pub variable: &'a dyn Fn(GlobalName) -> Variable,
    /// What functions do with arguments.
    pub passed: Passed<'a>,
    /// A rule that is left out; nothing but for tests.
    pub omitted: Option<Omitted>,
}

/// The classes of all loads of a function.
#[must_use]
pub fn classify(code: Code<'_>, around: Surroundings<'_>, facts: Facts<'_>) -> LoadClasses {
    let is_variable = |name| (facts.variable)(name).uses != VariableUse::Unknown;
    let mut classifier = Classifier {
        code,
        around,
        facts,
        numbering: Numbering::new(code.header),
        varying: varying(Scope::Wave, around.launch),
        sizes: TypeSizes::new(code.context, around.layout),
        aliases: AliasQuery::new(code, around, facts.private, &is_variable),
        clobbers: None,
        written: Vec::new(),
    };
    let mut found = LoadClasses::default();
    for &block in code.flow.order() {
        for inst in code.body.block_insts(block) {
            if code.body.inst(inst).opcode == Opcode::Load {
                found.loads.push(classifier.load(inst));
            }
        }
    }
    found
}

struct Classifier<'a> {
    code: Code<'a>,
    around: Surroundings<'a>,
    facts: Facts<'a>,
    numbering: Numbering,
    varying: SourceSet,
    sizes: TypeSizes<'a>,
    aliases: AliasQuery<'a>,
    /// Made when it is first asked.
    clobbers: Option<Clobbers>,
    /// Why roots are not read-only, as far as that was asked.
    written: Vec<(Root, Option<Refusal>)>,
}

impl Classifier<'_> {
    fn omits(&self, rule: Omitted) -> bool {
        self.facts.omitted == Some(rule)
    }

    fn load(&mut self, inst: InstId) -> Load {
        let refusals = match self.access(inst) {
            Some(refusal) => [Some(refusal); 3],
            None => {
                let uniform = self.divergent(inst);
                let read_only = self.changes(inst);
                let space = self.space(inst);
                let scalar = uniform
                    .or_else(|| self.scalar_space(inst))
                    .or_else(|| self.scalar_size(inst))
                    .or_else(|| read_only.and_then(|_| self.clobbered(inst)));
                let non_coherent = space.or(read_only);
                let ldu = space.or(uniform).or(read_only).or_else(|| self.ldu_type(inst));
                [scalar, non_coherent, ldu]
            }
        };
        Load { inst, refusals }
    }

    /// An access that is more than a load.
    fn access(&self, inst: InstId) -> Option<Refusal> {
        let data = self.code.body.inst(inst);
        match data.flags.contains(InstFlags::VOLATILE) {
            true => Some(Refusal::Volatile),
            false => (data.mem().ordering() != Ordering::NotAtomic).then_some(Refusal::Atomic),
        }
    }

    fn divergent(&self, inst: InstId) -> Option<Refusal> {
        let address = self.code.body.operands(inst)[0];
        let address = self.numbering.operand(address)?;
        let user = User::value(self.numbering.inst(inst));
        let sources = self.facts.divergence.at_use(address, user);
        (sources.intersects(self.varying) && !self.omits(Omitted::Uniformity))
            .then_some(Refusal::Divergent(sources))
    }

    /// The spaces that a load may read: those of its type, or of what its address is made from.
    fn spaces(&self, inst: InstId) -> Spaces {
        let address = self.code.body.operands(inst)[0];
        let kind = self.kind_of(value_type(self.code, address));
        if !matches!(kind, SpaceKind::Generic | SpaceKind::Unknown) {
            return Spaces::of(kind);
        }
        let set = self.facts.pointers.of(self.code, address);
        if set.has_unknown() {
            return Spaces::ALL;
        }
        let start = if set.has_slot() { Spaces::of(SpaceKind::Private) } else { Spaces::NONE };
        self.facts.pointers.roots(set).fold(start, |all, root| all.union(self.root_space(root)))
    }

    fn kind_of(&self, ty: Option<Type>) -> SpaceKind {
        let context = self.code.context;
        let number = ty.and_then(|ty| match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
            kind => kind.address_space(),
        });
        let of = |number| AddressSpace::of(self.around.target.architecture(), number).kind();
        number.map_or(SpaceKind::Unknown, of)
    }

    /// Where a root is. The host passes kernels generic pointers to global memory only.
    fn root_space(&self, root: Root) -> Spaces {
        let architecture = self.around.target.architecture();
        let position = match root {
            Root::Argument(position) => position,
            Root::Variable(name) => {
                let variable = (self.facts.variable)(name);
                return match variable.uses {
                    VariableUse::Unknown => Spaces::ALL,
                    _ => Spaces::of(AddressSpace::of(architecture, variable.space).kind()),
                };
            }
        };
        let ty = self.code.header.params.get(position as usize).copied();
        match self.kind_of(ty) {
            SpaceKind::Generic if self.facts.is_kernel && self.has_launch() => {
                match self.is_copied(position) {
                    true => Spaces::ALL,
                    false => Spaces::of(SpaceKind::Global),
                }
            }
            kind => Spaces::of(kind),
        }
    }

    fn has_launch(&self) -> bool {
        matches!(self.around.target.architecture(), Architecture::Nvptx | Architecture::Amdgcn)
    }

    /// Whether an argument leads to a copy that is made for the call.
    fn is_copied(&self, position: u32) -> bool {
        let Code { context, header, .. } = self.code;
        let attributes = context.param_attrs(header.attributes, position as usize);
        [
            AttrKind::ByVal,
            AttrKind::ByRef,
            AttrKind::InAlloca,
            AttrKind::Preallocated,
            AttrKind::StructRet,
        ]
        .iter()
        .any(|&kind| attributes.has(kind))
    }

    /// Why it is no load of global memory.
    fn space(&self, inst: InstId) -> Option<Refusal> {
        self.not_within(inst, Spaces::of(SpaceKind::Global))
    }

    fn scalar_space(&self, inst: InstId) -> Option<Refusal> {
        self.not_within(inst, Spaces::of(SpaceKind::Global).union(Spaces::of(SpaceKind::Constant)))
    }

    fn not_within(&self, inst: InstId, wanted: Spaces) -> Option<Refusal> {
        let spaces = self.spaces(inst);
        if spaces.is_within(wanted) {
            return None;
        }
        let address = self.code.body.operands(inst)[0];
        Some(
            match spaces == Spaces::ALL && self.facts.pointers.of(self.code, address).has_unknown()
            {
                true => Refusal::Origin(clobbers::base(self.code, address)),
                false => Refusal::Space,
            },
        )
    }

    /// Scalar loads are of whole words.
    fn scalar_size(&mut self, inst: InstId) -> Option<Refusal> {
        let data = self.code.body.inst(inst);
        let Some(size) = self.sizes.store_size(data.ty) else { return Some(Refusal::Type) };
        if size < WORD {
            return Some(Refusal::Narrow(size));
        }
        let align = self.align(inst);
        (align < WORD).then_some(Refusal::Misaligned { align, wanted: WORD })
    }

    fn align(&self, inst: InstId) -> u64 {
        let data = self.code.body.inst(inst);
        let layout = self.around.layout.data_layout();
        let natural = || layout.abi_align(self.code.context, self.around.layout, data.ty);
        data.mem().align().or_else(natural).unwrap_or(1)
    }

    /// What `ldu` loads: numbers and pointers of up to 8 bytes, and two or four of these within 16 bytes, aligned as a whole.
    fn ldu_type(&mut self, inst: InstId) -> Option<Refusal> {
        let context = self.code.context;
        let ty = self.code.body.inst(inst).ty;
        let (element, count) = match *context.type_kind(ty) {
            TypeKind::Vector { elem, len, scalable: false } => (elem, u64::from(len)),
            _ => (ty, 1),
        };
        let is_number = match *context.type_kind(element) {
            TypeKind::Int(bits) => matches!(bits, 8 | 16 | 32 | 64),
            TypeKind::Half | TypeKind::Float | TypeKind::Double => true,
            TypeKind::Ptr(_) => count == 1,
            _ => false,
        };
        let size = self.sizes.store_size(ty).unwrap_or(u64::MAX);
        if !is_number || !matches!(count, 1 | 2 | 4) || size > 16 {
            return Some(Refusal::Type);
        }
        let align = self.align(inst);
        (align < size).then_some(Refusal::Misaligned { align, wanted: size })
    }

    /// Why somebody may write what a load reads while the kernel runs.
    fn changes(&mut self, inst: InstId) -> Option<Refusal> {
        if (self.facts.is_promised)(inst) {
            return None;
        }
        let address = self.code.body.operands(inst)[0];
        if self.kind_of(value_type(self.code, address)) == SpaceKind::Constant {
            return None;
        }
        let pointers = self.facts.pointers;
        let set = pointers.of(self.code, address);
        if set.has_unknown() {
            return Some(Refusal::Origin(clobbers::base(self.code, address)));
        }
        if set.has_slot() {
            return Some(Refusal::Space);
        }
        pointers.roots(set).find_map(|root| self.root_changes(root))
    }

    fn root_changes(&mut self, root: Root) -> Option<Refusal> {
        if let Some((_, known)) = self.written.iter().find(|(other, _)| *other == root) {
            return *known;
        }
        let answer = match root {
            Root::Argument(position) => self.argument_changes(position),
            Root::Variable(name) => match (self.facts.variable)(name).uses {
                VariableUse::Constant | VariableUse::NeverWritten => None,
                VariableUse::Written(function) => {
                    Some(Refusal::VariableWritten { variable: name, function })
                }
                VariableUse::Visible | VariableUse::Unknown => Some(Refusal::Visible(name)),
            },
        };
        self.written.push((root, answer));
        answer
    }

    fn argument_changes(&self, position: u32) -> Option<Refusal> {
        let Code { context, header, .. } = self.code;
        let ty = header.params.get(position as usize).copied();
        if self.kind_of(ty) == SpaceKind::Constant {
            return None;
        }
        if !self.facts.is_kernel {
            return Some(Refusal::OfCall(position));
        }
        let attributes = context.param_attrs(header.attributes, position as usize);
        if self.is_copied(position) {
            return Some(Refusal::Space);
        }
        if !attributes.has(AttrKind::NoAlias) && !self.omits(Omitted::Aliases) {
            return Some(Refusal::Aliased(position));
        }
        if attributes.has(AttrKind::ReadOnly) || attributes.has(AttrKind::ReadNone) {
            return None;
        }
        let ignored = |_: GlobalName, _: Type, _: u32| PassedUse::default();
        let passed: Passed<'_> = match self.omits(Omitted::Calls) {
            true => &ignored,
            false => self.facts.passed,
        };
        let uses = self.facts.pointers.uses(Root::Argument(position), passed);
        let written = uses.written.filter(|_| !self.omits(Omitted::Writes));
        match (written, uses.escapes) {
            (Some(by), _) => Some(Refusal::Written { argument: position, by }),
            (None, Some(by)) => Some(Refusal::Escapes { argument: position, by }),
            (None, None) => None,
        }
    }

    /// Why a store may happen before a load.
    fn clobbered(&mut self, inst: InstId) -> Option<Refusal> {
        if !self.facts.is_kernel {
            return Some(Refusal::NoKernel);
        }
        let (code, around, facts) = (self.code, self.around, self.facts);
        let clobbers = self.clobbers.get_or_insert_with(|| Clobbers::new(code, around, facts));
        let location = Location {
            address: code.body.operands(inst)[0],
            size: self.sizes.store_size(code.body.inst(inst).ty),
        };
        clobbers.before(code, around, facts, &mut self.aliases, inst, location).map(|found| {
            match found {
                Found::Acquire(by) => Refusal::Acquire(by),
                Found::Store(by) => Refusal::Clobbered(by),
                Found::TooFar => Refusal::TooFar,
            }
        })
    }
}

/// Bytes of the narrowest scalar load.
const WORD: u64 = 4;
