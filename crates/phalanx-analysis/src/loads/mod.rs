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
//! acquires. A function all of whose callers are known begins like a kernel if nothing of that comes before its calls. LLVM's own mark (`!amdgpu.noclobber`) passes over them, which is wrong: another wave may have written before the barrier.
//!
//! Where a load and a store may lead is known from [`spaces`](crate::spaces): what goes to memory of the workgroup or of a thread writes
//! no device memory, here or in what is called.
//!
//! *Nobody writes* follows from what the address is made from ([`pointers`], [`unchanged`]). All of these must be
//!
//! - constant: a constant variable, or constant memory;
//! - an argument of the kernel that is `noalias` and through which the kernel, with all that it calls, writes nothing: `readonly`
//!   says so, or [`PointerFlow::uses`] finds it. On an argument of a kernel `noalias` is a statement about the launch, which all threads
//!   are part of; on one of another function it is about the call only, and is not used;
//! - an argument of a function all of whose callers are known, and pass nothing but such;
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
mod concern;
pub mod follow;
pub mod pointers;
mod refusal;
pub mod unchanged;
pub mod writes;

use std::sync::Arc;

use phalanx_graph::{Cfg, Cycles};
use phalanx_ir::{
    GlobalName, InstId, Opcode, TypeKind,
    inst::{InstFlags, Ordering},
};
use phalanx_target::{Architecture, Scope, SourceSet, varying};

use crate::affect::User;
use crate::divergence::Divergence;
use crate::lower::{Code, Numbering, Surroundings};
use crate::memory::{AliasQuery, ClassicMemorySsa, Location, Named, PrivateMemory, TypeSizes};
use crate::spaces::{MemoryKinds, SpaceModel, SpaceSet};
use clobbers::{Acquires, Clobbers, Found};
pub use concern::concerns;
use concern::is_number;
pub use follow::{LoadEdits, LoadFollower};
pub use pointers::{Objects, PassedUse, PointerFlow, Root, RootUse};
pub use refusal::Refusal;
pub use unchanged::{Unchanged, Writers};
pub use writes::{may_write, written_at, written_by_call, written_memories};

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

/// The classes of all loads of a function, in the order of its blocks. Shared: it is as cheap to copy as to compare with a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadClasses {
    loads: Arc<Vec<Load>>,
}

impl LoadClasses {
    /// All loads.
    #[must_use]
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// One load. O(loads): who asks about many goes through [`LoadClasses::loads`].
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
    /// Pointers in private memory may be read as anything, by anybody.
    Slots,
    /// Callers may pass anything.
    Callers,
    /// No store of a generic pointer, and no function, writes device memory.
    Spaces,
    /// Any alignment is enough.
    Alignment,
    /// Whatever function is entered, memory is as it was when the launch began.
    Entry,
}

/// What is known besides the code.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The graph.
    pub cfg: &'a Cfg,
    /// Its cycles.
    pub cycles: &'a Cycles,
    /// What diverges.
    pub divergence: &'a Divergence,
    /// Slots that nobody else reaches.
    pub private: &'a PrivateMemory,
    /// Which memories addresses lead to.
    pub kinds: &'a MemoryKinds,
    /// Which memories a function may write that is called with this type; none if that is not known.
    pub written_by: writes::WrittenBy<'a>,
    /// Memory as one variable, asked for where it matters what happens before a load; none where there is no body.
    pub classic: &'a dyn Fn() -> Option<Arc<ClassicMemorySsa>>,
    /// Who writes what.
    pub writers: Writers<'a>,
    /// Whether device memory, as this thread sees it, is at the entry as it was when the launch began.
    pub is_at_launch: bool,
    /// Whether a load is promised to read memory that never changes.
    pub is_promised: &'a dyn Fn(InstId) -> bool,
}

impl Facts<'_> {
    fn omits(&self, rule: Omitted) -> bool {
        self.writers.omitted == Some(rule)
    }
}

/// The classes of all loads of a function.
#[must_use]
pub fn classify(code: Code<'_>, around: Surroundings<'_>, facts: Facts<'_>) -> LoadClasses {
    with_classifier((code, around, facts), None, classify_with)
}

fn classify_with(classifier: &mut Classifier<'_>) -> LoadClasses {
    let Code { flow, body, .. } = classifier.code;
    let insts = flow.order().iter().flat_map(|&block| body.block_insts(block));
    let loads = insts.filter(|&inst| body.inst(inst).opcode == Opcode::Load);
    LoadClasses { loads: Arc::new(loads.map(|inst| classifier.load(inst)).collect()) }
}

