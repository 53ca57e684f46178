//! Incremental update of private memory, by components of objects.
//!
//! # What
//!
//! [`PrivateMemoryUpdater`] holds the facts of [`PrivateMemory::through_calls`], or of
//! [`PrivateMemory::with_pointees`], and updates them after edits. An update scans only the objects
//! that a changed instruction uses or used, and those that an edit of the [`graph`] affects.
//!
//! # Why
//!
//! The facts about an object depend only on the instructions with its address as an operand. Two
//! objects are connected if one instruction uses both: a copy from one to the other, a call that is
//! passed both, a store of the address of one to the other. A connected component of objects has
//! slots and an SSA form of its own. These are computed as for a whole function, but only from the
//! instructions that use the component. Def-use lists give these instructions ([`gather`]).
//!
//! # How
//!
//! At first the *base* holds the private memory of the whole function. The first edit that may
//! affect an object [divides](divide) it: a *patch* holds the private memory of one component. If
//! only plain loads and stores change, the update edits their touches [one by one](local).
//! Otherwise it scans the affected components again. If these are a large part of the function, the
//! update gives up, and private memory is computed from scratch. A [split](split) of a block leaves
//! all versions as they are.
//!
//! **Invariants.**
//!
//! - Either there is no patch, or the base is empty.
//! - An object is in at most one patch, together with its whole component.
//! - Instructions that use an object of a patch are in the patch. Returns are an exception: they
//!   use all objects of arguments, and are in no patch for that ([`Pointees`]).
//! - After an edit of the graph, unaffected patches keep their tables, although the order of blocks
//!   may have changed. So the order of events and touches may differ between patches.
//!
//! **Complexity.** O(uses of the affected objects, and lengths of the blocks of these uses); O(uses
//! of all objects) the first time; dominance frontiers once for each graph. After an edit of the
//! graph, the cost of [`graph`] besides.

mod divide;
mod gather;
mod graph;
mod local;
mod pointees;
mod split;

use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
use phalanx_ir::{InstId, Opcode, TypeKind, Value, flow::node_of};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub(super) use self::gather::is_slot;
use self::gather::{Component, Gather, is_object};
pub(crate) use self::graph::InQuestion;
pub(crate) use self::local::{Gone, Part};
pub(crate) use self::pointees::Pointees;
pub(crate) use self::split::SplitBlock;
use super::objects::parameter_of;
use super::scan::Scan;
use super::{Effect, Passed, PrivateMemory, number};
use crate::code::{Code, Environment, value_type};
use crate::memory::{
    by_inst::{InstNumbers, InstSet},
    origins::Origins,
    ssa::Frontiers,
};
use crate::policy::PRIVATE_STEPS;

/// Private memory as the rules of divergence read it: computed from scratch, or updated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PrivateView<'a> {
    Whole(&'a PrivateMemory),
    Updated(&'a PrivateMemoryUpdater),
}

impl<'a> PrivateView<'a> {
    /// See [`PrivateMemory::is_load`].
    #[inline]
    pub(crate) fn is_load(self, inst: InstId) -> bool {
        match self {
            PrivateView::Whole(memory) => memory.is_load(inst),
            PrivateView::Updated(memory) => memory.is_load(inst),
        }
    }

    /// See [`Origins::is_shared`].
    pub(crate) fn is_shared(self, address: Value) -> bool {
        match self {
            PrivateView::Whole(memory) => memory.origins.is_shared(address),
            PrivateView::Updated(memory) => memory.origins.is_shared(address),
        }
    }

    /// See [`Origins::is_passed`].
    pub(crate) fn is_passed(self, address: Value) -> bool {
        match self {
            PrivateView::Whole(memory) => memory.origins.is_passed(address),
            PrivateView::Updated(memory) => memory.origins.is_passed(address),
        }
    }

    /// See [`PrivateMemory::passed`].
    pub(crate) fn passed(self, call: InstId) -> &'a [Passed] {
        match self {
            PrivateView::Whole(memory) => memory.passed(call),
            PrivateView::Updated(memory) => memory.passed(call),
        }
    }
}

/// See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct PrivateMemoryUpdater {
    base: PrivateMemory,
    origins: Origins,
    /// Present if arguments point to objects.
    pointees: Option<Pointees>,
    /// The patch of each object.
    by_object: FxHashMap<InstId, u32>,
    /// The patch of each instruction.
    by_inst: InstNumbers,
    patches: Vec<Patch>,
    /// Numbers of patches that are empty.
    free: Vec<u32>,
    /// The patches that the last update made.
    last: Patches,
    /// Dominance frontiers, with the number of their graph.
    frontier: Option<(u64, DominanceFrontier)>,
    looks: Looks,
}

