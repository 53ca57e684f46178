//! Finds what is to be rewritten, before anything changes.

use std::sync::Arc;

use phalanx_analysis::{
    lower,
    spaces::{MemoryKinds, SpaceModel, SpaceSet, may_pass, tested},
};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    ConstKind, InstId, Opcode, TypeKind, Value, ValueKind,
    data_layout::DataLayout,
    flow::block_of,
    inst::{InstFlags, IntPredicate},
};
use phalanx_target::Architecture;
use rustc_hash::FxHashMap;

use super::{calls, is_plain};
use crate::code::Code;

/// An operand that is to become an address of another space.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rewrite {
    pub(super) user: InstId,
    pub(super) index: u32,
    pub(super) space: u32,
}

/// How an address is computed in another space.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Make {
    /// By a copy of the instruction, with its address operands in that space.
    Copy,
    /// By its operand: the address is a cast from that space, or is computed from such a cast.
    Through,
    /// By a cast of the generic address to that space.
    Cast,
}

/// The planned changes of a function.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Operands of loads, stores and atomics.
    pub(super) accesses: Vec<Rewrite>,
    /// Comparisons, both sides.
    pub(super) comparisons: Vec<(InstId, u32)>,
    /// Calls of intrinsics, with the spaces of their pointer arguments.
    pub(super) calls: Vec<(InstId, Vec<Rewrite>)>,
    /// Address-space tests whose answer is known.
    pub(super) tests: Vec<(InstId, bool)>,
    /// Addresses that are needed in a space, and how to compute them.
    pub(super) made: FxHashMap<(InstId, u32), Make>,
    /// Whether a copy can replace the original at all its uses.
    pub(super) is_lossless: FxHashMap<(InstId, u32), bool>,
    pub(super) kinds: Arc<MemoryKinds>,
    pub(super) model: Option<SpaceModel>,
    pub(super) architecture: Option<Architecture>,
    pub(super) generic: u32,
    pub(super) layout: DataLayout,
}

/// How many steps the search for the original space of an address follows.
const STEPS: usize = 64;

pub(super) struct Planner<'a> {
    pub(super) code: Code<'a>,
    pub(super) kinds: &'a MemoryKinds,
    pub(super) model: SpaceModel,
    pub(super) generic: u32,
    pub(super) layout: &'a DataLayout,
    architecture: Architecture,
}

impl Plan {
    /// The planned changes of a function; none if it has no generic space or no code.
    pub(super) fn new(db: &Database, function: FunctionInput) -> Option<Plan> {
        let architecture = queries::target(db, function.module(db)).architecture();
        let model = SpaceModel::new(architecture);
        let generic = model.generic()?;
        let kinds = queries::memory_kinds(db, function).as_ref()?;
        let dom = queries::dom_tree(db, function)?;
        let code = Code::of(db, function);
        let layout = queries::type_layout(db, function.module(db)).data_layout();
        let planner = Planner { code, kinds, model, generic, layout, architecture };
        let mut plan = Plan {
            kinds: Arc::clone(kinds),
            model: Some(model),
            architecture: Some(architecture),
            generic,
            layout: layout.clone(),
            ..Plan::default()
        };
        for &node in dom.preorder() {
            for inst in planner.code.body.block_insts(block_of(node)) {
                planner.look(inst, &mut plan);
            }
        }
        planner.trace(&mut plan);
        Some(plan)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.accesses.is_empty()
            && self.comparisons.is_empty()
            && self.calls.is_empty()
            && self.tests.is_empty()
    }
}