/// Runs something with a classifier, which is told the acquires of the function if they are known.
fn with_classifier<R>(
    (code, around, facts): (Code<'_>, Surroundings<'_>, Facts<'_>),
    acquires: Option<Acquires>,
    run: impl FnOnce(&mut Classifier<'_>) -> R,
) -> R {
    // Loads of workgroup memory, in which variables can begin at one place, are in no class.
    let variable = |name| match (facts.writers.variable)(name) {
        VariableUse::Unknown => None,
        _ => Some(Named::Object),
    };
    let architecture = around.target.architecture();
    // Classes are kept while what they follow from is, and nothing says what indices are computed from.
    let aliases = AliasQuery::new(code, around, facts.private, &variable).by_constant_steps();
    run(&mut Classifier {
        code,
        around,
        facts,
        numbering: Numbering::new(code.header),
        varying: varying(Scope::Wave, around.launch),
        sizes: TypeSizes::new(code.context, around.layout),
        aliases: aliases.with_kinds(Some(facts.kinds)),
        acquires,
        clobbers: None,
        walked: Vec::new(),
        unchanged: Unchanged::new(code, architecture, facts.writers),
    })
}

struct Classifier<'a> {
    code: Code<'a>,
    around: Surroundings<'a>,
    facts: Facts<'a>,
    numbering: Numbering,
    varying: SourceSet,
    sizes: TypeSizes<'a>,
    aliases: AliasQuery<'a>,
    /// Found when they are first asked for, if they are not known.
    acquires: Option<Acquires>,
    /// Made when it is first asked.
    clobbers: Option<Clobbers>,
    /// Loads of which it was asked what happens before them.
    walked: Vec<InstId>,
    unchanged: Unchanged<'a>,
}

impl Classifier<'_> {
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
        (sources.intersects(self.varying) && !self.facts.omits(Omitted::Uniformity))
            .then_some(Refusal::Divergent(sources))
    }

    /// The memories that a load may read.
    fn memories(&self, inst: InstId) -> SpaceSet {
        self.facts.kinds.at(self.code.body, inst, 0).memories()
    }

    /// Device memory: on NVPTX constant memory is apart from it.
    fn device(&self) -> SpaceSet {
        match self.around.target.architecture() {
            Architecture::Nvptx => SpaceSet::GLOBAL,
            _ => SpaceSet::GLOBAL | SpaceSet::CONSTANT,
        }
    }

    /// Why it is no load of device memory.
    fn space(&self, inst: InstId) -> Option<Refusal> {
        self.not_within(inst, self.device())
    }

    fn scalar_space(&self, inst: InstId) -> Option<Refusal> {
        self.not_within(inst, SpaceSet::GLOBAL | SpaceSet::CONSTANT)
    }

    fn not_within(&self, inst: InstId, wanted: SpaceSet) -> Option<Refusal> {
        let memories = self.memories(inst);
        if !memories.is_empty() && wanted.contains(memories) {
            return None;
        }
        let address = self.code.body.operands(inst)[0];
        let model = SpaceModel::new(self.around.target.architecture());
        let is_anything = memories == SpaceSet::ALL.memories()
            || model.generic().is_some_and(|number| memories.contains(model.of(number)));
        let is_unknown = self.facts.writers.pointers.of(self.code, address).has_unknown();
        Some(match is_anything && is_unknown {
            true => Refusal::Origin(clobbers::base(self.code, address)),
            false => Refusal::Space(memories),
        })
    }

    /// Scalar loads are of whole words.
    fn scalar_size(&mut self, inst: InstId) -> Option<Refusal> {
        let data = self.code.body.inst(inst);
        let Some(size) = self.sizes.store_size(data.ty) else { return Some(Refusal::Type) };
        if size < WORD {
            return Some(Refusal::Narrow(size));
        }
        let align = self.align(inst);
        (align < WORD && !self.facts.omits(Omitted::Alignment))
            .then_some(Refusal::Misaligned { align, wanted: WORD })
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
        let memories = self.memories(inst);
        self.unchanged.of(self.code.body.operands(inst)[0], memories)
    }

    /// Why a store may happen before a load.
    fn clobbered(&mut self, inst: InstId) -> Option<Refusal> {
        if !self.facts.is_at_launch && !self.facts.omits(Omitted::Entry) {
            return Some(match self.facts.writers.earlier_grids {
                true => Refusal::EarlierGrids,
                false => Refusal::NoKernel,
            });
        }
        self.walked.push(inst);
        let (code, around, facts) = (self.code, self.around, self.facts);
        let acquires = self.acquires.get_or_insert_with(|| Acquires::new(code, around));
        let clobbers = self.clobbers.get_or_insert_with(|| Clobbers::new(code, facts, acquires));
        let size = self.sizes.store_size(code.body.inst(inst).ty);
        let location = Location::behind(code.body.operands(inst)[0], size);
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