/// Statistics of the updates of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// The number of updates of affected objects only.
    pub in_part: u64,
    /// The number of objects that were scanned again in these updates.
    pub objects: u64,
    /// The number of computations from scratch.
    pub whole: u64,
}

/// Numbers of patches.
pub(crate) type Patches = SmallVec<[u32; 2]>;

/// The private memory of one component. Empty if the patch is free.
#[derive(Debug, Default)]
struct Patch {
    memory: PrivateMemory,
    objects: Vec<InstId>,
    /// The instructions that use the objects, sorted.
    insts: Vec<InstId>,
    /// A cached answer: whether loads and stores can be updated [one by one](local).
    is_plain: Option<bool>,
}

/// The graph of a function, and its number.
#[derive(Clone, Copy)]
pub(crate) struct Numbered<'a> {
    pub(crate) cfg: &'a Cfg,
    pub(crate) dom: &'a DomTree,
    pub(crate) number: u64,
}

/// What an update has changed.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Patches that were scanned again.
    pub(crate) patches: Patches,
    /// Changes within other patches.
    pub(crate) parts: Vec<Part>,
    /// Further instructions to examine: loads that began or ceased to read private memory, calls
    /// that are passed other addresses of it, and users of addresses that may be private now and
    /// could not before, or the other way round.
    pub(crate) others: Vec<InstId>,
}

impl PrivateMemoryUpdater {
    /// Starts from the private memory of a whole function.
    pub(crate) fn new(mut memory: PrivateMemory) -> Self {
        let origins = std::mem::take(&mut memory.origins);
        PrivateMemoryUpdater { base: memory, origins, ..PrivateMemoryUpdater::default() }
    }

    /// Starts from the result of [`PrivateMemory::with_pointees`].
    pub(crate) fn with_pointees(memory: PrivateMemory, pointees: Pointees) -> Self {
        PrivateMemoryUpdater { pointees: Some(pointees), ..PrivateMemoryUpdater::new(memory) }
    }

    /// The patch or base with the facts about an object.
    pub(crate) fn memory_of(&self, object: InstId) -> &PrivateMemory {
        let patch = self.by_object.get(&object).map(|&patch| &self.patches[patch as usize]);
        patch.map_or(&self.base, |patch| &patch.memory)
    }

    /// The components that the last update changed, with their private memory. Empty after a
    /// computation from scratch.
    pub(crate) fn found_again(&self) -> impl Iterator<Item = (&[InstId], &PrivateMemory)> {
        self.last.iter().map(|&last| self.patch(last))
    }

    /// The private memory of the whole function, if it has not been divided.
    pub(crate) fn whole(&self) -> Option<&PrivateMemory> {
        self.patches.is_empty().then_some(&self.base)
    }

    /// The objects of a patch, and their private memory.
    pub(crate) fn patch(&self, patch: u32) -> (&[InstId], &PrivateMemory) {
        let patch = &self.patches[patch as usize];
        (&patch.objects, &patch.memory)
    }

    /// The number of slots of objects that arguments point to. `None` if there are no such objects.
    pub(crate) fn pointee_slots(&self) -> Option<usize> {
        let is_followed = |memory: &PrivateMemory, is_told: &dyn Fn(InstId) -> bool| {
            let is_pointee = |object: InstId| parameter_of(object).is_some() && is_told(object);
            let slots = memory.slots.iter().filter(|slot| is_pointee(slot.alloca)).count();
            memory.objects.iter().any(|&object| is_pointee(object)).then_some(slots)
        };
        let of_base = is_followed(&self.base, &|object| !self.by_object.contains_key(&object));
        let of_patches = self.patches.iter().map(|patch| is_followed(&patch.memory, &|_| true));
        of_patches.chain([of_base]).flatten().reduce(|all, slots| all + slots)
    }

    /// Statistics of updates.
    pub(crate) fn looks(&self) -> Looks {
        self.looks
    }

    /// Whether there may be any object. Otherwise edits of the graph do not matter.
    pub(crate) fn has_slots(&self) -> bool {
        self.base.has_slots || self.pointees.is_some() || !self.by_object.is_empty()
    }

    fn patch_of(&self, inst: InstId) -> Option<&Patch> {
        self.by_inst.get(inst).map(|patch| &self.patches[patch as usize])
    }

