//! What happens before a load in its kernel: acquires, and stores of the thread itself.
//!
//! # What
//!
//! The module answers two questions about a load of a kernel. Is an acquire on some path from the
//! entry to the load ([`order`](crate::memory::order))? May the thread itself have stored there
//! before?
//!
//! # How
//!
//! Blocks behind an acquire are found once, by one search over the graph. Stores are found by a
//! walk up the definitions of memory ([`ClassicMemorySsa::clobber`]). The walk passes definitions
//! that touch other memory, according to [`AliasQuery`] and to what both addresses may be based on
//! ([`PointerFlow`](super::PointerFlow)).
//!
//! An alias query is about one moment. If the walk goes around a loop, the store may have been
//! executed in another iteration, with another address. So two accesses at different offsets from
//! one pointer count as disjoint only if the pointer is the same in all iterations: an argument, a
//! constant, or a value computed outside of all cycles. Different objects are different objects in
//! all iterations.

use std::sync::Arc;

use phalanx_graph::{BitSet, Node};
use phalanx_ir::{
    InstId, Opcode, Value, ValueKind,
    attributes::{Access, AttrKind, MemoryLocation},
    constant::ConstKind,
    flow::node_of,
};
use phalanx_target::address_space::{AddressSpace, SpaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Facts, Objects, Omitted, Root, VariableUse, unchanged::kind_of, writes::written_by_call,
};
use crate::alias::{Alias, AliasQuery, Location};
use crate::code::{Code, Environment, SpaceModel, SpaceSet, value_type};
use crate::memory::{
    ClassicMemorySsa,
    classic::Clobber,
    effects::call_effects,
    order::{acquires, blocks_behind},
};

/// How many definitions a walk passes at most.
pub const LIMIT: usize = 256;

/// Something that may happen before a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// An acquire.
    Acquire(InstId),
    /// A store, or a call that may do one.
    Store(InstId),
    /// The walk was given up after [`LIMIT`] definitions.
    TooFar,
}

/// The instructions of a function that [may be acquires](crate::memory::order), anywhere in it.
///
/// They depend on the instructions and on callees, not on the graph. So they can be retained when
/// blocks and edges change.
#[derive(Clone, Debug)]
pub struct Acquires(FxHashSet<InstId>);

impl Acquires {
    /// The acquires of a function. O(instructions).
    #[must_use]
    pub fn new(code: Code<'_>, env: Environment<'_>) -> Self {
        let blocks = code.flow.order().iter();
        let insts = blocks.flat_map(|&block| code.body.block_insts(block));
        Self(insts.filter(|&inst| acquires(code, env, inst)).collect())
    }

    /// Updates the acquires after instructions have changed, come or gone. O(changed instructions).
    pub fn update(&mut self, code: Code<'_>, env: Environment<'_>, changed: &[InstId]) {
        for &inst in changed {
            let is_linked = code.body.block_of(inst).is_some();
            if is_linked && acquires(code, env, inst) {
                self.0.insert(inst);
            } else {
                self.0.remove(&inst);
            }
        }
    }
}

/// What happens before the loads of a function. See the [module documentation](self).
#[derive(Clone, Debug)]
pub struct Clobbers {
    /// None if the function has no body.
    memory: Option<Arc<ClassicMemorySsa>>,
    /// The first acquire of each block.
    acquires: Vec<Option<InstId>>,
    /// Blocks to which a path of at least one edge leads from some acquire.
    behind: BitSet,
    /// The acquire that is named as the reason for loads of these blocks.
    first: Option<InstId>,
    /// By block, the instructions before its first acquire. Cached, since many loads of one block
    /// may need them.
    ahead: FxHashMap<Node, FxHashSet<InstId>>,
}

