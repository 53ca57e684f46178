//! Incremental update of a patch when plain loads and stores are inserted, removed or changed.
//!
//! # What
//!
//! Most edits of stack accesses change a load or a store. They do not change which objects are
//! private, how these are divided into slots, and which objects are connected. So the update needs
//! no new scan: it removes the touch from the patch or inserts it, and renames the versions of its
//! slots. A [`Part`] lists the instructions and phis whose facts have changed.
//!
//! ```text
//! store i32 %a, ptr %x
//! store i32 %b, ptr %x   ; inserted: the load below reads it, and nothing else changes
//! %l = load i32, ptr %x
//! ```
//!
//! # When
//!
//! This update applies if the graph is the same, and each changed instruction is one of
//!
//! - an instruction that uses no object, and used none before;
//! - an address without uses;
//! - a load or store of an existing slot, neither volatile nor atomic, such that an unchanged load
//!   or store accesses all of that slot as well;
//! - a load without uses from a slot that [holds](super::super::holders) an address.
//!
//! Besides, every store of an address of an object in the component is to an alloca that holds one
//! address. If one of these conditions fails, the component is scanned again.
//!
//! **Complexity.** O(touches of the affected slots) to rename and compare; O(touches of the
//! component) to renumber; steps of the addresses; instructions of the block up to the next touch.

use phalanx_graph::{DomTree, DominanceFrontier, Node};
use phalanx_ir::{InstId, Opcode, TypeKind, Value, flow::node_of};
use rustc_hash::FxHashMap;

use super::{Numbered, Patch, Patches, PrivateMemoryUpdater, gather::is_slot, is_apart};
use crate::code::{Code, Environment, value_type};
use crate::memory::{
    private::{
        PrivateMemory,
        accesses::{Access, Reach},
        holders::{HeldAddress, Holder, slot_of},
        objects::{STEPS, is_address, number, parameter_of, pointee_of},
        scan::Scan,
        slots::event_kind,
        touch::{Effect, Slot, Touch},
    },
    ssa::{Event, EventKind, Frontiers, LEFT_OUT, Part as Form, Ssa, Version},
};

/// Changes within a patch.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) patch: u32,
    /// Instructions with new touches, and instructions reached by other versions.
    pub(crate) insts: Vec<InstId>,
    /// Numbers of phis that are new or have other incoming versions.
    pub(crate) phis: Vec<u32>,
    /// Removed touches and phis, with their slots.
    pub(crate) gone: Vec<(Slot, Gone)>,
}

/// A removed touch or phi.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gone {
    Touch(InstId),
    Phi(Node),
}

/// The base of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    /// No object.
    Other,
    Slot(InstId),
    /// Not determined.
    Unknown,
}

/// Bounds for the search for an address in the block of its access: `NEAR` instructions up from the
/// access, `FAR` instructions from the start of the block.
const NEAR: usize = 64;
const FAR: usize = 1024;

/// The number of other accesses that are examined to see that a slot stays the same.
const OTHERS: usize = 8;