    /// See [`PrivateMemory::is_load`].
    #[inline]
    pub(crate) fn is_load(&self, inst: InstId) -> bool {
        match self.patch_of(inst) {
            Some(patch) => patch.memory.is_load(inst),
            None => self.base.is_load(inst),
        }
    }

    /// See [`PrivateMemory::passed`].
    pub(crate) fn passed(&self, call: InstId) -> &[Passed] {
        match self.patch_of(call) {
            Some(patch) => patch.memory.passed(call),
            None => self.base.passed(call),
        }
    }

    /// Whether a load gave the address of an object.
    fn is_held(&self, load: InstId) -> bool {
        let memory = self.patch_of(load).map_or(&self.base, |patch| &patch.memory);
        memory.held(load).is_some()
    }

    /// Whether an instruction is in one of these patches.
    pub(crate) fn is_in(&self, patches: &[u32], inst: InstId) -> bool {
        self.by_inst.get(inst).is_some_and(|patch| patches.contains(&patch))
    }

    /// All loads from private memory, and calls that are passed addresses of it, in no order.
    fn readers(&self) -> impl Iterator<Item = InstId> + '_ {
        let of = |memory: &'_ PrivateMemory| {
            let loads = memory.touches.iter().filter(|touch| touch.effect == Effect::Load);
            let calls = memory.passed.iter().map(|passed| passed.call);
            loads.map(|touch| touch.inst).chain(calls).collect::<Vec<_>>()
        };
        let base = of(&self.base).into_iter().filter(|inst| self.by_inst.get(*inst).is_none());
        base.chain(self.patches.iter().flat_map(move |patch| of(&patch.memory)))
    }

    /// Replaces the state by one from scratch. Returns the instructions that a dependent analysis
    /// has to examine again, sorted.
    pub(crate) fn replace(&mut self, code: Code<'_>, new: PrivateMemoryUpdater) -> Vec<InstId> {
        let looks = Looks { whole: self.looks.whole + 1, ..self.looks };
        let new = PrivateMemoryUpdater { frontier: self.frontier.take(), looks, ..new };
        let old = std::mem::replace(self, new);
        let is_other = |inst: &InstId| {
            self.is_load(*inst) != old.is_load(*inst) || self.passed(*inst) != old.passed(*inst)
        };
        let readers = old.readers().chain(self.readers());
        let mut others: Vec<InstId> = readers.filter(is_other).collect();
        others.extend(self.origins.users_of_others(code, &old.origins));
        sort(&mut others);
        others
    }

    /// Updates the state after instructions were inserted, removed, moved or changed, and for what
    /// a change of the graph affects. `None` if the state has to be computed from scratch; then the
    /// facts are unchanged.
    pub(crate) fn update(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        graph: Numbered<'_>,
        (changed, besides): (&[InstId], &InQuestion),
    ) -> Option<Changed> {
        self.free_last();
        if besides.is_nothing() && changed.iter().all(|&inst| is_apart(code, inst)) {
            debug_assert!(changed.iter().all(|&inst| self.had_nothing(inst)));
            return Some(Changed::default());
        }
        self.divide();
        let changed: SmallVec<[InstId; 16]> =
            changed.iter().chain(&besides.insts).copied().collect();
        if self.pointees.as_ref().is_some_and(|of| of.has_other_returns(code, graph.dom, &changed))
        {
            return None;
        }
        let mut objects = besides.objects.clone();
        if let Some(pointees) = self.pointees.as_ref().filter(|_| besides.is_other_graph) {
            objects.extend(pointees.returned(&changed));
        }
        let turned = self.origins.update(code, env, &changed)?;
        let users = turned.all().flat_map(|other| code.body.uses_of(other.into()));
        let mut others: Vec<InstId> = users.map(|read| read.user).collect();
        if besides.is_nothing() && others.is_empty() {
            let mut touched = Patches::new();
            if let Some(parts) = self.locally((code, env), graph, &changed, &mut touched) {
                return Some(Changed { parts, ..Changed::default() });
            }
            objects.extend(touched.iter().flat_map(|&patch| &self.patches[patch as usize].objects));
        }
        // Facts about the content of an object may depend on the origin of another address.
        let affected = changed.iter().chain(&others).copied();
        let Some(patched) = self.patched_for(code, env, graph, (affected, &objects)) else {
            self.origins.turn(&turned);
            return None;
        };
        let (patches, readers) = patched;
        others.extend(readers);
        sort(&mut others);
        Some(Changed { patches, others, ..Changed::default() })
    }

    /// Whether an instruction used no object before.
    fn had_nothing(&self, inst: InstId) -> bool {
        let has = |(user, _): &(InstId, InstId)| *user == inst;
        self.by_inst.get(inst).is_none() && !self.base.users.iter().any(has)
    }

    /// Divides the base into patches, unless that is done.
    fn divide(&mut self) {
        if !self.patches.is_empty() || self.base.users.is_empty() && self.base.objects.is_empty() {
            return;
        }
        for (Component { objects, insts, .. }, memory) in divide::divided(&self.base) {
            let patch = self.patches.len() as u32;
            self.by_object.extend(objects.iter().map(|&object| (object, patch)));
            insts.iter().for_each(|&inst| self.by_inst.set(inst, patch));
            self.patches.push(Patch { memory, objects, insts, is_plain: None });
        }
        let PrivateMemory { has_slots, is_plain, .. } = self.base;
        self.base = PrivateMemory { has_slots, is_plain, ..PrivateMemory::default() };
    }

    /// Frees patches of the last update whose objects are all gone.
    fn free_last(&mut self) {
        for last in std::mem::take(&mut self.last) {
            let patch = &self.patches[last as usize];
            let is_known = |object: &InstId| self.by_object.contains_key(object);
            if !patch.objects.iter().any(is_known) {
                self.patches[last as usize] = Patch::default();
                self.free.push(last);
            }
        }
    }

    /// Scans the components of objects again: those that some instructions use or used, and
    /// `others`. Returns the new patches, and loads and calls whose facts have changed.
    fn patched_for(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        graph: Numbered<'_>,
        (mut affected, others): (impl Iterator<Item = InstId>, &[InstId]),
    ) -> Option<(Patches, Vec<InstId>)> {
        let mut gather = Gather::new(self, code);
        affected.try_for_each(|inst| gather.changed(inst))?;
        others.iter().for_each(|&object| gather.join(object));
        let found = gather.all()?;
        self.patched(code, env, graph, found)
    }

    /// Scans the components of objects again that some calls are passed, and those of some patches.
    /// Returns the new patches. `None` if the state has to be computed from scratch.
    pub(crate) fn with_calls(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        graph: Numbered<'_>,
        (patches, calls): (&[u32], &[InstId]),
    ) -> Option<Patches> {
        self.divide();
        let mut gather = Gather::new(self, code);
        for &call in calls {
            gather.changed(call)?;
        }
        for &object in patches.iter().flat_map(|&patch| &self.patches[patch as usize].objects) {
            gather.join(object);
        }
        let found = gather.all()?;
        Some(self.patched(code, env, graph, found)?.0)
    }

    /// Scans some components and replaces their patches. Returns the numbers of the new patches,
    /// and loads and calls whose facts have changed.
    fn patched(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        Numbered { cfg, dom, number }: Numbered<'_>,
        found: Vec<Component>,
    ) -> Option<(Patches, Vec<InstId>)> {
        if found.is_empty() {
            return Some(Default::default());
        }
        let insts: usize = found.iter().map(|component| component.insts.len()).sum();
        if insts > PRIVATE_STEPS.max(code.body.id_count() / 4) {
            return None;
        }
        let entry = code.flow.entry().map(node_of)?;
        let is_known = |(of, _): &(u64, DominanceFrontier)| *of == number;
        if !self.frontier.as_ref().is_some_and(is_known) {
            self.frontier = Some((number, DominanceFrontier::new(cfg, dom)));
        }
        let (_, frontier) = self.frontier.as_ref()?;
        let graph = Frontiers { cfg, dom, frontier: &|| frontier };
        let memories: Vec<PrivateMemory> =
            found.iter().map(|of| self.memory_of_one((code, env), (graph, entry), of)).collect();
        let mut others: Vec<InstId> = Vec::new();
        for (Component { insts, past, .. }, memory) in found.iter().zip(&memories) {
            let is_other = |inst: &InstId| {
                self.is_load(*inst) != memory.is_load(*inst)
                    || self.passed(*inst) != memory.passed(*inst)
            };
            others.extend(insts.iter().chain(past).copied().filter(is_other));
        }
        for object in found.iter().flat_map(|component| &component.objects) {
            self.looks.objects += 1;
            if let Some(old) = self.by_object.remove(object)
                && !self.free.contains(&old)
            {
                self.patches[old as usize] = Patch::default();
                self.free.push(old);
            }
        }
        let patches: Patches = (found.into_iter().zip(memories))
            .map(|(component, memory)| self.put(code, component, memory))
            .collect();
        self.last.clone_from(&patches);
        self.looks.in_part += 1;
        Some((patches, others))
    }

    /// Computes the private memory of one component.
    fn memory_of_one(
        &self,
        (code, env): (Code<'_>, Environment<'_>),
        (graph, entry): (Frontiers<'_>, Node),
        of: &Component,
    ) -> PrivateMemory {
        let body = code.body;
        let others: Vec<InstId> =
            of.insts.iter().copied().filter(|&inst| !is_slot(code, inst)).collect();
        let (pointees, slots): (Vec<InstId>, Vec<InstId>) =
            { of.objects.iter().copied().filter(|&object| is_object(code, object)) }
                .partition(|&object| parameter_of(object).is_some());
        let mut visited = others.clone();
        if let (Some(of), false) = (&self.pointees, pointees.is_empty()) {
            visited.extend(of.returns());
            sort(&mut visited);
        }
        let visited = in_order(code, graph.dom, &visited);
        let mut scan = Scan::of_some(code, env, (&slots, &pointees), &visited);
        for &slot in &slots {
            scan.visit(slot, entry, true);
        }
        for &inst in &visited {
            if let Some(block) = body.block_of(inst).map(node_of) {
                scan.visit(inst, block, block == entry);
            }
        }
        scan.finish_some(graph, &others)
    }

    /// Adds a patch for a component, and returns its number.
    fn put(&mut self, code: Code<'_>, component: Component, memory: PrivateMemory) -> u32 {
        let Component { objects, insts, past } = component;
        let patch = self.free.pop().unwrap_or(self.patches.len() as u32);
        let there = objects.iter().filter(|&&object| is_object(code, object));
        self.by_object.extend(there.map(|&object| (object, patch)));
        past.iter().for_each(|&inst| self.by_inst.remove(inst));
        insts.iter().for_each(|&inst| self.by_inst.set(inst, patch));
        if patch as usize == self.patches.len() {
            self.patches.push(Patch::default());
        }
        self.patches[patch as usize] = Patch { memory, objects, insts, is_plain: None };
        patch
    }
}