impl Clobbers {
    /// For a function whose acquires are known. O(blocks + edges), and for blocks with several
    /// acquires O(instructions before the first).
    #[must_use]
    pub fn new(code: Code<'_>, facts: Facts<'_>, acquires: &Acquires) -> Self {
        let cfg = facts.cfg;
        let mut first_of = vec![None; cfg.node_count()];
        let mut is_shared = BitSet::new(cfg.node_count());
        for &inst in &acquires.0 {
            let Some(block) = code.body.block_of(inst) else { continue };
            if first_of[node_of(block).index()].replace(inst).is_some() {
                is_shared.insert(node_of(block).index());
            }
        }
        let mut blocks = Vec::new();
        let mut first = None;
        for &block in code.flow.order() {
            let node = node_of(block);
            if is_shared.contains(node.index()) {
                let mut insts = code.body.block_insts(block);
                first_of[node.index()] = insts.find(|inst| acquires.0.contains(inst));
            }
            if let Some(inst) = first_of[node.index()] {
                first = first.or(Some(inst));
                blocks.push(node);
            }
        }
        let behind = blocks_behind(cfg, blocks);
        let ahead = FxHashMap::default();
        Self { memory: (facts.classic)(), acquires: first_of, behind, first, ahead }
    }

    /// The nearest definition before an instruction for which `may_clobber` holds; see
    /// [`ClassicMemorySsa::clobber`].
    fn clobber(&self, inst: InstId, may_clobber: impl FnMut(InstId) -> bool) -> Option<Clobber> {
        self.memory.as_ref()?.clobber(inst, LIMIT, may_clobber)
    }

    /// What may have changed a location before a load in its launch. O(definitions that the walk
    /// passes), and once per block O(instructions before its first acquire).
    pub fn before(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        facts: Facts<'_>,
        aliases: &mut AliasQuery<'_>,
        load: InstId,
        location: Location,
    ) -> Option<Found> {
        if !facts.omits(Omitted::Acquires)
            && let Some(acquire) = self.acquire_before(code, load)
        {
            return Some(Found::Acquire(acquire));
        }
        if facts.omits(Omitted::Clobbers) {
            return None;
        }
        let walk = Walk { code, env, facts };
        let set = facts.writers.pointers.of(code, location.address);
        let mut culprit = None;
        let found = self.clobber(load, |inst| {
            let clobbers = walk.may_write(aliases, inst, location, set);
            if clobbers {
                culprit = culprit.or(Some(inst));
            }
            clobbers
        });
        match (found, culprit) {
            (Some(Clobber::Entry), _) => None,
            (_, Some(inst)) => Some(Found::Store(inst)),
            (_, None) => Some(Found::TooFar),
        }
    }

    /// Whether, before a call, a thread has written no device memory and has seen nothing of what
    /// others wrote.
    #[must_use]
    pub fn is_nothing_before(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        facts: Facts<'_>,
        call: InstId,
    ) -> bool {
        let walk = Walk { code, env, facts };
        let found = self.clobber(call, |inst| walk.may_write_device(inst));
        found == Some(Clobber::Entry) && self.acquire_before(code, call).is_none()
    }

    /// An acquire that may be executed before a load or call. The instruction itself does not
    /// count.
    fn acquire_before(&mut self, code: Code<'_>, inst: InstId) -> Option<InstId> {
        let block = code.body.block_of(inst)?;
        let node = node_of(block);
        if self.behind.contains(node.index()) {
            return self.first;
        }
        let own = self.acquires[node.index()].filter(|own| *own != inst)?;
        // No path leads from the block to itself, so the order within the block decides.
        let ahead = || code.body.block_insts(block).take_while(|other| *other != own).collect();
        let is_ahead = self.ahead.entry(node).or_insert_with(ahead).contains(&inst);
        (!is_ahead).then_some(own)
    }
}

/// The base that an address is made from, a bounded number of steps up.
pub(super) fn base(code: Code<'_>, mut address: Value) -> Value {
    for _ in 0..STEPS {
        let ValueKind::Inst(inst) = address.kind() else { break };
        match code.body.inst(inst).opcode {
            Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast | Opcode::Freeze => {
                address = code.body.operands(inst)[0];
            }
            _ => break,
        }
    }
    address
}

const STEPS: usize = 64;

/// Memories that a load of device or constant memory does not read.
const NOT_DEVICE: SpaceSet = SpaceSet::SHARED
    .or(SpaceSet::PEERS)
    .or(SpaceSet::PRIVATE)
    .or(SpaceSet::PARAMETER)
    .or(SpaceSet::REGION);