impl PrivateMemoryUpdater {
    /// Updates patches after changes of instructions. `None` if such an update is not enough; then
    /// the components in the patches in `touched` have to be scanned again.
    pub(super) fn locally(
        &mut self,
        (code, env): (Code<'_>, Environment<'_>),
        Numbered { cfg, dom, number }: Numbered<'_>,
        changed: &[InstId],
        touched: &mut Patches,
    ) -> Option<Vec<Part>> {
        let mut edits: Vec<TouchEdits> = Vec::new();
        for &inst in changed.iter().filter(|&&inst| !is_apart(code, inst)) {
            let old = self.by_inst.get(inst);
            let now = self.accessed(code, inst, changed)?;
            for patch in [old, now].into_iter().flatten() {
                if !self.is_plain(code, patch, changed) {
                    return None;
                }
                if !touched.contains(&patch) {
                    touched.push(patch);
                    edits.push(TouchEdits::new(patch, &self.patches[patch as usize].memory));
                }
            }
            let edit = |edits: &mut [TouchEdits], patch: u32| {
                edits.iter().position(|edits| edits.patch == patch)
            };
            if let Some(patch) = old {
                let at = edit(&mut edits, patch)?;
                let memory = &mut self.patches[patch as usize].memory;
                edits[at].take_out((code, env), memory, inst, changed)?;
                self.leave(inst, patch);
            }
            if let Some(patch) = now {
                let is_known = |value: Value| self.known(value).is_some();
                if !is_address(code.body, inst) && !is_met_in_order(code, dom, inst, is_known) {
                    return None;
                }
                let at = edit(&mut edits, patch)?;
                let memory = &mut self.patches[patch as usize].memory;
                edits[at].put_in((code, env, dom), memory, inst, changed)?;
                self.enter(inst, patch);
            }
        }
        if edits.is_empty() {
            return Some(Vec::new());
        }
        let is_known = |(of, _): &(u64, DominanceFrontier)| *of == number;
        if !self.frontier.as_ref().is_some_and(is_known) {
            self.frontier = Some((number, DominanceFrontier::new(cfg, dom)));
        }
        let (_, frontier) = self.frontier.as_ref()?;
        let graph = Frontiers { cfg, dom, frontier: &|| frontier };
        let patches = &mut self.patches;
        let parts = edits.into_iter().map(|edits| {
            let patch = edits.patch as usize;
            edits.named(code, graph, &mut patches[patch].memory)
        });
        let parts = parts.collect::<Option<Vec<Part>>>()?;
        let of_arguments = |patch: &u32| {
            let objects = &self.patches[*patch as usize].objects;
            objects.iter().any(|&object| parameter_of(object).is_some())
        };
        self.last = touched.iter().copied().filter(of_arguments).collect();
        self.looks.in_part += 1;
        Some(parts)
    }

    /// The patch of the object that an instruction uses: `Some(None)` if it uses none. `None` if
    /// this update cannot handle the use.
    pub(super) fn accessed(
        &self,
        code: Code<'_>,
        inst: InstId,
        changed: &[InstId],
    ) -> Option<Option<u32>> {
        let body = code.body;
        let data = body.inst(inst);
        if data.opcode == Opcode::Alloca {
            return None;
        }
        let is_unused = || body.uses_of(inst.into()).next().is_none();
        // If an address of an object changes, the addresses computed from it change as well.
        let was_address =
            self.is_held(inst) || is_address(body, inst) && self.by_inst.get(inst).is_some();
        if was_address && !is_unused() {
            return None;
        }
        if body.block_of(inst).is_none() {
            let is_known = matches!(data.opcode, Opcode::Load | Opcode::Store)
                || is_address(body, inst) && is_unused();
            return (is_known || self.by_inst.get(inst).is_none()).then_some(None);
        }
        let mut found = None;
        for (position, &operand) in body.operands(inst).iter().enumerate() {
            let slot = match self.root(code, operand, changed) {
                Root::Other => continue,
                Root::Slot(slot) => slot,
                Root::Unknown => return None,
            };
            let is_understood = match (data.opcode, position, self.holder(slot).is_some()) {
                // The load gives an address.
                (Opcode::Load, 0, true) => {
                    is_unused() && operand.as_inst().and_then(|at| slot_of(body, at)) == Some(slot)
                }
                (Opcode::Load, 0, false) | (Opcode::Store, 1, false) => true,
                (_, 0, false) => {
                    is_address(body, inst)
                        && is_unused()
                        && matches!(code.context.type_kind(data.ty), TypeKind::Ptr(_))
                }
                _ => false,
            };
            if !is_understood {
                return None;
            }
            found = Some(slot);
        }
        match found {
            None => Some(None),
            Some(slot) => self.by_object.get(&slot).map(|&patch| Some(patch)),
        }
    }

    /// The address that an alloca holds, if it holds one.
    fn holder(&self, slot: InstId) -> Option<Holder> {
        self.memory_of(slot).holder(slot)
    }