/// Whether an instruction computes with numbers alone, never with addresses, and is in a block.
/// This also holds for its past, since the type of an instruction and the types of its operands
/// never change. Most edited instructions are of this kind.
fn is_apart(code: Code<'_>, inst: InstId) -> bool {
    let (body, data) = (code.body, code.body.inst(inst));
    let is_of_numbers = |ty| match code.context.type_kind(ty) {
        TypeKind::Vector { elem, .. } => code.context.type_kind(*elem).number_bits().is_some(),
        kind => kind.number_bits().is_some(),
    };
    let is_number = match data.opcode {
        Opcode::PtrToInt | Opcode::IntToPtr | Opcode::AddrSpaceCast | Opcode::BitCast => false,
        Opcode::FCmp | Opcode::FNeg => true,
        Opcode::Phi | Opcode::Select | Opcode::Freeze => is_of_numbers(data.ty),
        Opcode::ICmp => value_type(code, body.operands(inst)[0]).is_some_and(is_of_numbers),
        opcode => opcode.is_binary() || opcode.is_cast(),
    };
    is_number && body.block_of(inst).is_some()
}

fn sort(insts: &mut Vec<InstId>) {
    insts.sort_unstable_by_key(|inst| number(*inst));
    insts.dedup();
}

/// Sorts instructions into the order of a scan of the whole function. Leaves out unreachable ones.
pub(super) fn in_order(code: Code<'_>, dom: &DomTree, insts: &[InstId]) -> Vec<InstId> {
    let body = code.body;
    let mut placed: Vec<(u32, InstId)> = Vec::with_capacity(insts.len());
    for &inst in insts {
        let node = body.block_of(inst).map(node_of);
        placed.extend(node.and_then(|node| dom.tin(node)).map(|at| (at, inst)));
    }
    placed.sort_unstable_by_key(|&(at, inst)| (at, number(inst)));
    let mut ordered = Vec::with_capacity(placed.len());
    let mut all = InstSet::default();
    placed.iter().for_each(|&(_, inst)| all.insert(inst));
    for group in placed.chunk_by(|a, b| a.0 == b.0) {
        if let [(_, inst)] = group {
            ordered.push(*inst);
            continue;
        }
        let block = group.first().and_then(|(_, inst)| body.block_of(*inst));
        let insts = block.into_iter().flat_map(|block| body.block_insts(block));
        ordered.extend(insts.filter(|inst| all.contains(*inst)).take(group.len()));
    }
    ordered
}
