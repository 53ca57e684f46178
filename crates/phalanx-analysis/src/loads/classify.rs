//! Classifies loads, one after another.
//!
//! Each class is refused for the first reason that is found. Facts that several loads need,
//! acquires and definitions of memory, are computed when the first load needs them.

use std::sync::Arc;

use phalanx_core::affect::User;
use phalanx_ir::{
    InstId, Opcode, TypeKind,
    inst::{InstFlags, Ordering},
};
use phalanx_target::{Architecture, Scope, SourceSet, varying};

use super::classes::{Load, LoadClasses};
use super::clobbers::{self, Acquires, Clobbers, Found};
use super::facts::{Facts, Omitted, VariableUse};
use super::refusal::Refusal;
use super::unchanged::Unchanged;
use crate::alias::{AliasQuery, Location, Named};
use crate::code::{Code, Environment, Numbering, SpaceModel, SpaceSet, TypeSizes};

/// The classes of all loads of a function.
#[must_use]
pub fn classify(code: Code<'_>, env: Environment<'_>, facts: Facts<'_>) -> LoadClasses {
    with_classifier((code, env, facts), None, classify_with)
}

pub(super) fn classify_with(classifier: &mut Classifier<'_>) -> LoadClasses {
    let Code { flow, body, .. } = classifier.code;
    let insts = flow.order().iter().flat_map(|&block| body.block_insts(block));
    let loads = insts.filter(|&inst| body.inst(inst).opcode == Opcode::Load);
    LoadClasses { loads: Arc::new(loads.map(|inst| classifier.load(inst)).collect()) }
}

/// Calls `run` with a classifier, which starts with the acquires of the function if they are known.
pub(super) fn with_classifier<R>(
    (code, env, facts): (Code<'_>, Environment<'_>, Facts<'_>),
    acquires: Option<Acquires>,
    run: impl FnOnce(&mut Classifier<'_>) -> R,
) -> R {
    // Variables of workgroup memory may begin at one place, but loads of these are in no class.
    let variable = |name| match (facts.writers.variable)(name) {
        VariableUse::Unknown => None,
        _ => Some(Named::Object),
    };
    let architecture = env.target.architecture();
    // Classes are retained, and an edit that changes only the computation of an index does not
    // classify loads again. So alias answers must not depend on such computations.
    let aliases = AliasQuery::new(code, env, facts.private, &variable).by_constant_steps();
    run(&mut Classifier {
        code,
        env,
        facts,
        numbering: Numbering::new(code.header),
        varying: varying(Scope::Wave, env.launch),
        sizes: TypeSizes::new(code.context, env.layout),
        aliases: aliases.with_kinds(Some(facts.kinds)),
        acquires,
        clobbers: None,
        walked: Vec::new(),
        unchanged: Unchanged::new(code, architecture, facts.writers),
    })
}

pub(super) struct Classifier<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    facts: Facts<'a>,
    numbering: Numbering,
    varying: SourceSet,
    sizes: TypeSizes<'a>,
    aliases: AliasQuery<'a>,
    /// Computed when first needed, unless they were known before.
    pub(super) acquires: Option<Acquires>,
    /// Computed when first needed.
    clobbers: Option<Clobbers>,
    /// Loads whose classes depend on what happens before them.
    pub(super) walked: Vec<InstId>,
    pub(super) unchanged: Unchanged<'a>,
}

impl Classifier<'_> {
    pub(super) fn load(&mut self, inst: InstId) -> Load {
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

    /// The refusal of an access that is not a plain load.
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

    /// The memories of the device; on NVPTX constant memory is not among them.
    fn device(&self) -> SpaceSet {
        match self.env.target.architecture() {
            Architecture::Nvptx => SpaceSet::GLOBAL,
            _ => SpaceSet::GLOBAL | SpaceSet::CONSTANT,
        }
    }

    /// Why a load is no load of device memory.
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
        let model = SpaceModel::new(self.env.target.architecture());
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
        let layout = self.env.layout.data_layout();
        let natural = || layout.abi_align(self.code.context, self.env.layout, data.ty);
        data.mem().align().or_else(natural).unwrap_or(1)
    }

    /// Why a type cannot be loaded by `ldu`, which loads numbers and pointers of up to 8 bytes, and
    /// two or four of these within 16 bytes, aligned as a whole.
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

    /// Why a thread may write what a load reads while the kernel runs.
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
        let (code, env, facts) = (self.code, self.env, self.facts);
        let acquires = self.acquires.get_or_insert_with(|| Acquires::new(code, env));
        let clobbers = self.clobbers.get_or_insert_with(|| Clobbers::new(code, facts, acquires));
        let size = self.sizes.store_size(code.body.inst(inst).ty);
        let location = Location::behind(code.body.operands(inst)[0], size);
        clobbers.before(code, env, facts, &mut self.aliases, inst, location).map(
            |found| match found {
                Found::Acquire(by) => Refusal::Acquire(by),
                Found::Store(by) => Refusal::Clobbered(by),
                Found::TooFar => Refusal::TooFar,
            },
        )
    }
}

/// Bytes of the narrowest scalar load.
const WORD: u64 = 4;