impl Planner<'_> {
    fn space_of(&self, value: Value) -> Option<u32> {
        let ty = self.code.type_of(value);
        let scalar = match self.code.context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => *elem,
            _ => ty,
        };
        self.code.context.type_kind(scalar).address_space()
    }

    fn is_generic(&self, value: Value) -> bool {
        self.space_of(value) == Some(self.generic)
    }

    /// The narrower space that an operand points to.
    pub(super) fn target(&self, user: InstId, index: u32) -> Option<u32> {
        let value = *self.code.body.operands(user).get(index as usize)?;
        if !self.is_generic(value) {
            return None;
        }
        self.narrower(value, self.kinds.at(self.code.body, user, index))
    }

    fn narrower(&self, value: Value, set: SpaceSet) -> Option<u32> {
        let set = set.memories();
        if set.is_empty() {
            return None;
        }
        if set == SpaceSet::OTHER {
            return self.origin(value);
        }
        self.model.narrowest(set).filter(|&space| space != self.generic)
    }

    /// The space that an address was cast from, if it is the only one.
    fn origin(&self, value: Value) -> Option<u32> {
        let (mut work, mut found) = (vec![value], None);
        for _ in 0..STEPS {
            let Some(value) = work.pop() else { return found };
            let body = self.code.body;
            let inst = value.as_inst()?;
            match body.inst(inst).opcode {
                Opcode::AddrSpaceCast => {
                    let from = self.space_of(body.operands(inst)[0])?;
                    if from == self.generic || found.is_some_and(|found| found != from) {
                        return None;
                    }
                    found = Some(from);
                }
                Opcode::GetElementPtr => work.push(body.operands(inst)[0]),
                Opcode::Select => work.extend(&body.operands(inst)[1..]),
                Opcode::Call if calls::is_mask(&self.code, inst) => {
                    work.push(body.operands(inst)[0]);
                }
                _ => return None,
            }
        }
        None
    }

    fn look(&self, inst: InstId, plan: &mut Plan) {
        let data = self.code.body.inst(inst);
        let is_volatile = || data.flags.contains(InstFlags::VOLATILE);
        let is_nvidia = self.architecture == Architecture::Nvptx;
        let access = |index: u32| {
            let mut space = self.target(inst, index)?;
            let writes = data.opcode != Opcode::Load;
            if writes && self.model.of(space) == SpaceSet::CONSTANT {
                // The access is undefined in any space.
                space = if is_nvidia { return None } else { 1 };
            }
            Some(Rewrite { user: inst, index, space })
        };
        match data.opcode {
            Opcode::Load if !is_volatile() || is_nvidia => plan.accesses.extend(access(0)),
            Opcode::Store if !is_volatile() || is_nvidia => plan.accesses.extend(access(1)),
            Opcode::AtomicRmw | Opcode::CmpXchg if !is_volatile() => {
                let has_atomics = |space: u32| !is_nvidia || matches!(space, 1 | 3 | 7);
                plan.accesses.extend(access(0).filter(|rewrite| has_atomics(rewrite.space)));
            }
            Opcode::ICmp => {
                let spaces = (self.target(inst, 0), self.target(inst, 1));
                if let Some(space) = self.comparable(inst, spaces) {
                    plan.comparisons.push((inst, space));
                }
            }
            Opcode::Call => {
                let code = lower::Code {
                    context: self.code.context,
                    header: self.code.header,
                    flow: self.code.flow,
                    body: self.code.body,
                    library: self.code.library,
                };
                if let Some(space) = tested(code, inst) {
                    let set = self.kinds.at(self.code.body, inst, 0);
                    if let Some(answer) = answer(set, space) {
                        plan.tests.push((inst, answer));
                    }
                    return;
                }
                let rewrites = calls::rewrites(self, inst);
                if !rewrites.is_empty() {
                    plan.calls.push((inst, rewrites));
                }
            }
            _ => {}
        }
    }

    /// The space in which two addresses compare as they do in the generic space.
    fn comparable(&self, inst: InstId, spaces: (Option<u32>, Option<u32>)) -> Option<u32> {
        let body = self.code.body;
        let operands = body.operands(inst);
        let is_nothing = |index: usize| {
            let constant = operands[index].as_const();
            let kind = constant.map(|constant| &self.code.context.const_data(constant).kind);
            matches!(
                kind,
                Some(ConstKind::Null | ConstKind::Zero | ConstKind::Undef | ConstKind::Poison)
            )
        };
        let space = match spaces {
            (Some(a), Some(b)) if a == b => a,
            (Some(space), None) if is_nothing(1) => space,
            (None, Some(space)) if is_nothing(0) => space,
            _ => return None,
        };
        let is_equality =
            matches!(body.inst(inst).int_predicate(), IntPredicate::Eq | IntPredicate::Ne);
        let is_somewhere =
            |index: u32| !self.kinds.at(body, inst, index).contains(SpaceSet::NOWHERE);
        let is_same =
            is_plain(self.architecture, space) || is_equality && is_somewhere(0) && is_somewhere(1);
        is_same.then_some(space)
    }

    /// Whether all memory that an address may point to is in a space, at every use.
    fn is_within(&self, value: Value, space: u32) -> bool {
        let set = self.model.accessed(self.kinds.of(value));
        match set == SpaceSet::OTHER {
            true => self.origin(value) == Some(space),
            false => self.model.of(space).contains(set),
        }
    }

    /// Finds the addresses that have to be computed, with their spaces.
    fn trace(&self, plan: &mut Plan) {
        let body = self.code.body;
        let mut work: Vec<(Value, u32)> = Vec::new();
        let operand = |rewrite: &Rewrite| {
            (body.operands(rewrite.user)[rewrite.index as usize], rewrite.space)
        };
        work.extend(plan.accesses.iter().map(operand));
        work.extend(plan.calls.iter().flat_map(|(_, rewrites)| rewrites.iter().map(operand)));
        for &(inst, space) in &plan.comparisons {
            work.extend(body.operands(inst).iter().map(|&operand| (operand, space)));
        }
        while let Some((value, space)) = work.pop() {
            let ValueKind::Inst(inst) = value.kind() else { continue };
            // The space is known at this use only, so the address is cast there.
            if !self.is_generic(value)
                || !self.is_within(value, space)
                || plan.made.contains_key(&(inst, space))
            {
                continue;
            }
            let make = self.how(inst, space);
            plan.made.insert((inst, space), make);
            let operands = body.operands(inst);
            match (make, body.inst(inst).opcode) {
                (Make::Copy, Opcode::Phi) => {
                    work.extend(body.phi_values(inst).iter().map(|&value| (value, space)));
                }
                (Make::Copy, Opcode::Select) => {
                    work.extend(operands[1..].iter().map(|&value| (value, space)));
                }
                (Make::Copy | Make::Through, _) => work.push((operands[0], space)),
                (Make::Cast, _) => {}
            }
            if make == Make::Copy {
                let is_lossless = is_plain(self.architecture, space)
                    || !self.kinds.of(value).contains(SpaceSet::NOWHERE);
                plan.is_lossless.insert((inst, space), is_lossless);
            }
        }
    }

    fn how(&self, inst: InstId, space: u32) -> Make {
        let body = self.code.body;
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            Opcode::AddrSpaceCast if self.space_of(operands[0]) == Some(space) => Make::Through,
            Opcode::GetElementPtr if self.is_same_shape(inst, operands[0]) => Make::Copy,
            // The result of a terminator cannot be cast within its block, before the phi reads it.
            Opcode::Phi if self.reads_terminator(inst) => Make::Cast,
            Opcode::Phi | Opcode::Select => Make::Copy,
            Opcode::Call if calls::mask(self, inst, space).is_some() => Make::Copy,
            _ => Make::Cast,
        }
    }

    /// Whether a phi reads the result of the terminator of an incoming block.
    fn reads_terminator(&self, phi: InstId) -> bool {
        let body = self.code.body;
        let is_terminator = |(value, from): (Value, _)| {
            value.as_inst().is_some_and(|inst| body.terminator(from) == Some(inst))
        };
        body.phi_incoming(phi).any(is_terminator)
    }

    /// Whether both are vectors of addresses, or neither is.
    fn is_same_shape(&self, inst: InstId, base: Value) -> bool {
        let is_vector = |ty| matches!(self.code.context.type_kind(ty), TypeKind::Vector { .. });
        is_vector(self.code.body.inst(inst).ty) == is_vector(self.code.type_of(base))
    }
}

/// The result of an address-space test, if it is known.
fn answer(set: SpaceSet, space: SpaceSet) -> Option<bool> {
    if set.memories().is_empty() {
        return None;
    }
    // A null pointer may test as an address of device memory.
    let null_is_known = space != SpaceSet::GLOBAL || !set.contains(SpaceSet::NOWHERE);
    match (set.meets(may_pass(space)), space.contains(set)) {
        (false, _) if null_is_known => Some(false),
        (true, true) => Some(true),
        _ => None,
    }
}