struct Walk<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    facts: Facts<'a>,
}

impl Walk<'_> {
    /// Whether an instruction that defines memory may write any memory that other threads see.
    fn may_write_device(&self, inst: InstId) -> bool {
        let body = self.code.body;
        let is_device = |set: SpaceSet| !set.memories().without(NOT_DEVICE).is_empty();
        match body.inst(inst).opcode {
            Opcode::Load | Opcode::Fence => false,
            Opcode::Store => is_device(self.facts.kinds.at(body, inst, 1)),
            Opcode::AtomicRmw | Opcode::CmpXchg => is_device(self.facts.kinds.at(body, inst, 0)),
            opcode if opcode.is_call() => {
                let called = |name, ty| (self.facts.written_by)(name, ty);
                written_by_call(self.code, self.env, self.facts.kinds, &called, inst)
                    .is_none_or(is_device)
            }
            _ => true,
        }
    }

    /// Whether an instruction that defines memory may write a location, in any iteration in which
    /// it may have been executed.
    fn may_write(
        &self,
        aliases: &mut AliasQuery<'_>,
        inst: InstId,
        location: Location,
        set: Objects,
    ) -> bool {
        match self.code.body.inst(inst).opcode {
            // Acquires are searched separately.
            Opcode::Load | Opcode::Fence => false,
            // The store is to private memory that no other code reaches, so the load is of other
            // memory.
            Opcode::Store if !self.facts.private.of(inst).is_empty() => false,
            Opcode::Store | Opcode::AtomicRmw | Opcode::CmpXchg => aliases
                .location(inst)
                .is_none_or(|written| self.may_alias(aliases, location, set, written)),
            opcode if opcode.is_call() && self.facts.omits(Omitted::Acquires) => {
                !acquires(self.code, self.env, inst)
                    && self.call_may_write(aliases, inst, location, set)
            }
            opcode if opcode.is_call() => self.call_may_write(aliases, inst, location, set),
            _ => true,
        }
    }

    fn may_alias(
        &self,
        aliases: &mut AliasQuery<'_>,
        read: Location,
        set: Objects,
        written: Location,
    ) -> bool {
        let other = self.facts.writers.pointers.of(self.code, written.address);
        if self.are_apart(set, other) {
            return false;
        }
        let is_constant_base = {
            let (a, b) =
                (aliases.address(read.address).base, aliases.address(written.address).base);
            (self.is_fixed(a) && self.is_fixed(b)) || self.facts.omits(Omitted::Iterations)
        };
        if !is_constant_base && !self.are_in_different_spaces(read.address, written.address) {
            return true;
        }
        aliases.alias(read, written) != Alias::No
    }

    /// Whether a value is the same throughout the run of a function.
    fn is_fixed(&self, value: Value) -> bool {
        match value.kind() {
            ValueKind::Inst(inst) => self
                .code
                .body
                .block_of(inst)
                .is_some_and(|block| self.facts.cycles.innermost(node_of(block)).is_none()),
            _ => true,
        }
    }

    /// Whether both addresses lead to different memories, in any two iterations.
    fn are_in_different_spaces(&self, a: Value, b: Value) -> bool {
        let (kinds, architecture) = (self.facts.kinds, self.env.target.architecture());
        if !SpaceModel::new(architecture).may_overlap(kinds.of(a), kinds.of(b)) {
            return true;
        }
        let is_generic = |value| {
            kind_of(self.code, architecture, value_type(self.code, value)) == SpaceKind::Generic
        };
        if self.facts.omits(Omitted::Spaces) && is_generic(b) {
            return true;
        }
        let space = |value| {
            let number =
                self.code.context.type_kind(value_type(self.code, value)?).address_space()?;
            Some(AddressSpace::of(architecture, number))
        };
        matches!((space(a), space(b)), (Some(a), Some(b)) if !a.may_overlap(b))
    }

    /// Whether nothing that one address may be based on can be what the other may be based on.
    fn are_apart(&self, read: Objects, written: Objects) -> bool {
        let pointers = self.facts.writers.pointers;
        if read.has_unknown() || !read.is_disjoint(written) {
            return false;
        }
        let is_lonely = |root: Root, escapes_matter: bool| match root {
            Root::Argument(position) => {
                let attributes =
                    self.code.context.param_attrs(self.code.header.attributes, position as usize);
                attributes.has(AttrKind::NoAlias)
                    && (!escapes_matter
                        || pointers.uses(root, self.facts.writers.passed).escapes.is_none())
            }
            Root::Variable(_) => false,
        };
        let is_variable = |root: Root| match root {
            Root::Variable(name) => (self.facts.writers.variable)(name) != VariableUse::Unknown,
            Root::Argument(_) => false,
        };
        let pair = |a: Root, b: Root| {
            is_lonely(a, false) || is_lonely(b, false) || is_variable(a) && is_variable(b)
        };
        // Stack slots exist for part of a run only; the alias query handles them.
        if read.has_slot() || written.has_slot() {
            return false;
        }
        let unknown_is_apart =
            !written.has_unknown() || pointers.roots(read).all(|root| is_lonely(root, true));
        unknown_is_apart
            && pointers.roots(read).all(|a| pointers.roots(written).all(|b| pair(a, b)))
    }

    fn call_may_write(
        &self,
        aliases: &mut AliasQuery<'_>,
        call: InstId,
        location: Location,
        set: Objects,
    ) -> bool {
        let Code { context, body, .. } = self.code;
        if self.facts.omits(Omitted::Calls) {
            return false;
        }
        let effects = call_effects(self.code, self.env, call);
        let mut elsewhere = MemoryLocation::ALL.iter().any(|&at| {
            !matches!(at, MemoryLocation::ArgMem | MemoryLocation::InaccessibleMem)
                && effects.access(at).writes()
        });
        let mut through: Access = effects.access(MemoryLocation::ArgMem);
        let info = body.call_info(call);
        let callee = body.const_callee(call).map(|callee| &context.const_data(callee).kind);
        if let Some(&ConstKind::Global(name)) = callee
            && info.bundles.is_empty()
            && let Some(found) = self.env.calls.summary(name)
            && found.ty == Some(info.function_type)
        {
            let memory = found.effects.memory;
            elsewhere &= MemoryLocation::ALL.iter().any(|&at| {
                !matches!(at, MemoryLocation::ArgMem | MemoryLocation::InaccessibleMem)
                    && memory.access(at).writes()
            });
            let writes = found.effects.writes;
            let is_written = [SpaceKind::Global, SpaceKind::Constant, SpaceKind::Buffer]
                .iter()
                .any(|&kind| writes.has(kind));
            if !is_written {
                return false;
            }
            if !memory.access(MemoryLocation::ArgMem).writes() {
                through = Access::None;
            }
        }
        let mut callee_name = None;
        if let Some(&ConstKind::Global(name)) = callee
            && info.bundles.is_empty()
        {
            callee_name = Some(name);
            let device = SpaceSet::ALL.memories().without(NOT_DEVICE);
            if let Some(written) = (self.facts.written_by)(name, info.function_type)
                && (!written.meets(device) || self.facts.omits(Omitted::Spaces))
            {
                return false;
            }
        }
        let may_reach = |aliases: &mut AliasQuery<'_>, position: usize, argument: Value| {
            // The callee only reads through this argument.
            if let Some(name) = callee_name
                && !(self.facts.writers.passed)(name, info.function_type, position as u32).writes
            {
                return false;
            }
            let Some(ty) = value_type(self.code, argument) else { return true };
            match context.type_kind(ty).address_space() {
                // A number is no address unless it was made from one, which is an escape.
                None => matches!(context.type_kind(ty), phalanx_ir::TypeKind::Vector { .. }),
                Some(_) => {
                    let written = aliases.through_argument(call, argument);
                    self.may_alias(aliases, location, set, written)
                }
            }
        };
        elsewhere
            || through.writes()
                && body
                    .call_args(call)
                    .iter()
                    .enumerate()
                    .any(|(position, &argument)| may_reach(aliases, position, argument))
    }
}