    /// The address of an object that a value gives: a load from a holder, or an argument.
    fn known(&self, value: Value) -> Option<HeldAddress> {
        match value.as_inst() {
            Some(load) => self.patch_of(load)?.memory.held_address(load),
            None => {
                let position = value.as_arg()?;
                let is_object = self.pointees.as_ref()?.is_object(position);
                is_object.then_some(HeldAddress { object: pointee_of(position), offset: Some(0) })
            }
        }
    }

    /// Finds the base of an address.
    fn root(&self, code: Code<'_>, address: Value, changed: &[InstId]) -> Root {
        let body = code.body;
        let mut at = address;
        for _ in 0..STEPS {
            if let Some(known) = self.known(at) {
                return match at.as_inst().is_some_and(|load| changed.contains(&load)) {
                    true => Root::Unknown,
                    false => Root::Slot(known.object),
                };
            }
            let Some(inst) = at.as_inst() else { return Root::Other };
            match body.inst(inst).opcode {
                Opcode::Alloca if is_slot(code, inst) => return Root::Slot(inst),
                _ if is_address(body, inst) => match body.operands(inst).first() {
                    Some(&first) if body.inst(inst).opcode != Opcode::Alloca => at = first,
                    _ => return Root::Other,
                },
                _ => return Root::Other,
            }
        }
        Root::Unknown
    }

    /// Whether loads and stores of a patch can be updated one by one: every store of an address is
    /// to an alloca that holds one address.
    fn is_plain(&mut self, code: Code<'_>, patch: u32, changed: &[InstId]) -> bool {
        if let Some(known) = self.patches[patch as usize].is_plain {
            return known;
        }
        let body = code.body;
        let Patch { memory, insts, .. } = &self.patches[patch as usize];
        let mut stores = insts.iter().filter(|&&inst| body.inst(inst).opcode == Opcode::Store);
        let is_plain = stores.all(|&store| {
            let operands = body.operands(store);
            let holder = || {
                let slot = operands[1].as_inst().and_then(|to| slot_of(body, to))?;
                memory.holder(slot).filter(|holder| holder.store == store)
            };
            self.root(code, operands[0], changed) == Root::Other || holder().is_some()
        });
        self.patches[patch as usize].is_plain = Some(is_plain);
        is_plain
    }

    /// Removes an instruction from a patch.
    fn leave(&mut self, inst: InstId, patch: u32) {
        let of = &mut self.patches[patch as usize];
        if let Ok(at) = of.insts.binary_search_by_key(&number(inst), |inst| number(*inst)) {
            of.insts.remove(at);
        }
        self.by_inst.remove(inst);
    }

    /// Adds an instruction to a patch.
    fn enter(&mut self, inst: InstId, patch: u32) {
        self.by_inst.set(inst, patch);
        let insts = &mut self.patches[patch as usize].insts;
        if let Err(at) = insts.binary_search_by_key(&number(inst), |inst| number(*inst)) {
            insts.insert(at, inst);
        }
    }
}

/// Removals and insertions of touches in a patch.
struct TouchEdits {
    patch: u32,
    /// By new number of a touch: its old number, or `LEFT_OUT` if it is new.
    before: Vec<u32>,
    /// Kinds of events, by touch.
    kinds: Vec<EventKind>,
    /// Slots with inserted or removed touches.
    slots: Vec<u32>,
    gone: Vec<(Slot, Gone)>,
}

impl TouchEdits {
    fn new(patch: u32, memory: &PrivateMemory) -> Self {
        let count = memory.touches.len() as u32;
        let kinds = (0..count).map(|event| memory.events.event(event).kind).collect();
        let before = (0..count).collect();
        TouchEdits { patch, before, kinds, slots: Vec::new(), gone: Vec::new() }
    }

    /// Removes the touch of an instruction. `None` if the removal may change more than that.
    fn take_out(
        &mut self,
        env: (Code<'_>, Environment<'_>),
        memory: &mut PrivateMemory,
        inst: InstId,
        changed: &[InstId],
    ) -> Option<()> {
        let Some(at) = memory.first.get(inst) else {
            // It computed an address and touched nothing.
            return is_address(env.0.body, inst).then_some(());
        };
        let [touch] = *memory.of(inst) else { return None };
        // A store of an address uses two objects.
        let of = memory.users.partition_point(|(user, _)| number(*user) < number(inst));
        if memory.users.get(of + 1).is_some_and(|(user, _)| *user == inst) {
            return None;
        }
        let is_load = touch.effect == Effect::Load;
        let is_of_holder = memory.holder(memory.object(&touch)).is_some();
        if !is_load && (touch.effect != Effect::Store || is_of_holder)
            || !is_kept(env, memory, touch.slot, (inst, changed))
        {
            return None;
        }
        memory.held.retain(|(load, _)| *load != inst);
        memory.first.remove(inst);
        memory.first.shift(at, -1);
        memory.touches.remove(at as usize);
        self.before.remove(at as usize);
        self.kinds.remove(at as usize);
        self.slots.push(touch.slot);
        self.gone.push((memory.slots[touch.slot as usize], Gone::Touch(inst)));
        Some(())
    }

    /// Inserts the touch of an instruction, if it has one. `None` if the insertion may change more
    /// than that.
    fn put_in(
        &mut self,
        (code, env, dom): (Code<'_>, Environment<'_>, &DomTree),
        memory: &mut PrivateMemory,
        inst: InstId,
        changed: &[InstId],
    ) -> Option<()> {
        if is_address(code.body, inst) {
            return Some(());
        }
        let env = (code, env);
        let (object, access) = access_of(env, memory, inst)?;
        if access.is_wide
            || !matches!(access.effect, Effect::Load | Effect::Store)
            || !memory.is_object(object)
        {
            return None;
        }
        let holds = |slot: &Slot| match (slot.range, access.range) {
            (None, _) => true,
            (Some((first, end)), Some((at, last))) => first <= at && last <= end,
            (Some(_), None) => false,
        };
        let slot = memory.slots.iter().position(|slot| slot.alloca == object && holds(slot))?;
        // An access of a part of the slot does not divide it only if an unchanged access covers all
        // of it.
        if access.range != memory.slots[slot].range
            && !is_kept(env, memory, slot as u32, (inst, changed))
        {
            return None;
        }
        if let Some(holder) = memory.holder(object) {
            memory.hold(code, dom, (inst, holder), changed)?;
        }
        let at = place_of(code, memory, inst);
        memory.first.shift(at, 1);
        memory.first.set(inst, at);
        let touch = Touch {
            inst,
            slot: slot as u32,
            effect: access.effect,
            event: at,
            is_at_variable_offset: !access.is_fixed,
            at: access.range.map(|(at, _)| at),
            access: 0,
        };
        memory.touches.insert(at as usize, touch);
        self.slots.push(slot as u32);
        self.before.insert(at as usize, LEFT_OUT);
        self.kinds.insert(at as usize, event_kind(&access, &memory.slots[slot]));
        Some(())
    }

    /// Renames the versions of the changed slots, and compares them with the old ones.
    fn named(
        self,
        code: Code<'_>,
        graph: Frontiers<'_>,
        memory: &mut PrivateMemory,
    ) -> Option<Part> {
        let TouchEdits { patch, before, kinds, mut slots, gone } = self;
        slots.sort_unstable();
        slots.dedup();
        let count = memory.touches.len() as u32;
        // New numbers of events: of unchanged slots, which keep their versions, and of renamed
        // ones.
        let mut others = vec![LEFT_OUT; memory.events.len()];
        let (mut own, mut again) = (Vec::new(), Vec::new());
        for (number, touch) in (0..).zip(&mut memory.touches) {
            touch.event = number;
            let Some(slot) = slots.iter().position(|slot| *slot == touch.slot) else {
                *others.get_mut(before[number as usize] as usize)? = number;
                continue;
            };
            let block = node_of(code.body.block_of(touch.inst)?);
            let kind = kinds[number as usize];
            again.push((block, Event { variable: slot as u32, kind }));
            own.push(number);
        }
        memory.touch_of = (0..count).collect();
        let mut named = Ssa::sparse(graph, &again, slots.len() as u32);
        named.1.forget_replaced(&named.0);
        let keep = |slot: u32| if slots.contains(&slot) { LEFT_OUT } else { slot };
        let kept: Vec<u32> = (0..memory.slots.len() as u32).map(keep).collect();
        let forms = [
            Form { events: &memory.events, ssa: &memory.ssa, event: &others, variable: &kept },
            Form { events: &named.0, ssa: &named.1, event: &own, variable: &slots },
        ];
        let (events, ssa) = Ssa::joined(vec![count], forms)?;
        let old = std::mem::replace(&mut memory.ssa, ssa);
        memory.events = events;
        let ssa = &memory.ssa;
        let mut part = Part { patch, gone, ..Part::default() };
        let place = |ssa: &Ssa, at: u32| {
            let phi = ssa.phis()[at as usize];
            (phi.block, phi.variable)
        };
        let old_phis = (0..old.phis().len() as u32).map(|at| (place(&old, at), at));
        let known: FxHashMap<(Node, u32), u32> =
            old_phis.filter(|((_, slot), _)| slots.contains(slot)).collect();
        let is_same = |version: Version, of: Version| match (version, of) {
            (Version::Entry, Version::Entry) => true,
            (Version::Def(now), Version::Def(old)) => before[now as usize] == old,
            (Version::Phi(now), Version::Phi(at)) => place(ssa, now) == place(&old, at),
            _ => false,
        };
        for &number in &own {
            let (touch, was) = (&memory.touches[number as usize], before[number as usize]);
            let now = ssa.reaching(touch.event);
            if was == LEFT_OUT || !is_same(now, old.reaching(was)) {
                part.insts.push(touch.inst);
            }
        }
        part.insts.dedup();
        let mut kept = 0;
        let phis = (0..).zip(ssa.phis()).filter(|(_, phi)| slots.contains(&phi.variable));
        for (at, phi) in phis {
            let was = known.get(&(phi.block, phi.variable));
            kept += usize::from(was.is_some());
            let is_as_before = was.is_some_and(|&was| {
                let (now, old) = (ssa.incoming(phi), old.incoming(&old.phis()[was as usize]));
                now.len() == old.len()
                    && now.iter().zip(old).all(|(now, old)| now.0 == old.0 && is_same(now.1, old.1))
            });
            if !is_as_before {
                part.phis.push(at);
            }
        }
        if kept < known.len() {
            let is_there = |place: &(Node, u32)| {
                ssa.phis_of(place.0).any(|at| ssa.phis()[at].variable == place.1)
            };
            let gone = known.keys().filter(|place| !is_there(place));
            let gone = gone.map(|&(block, slot)| (memory.slots[slot as usize], Gone::Phi(block)));
            part.gone.extend(gone);
        }
        Some(part)
    }
}

impl PrivateMemory {
    /// Treats a new load as the address that its alloca holds. `None` if the alloca may no longer
    /// hold one address.
    fn hold(
        &mut self,
        code: Code<'_>,
        dom: &DomTree,
        (load, holder): (InstId, Holder),
        changed: &[InstId],
    ) -> Option<()> {
        let body = code.body;
        let stored = value_type(code, body.operands(holder.store)[0])?;
        let is_held = body.inst(load).ty == stored
            && !changed.contains(&holder.store)
            && is_before(code, dom, holder.store, load);
        let place = self.held.binary_search_by_key(&number(load), |(load, _)| number(*load));
        self.held.insert(place.err().filter(|_| is_held)?, (load, holder.held));
        Some(())
    }

    /// The address of an object that a value gives: a load from a holder, or an argument.
    fn known(&self, value: Value) -> Option<HeldAddress> {
        match value.as_inst() {
            Some(load) => self.held_address(load),
            None => {
                let object = pointee_of(value.as_arg()?);
                self.is_object(object).then_some(HeldAddress { object, offset: Some(0) })
            }
        }
    }
}

/// The access of a load or store, with its object.
fn access_of(
    (code, env): (Code<'_>, Environment<'_>),
    memory: &PrivateMemory,
    inst: InstId,
) -> Option<(InstId, Access)> {
    let body = code.body;
    let position = match body.inst(inst).opcode {
        Opcode::Load => 0,
        Opcode::Store => 1,
        _ => return None,
    };
    let block = node_of(body.block_of(inst)?);
    let reach = Reach { follows_calls: true, ..Reach::default() };
    let mut scan = Scan::of_one(code, env, reach);
    let operand = (position, body.operands(inst)[position]);
    let is_understood = scan.look_at(inst, block, operand, |value| memory.known(value));
    let access = *scan.accesses().first().filter(|_| is_understood)?;
    Some((scan.alloca(&access), access))
}

/// Whether a load or store is reachable, and a scan of the whole function meets the steps of its
/// address before it, as in all valid code. `is_known` says which values, besides allocas, are
/// addresses of objects.
fn is_met_in_order(
    code: Code<'_>,
    dom: &DomTree,
    inst: InstId,
    is_known: impl Fn(Value) -> bool,
) -> bool {
    let body = code.body;
    let position = usize::from(body.inst(inst).opcode == Opcode::Store);
    let mut at = inst;
    let mut next = body.operands(inst).get(position).copied();
    for _ in 0..=STEPS {
        let Some(address) = next else { break };
        let Some(step) = address.as_inst() else {
            let block = body.block_of(at).map(node_of);
            return is_known(address) && block.is_some_and(|block| dom.is_reachable(block));
        };
        if !is_before(code, dom, step, at) {
            return false;
        }
        if body.inst(step).opcode == Opcode::Alloca || is_known(address) {
            return true;
        }
        (at, next) = (step, body.operands(step).first().copied());
    }
    false
}

/// Whether a scan meets one instruction before another. May return false if the two are far apart
/// in one block.
fn is_before(code: Code<'_>, dom: &DomTree, first: InstId, inst: InstId) -> bool {
    let body = code.body;
    let (Some(from), Some(block)) = (body.block_of(first), body.block_of(inst)) else {
        return false;
    };
    if from != block {
        let place = |block| dom.tin(node_of(block));
        return place(from).is_some_and(|from| place(block).is_some_and(|at| from < at));
    }
    let mut above = std::iter::successors(body.prev(inst), |&at| body.prev(at)).take(NEAR);
    // A far address is usually an alloca, or a cast of one, at the start of the function.
    let mut from_start = body.block_insts(block).take(FAR).take_while(|&at| at != inst);
    dom.is_reachable(node_of(block))
        && (above.any(|at| at == first) || from_start.any(|at| at == first))
}

/// Whether a slot stays the same without one of its accesses. That holds if an unchanged access
/// covers all of it. If the slot is the whole object because of accesses at unknown offsets, an
/// unchanged access at an unknown offset must remain.
fn is_kept(
    env: (Code<'_>, Environment<'_>),
    memory: &PrivateMemory,
    slot: u32,
    (inst, changed): (InstId, &[InstId]),
) -> bool {
    let range = memory.slots[slot as usize].range;
    let is_scalar = |touch: &&Touch| {
        touch.slot == slot
            && touch.inst != inst
            && matches!(touch.effect, Effect::Load | Effect::Store)
            && touch.at == range.map(|(first, _)| first)
            && !changed.contains(&touch.inst)
    };
    let mut others = memory.touches.iter().filter(is_scalar).take(OTHERS);
    others.any(|touch| {
        let access = access_of(env, memory, touch.inst);
        access.is_some_and(|(_, access)| {
            access.range == range && (range.is_none() || !access.is_wide)
        })
    })
}

/// The position for the touch of an instruction: behind the touches above it in its block,
/// otherwise before those below it, otherwise at the end.
fn place_of(code: Code<'_>, memory: &PrivateMemory, inst: InstId) -> u32 {
    let body = code.body;
    let mut above = std::iter::successors(body.prev(inst), |&at| body.prev(at));
    if let Some((at, inst)) = above.find_map(|at| Some((memory.first.get(at)?, at))) {
        return at + memory.of(inst).len() as u32;
    }
    let mut below = std::iter::successors(body.next(inst), |&at| body.next(at));
    let next = below.find_map(|at| memory.first.get(at));
    next.unwrap_or(memory.touches.len() as u32)
}
