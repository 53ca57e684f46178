//! Plain loads and stores that come, go or change in a component that a patch tells of.
//!
//! # What
//!
//! Most edits of what is done with stack slots are of a load or a store. They leave it as it is
//! which objects are private, how these are divided into slots, and who hangs together with whom.
//! So nothing is gathered and scanned again: the touch is taken out of the patch or put into it,
//! versions of the component are named again, and a [`Part`] tells of which instructions and phis
//! something else is known.
//!
//! # When
//!
//! The graph is the same, and each changed instruction is one of
//!
//! - one that has to do with no object, and had not;
//! - an address that nobody uses;
//! - a load or store at one place in an object, neither volatile nor atomic. The place is in a slot
//!   that is there, and others access all of the slot as well.
//!
//! In the component no address is stored, and none is of what an argument points to. Else the
//! component is looked at as a whole.
//!
//! **Complexity.** O(touches of the component), which are moved, named again and compared; steps of
//! the addresses; instructions of the block up to the next touch.

use phalanx_graph::{DomTree, DominanceFrontier, Node};
use phalanx_ir::{InstId, Opcode, TypeKind, Value, flow::node_of};
use rustc_hash::FxHashMap;

use super::{Numbered, Patches, SlotFollower, gather::is_slot, is_apart};
use crate::code::{Code, Surroundings};
use crate::memory::{
    private::{
        PrivateMemory,
        accesses::{Access, Reach},
        objects::{STEPS, is_address, number, parameter_of},
        scan::Scan,
        slots::event_kind,
        touch::{Effect, Slot, Touch},
    },
    ssa::{Event, EventKind, Frontiers, LEFT_OUT, Ssa, Version},
};

/// Of what in a patch something else is known.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) patch: u32,
    /// Instructions that touch something, or that other versions reach.
    pub(crate) insts: Vec<InstId>,
    /// Numbers of phis that are new, or in which other versions meet.
    pub(crate) phis: Vec<u32>,
    /// Touches that are gone, and phis: the slot, and the instruction or block.
    pub(crate) gone: Vec<(Slot, Gone)>,
}

/// What is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gone {
    Touch(InstId),
    Phi(Node),
}

/// What an address is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    /// Nothing that is private.
    Other,
    Slot(InstId),
    /// It is not looked into.
    Unknown,
}

/// How far above an access the address that it goes to is looked for, and how far below the start
/// of its block.
const NEAR: usize = 64;
const FAR: usize = 1024;

/// How many other accesses of a slot are looked at to see that it stays what it is.
const OTHERS: usize = 8;

impl SlotFollower {
    /// Brings patches up to date with changed instructions. None if that is not enough; then
    /// components in these patches are to be looked at as a whole.
    pub(super) fn locally(
        &mut self,
        (code, around): (Code<'_>, Surroundings<'_>),
        Numbered { cfg, dom, number }: Numbered<'_>,
        changed: &[InstId],
        touched: &mut Patches,
    ) -> Option<Vec<Part>> {
        let mut edits: Vec<TouchEdits> = Vec::new();
        for &inst in changed.iter().filter(|&&inst| !is_apart(code, inst)) {
            let old = self.by_inst.get(&inst).copied();
            if old.is_none() && self.base.objects_of(inst).next().is_some() {
                return None;
            }
            let now = self.accessed(code, inst)?;
            for patch in [old, now].into_iter().flatten() {
                if !self.patches[patch as usize].is_plain {
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
                edits[at].take_out((code, around), memory, inst, changed)?;
                self.leave(code, inst, patch);
            }
            if let Some(patch) = now {
                if !is_address(code.body, inst) && !is_met_in_order(code, dom, inst) {
                    return None;
                }
                let at = edit(&mut edits, patch)?;
                let memory = &mut self.patches[patch as usize].memory;
                edits[at].put_in((code, around), memory, inst, changed)?;
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
        self.looks.in_part += 1;
        Some(parts)
    }

    /// The patch of the object that an instruction has an address of, if it has one. None if it is
    /// not looked into what the instruction does with that.
    fn accessed(&self, code: Code<'_>, inst: InstId) -> Option<Option<u32>> {
        let body = code.body;
        let data = body.inst(inst);
        if data.opcode == Opcode::Alloca {
            return None;
        }
        let is_unused = || body.uses_of(inst.into()).next().is_none();
        if body.block_of(inst).is_none() {
            let is_known = matches!(data.opcode, Opcode::Load | Opcode::Store)
                || is_address(body, inst) && is_unused();
            return (is_known || !self.by_inst.contains_key(&inst)).then_some(None);
        }
        let mut found = None;
        for (position, &operand) in body.operands(inst).iter().enumerate() {
            match (self.root(code, operand), data.opcode, position) {
                (Root::Other, ..) => {}
                (Root::Slot(slot), Opcode::Load, 0) | (Root::Slot(slot), Opcode::Store, 1) => {
                    found = Some(slot);
                }
                (Root::Slot(slot), _, 0)
                    if is_address(body, inst)
                        && is_unused()
                        && matches!(code.context.type_kind(data.ty), TypeKind::Ptr(_)) =>
                {
                    found = Some(slot);
                }
                _ => return None,
            }
        }
        match found {
            None => Some(None),
            Some(slot) => self.by_object.get(&slot).map(|&patch| Some(patch)),
        }
    }

    /// What an address is made from.
    fn root(&self, code: Code<'_>, address: Value) -> Root {
        let body = code.body;
        let mut at = address;
        for _ in 0..STEPS {
            let Some(inst) = at.as_inst() else {
                let is_pointee = || {
                    let of = self.pointees.as_ref()?;
                    at.as_arg().filter(|&position| of.is_object(position))
                };
                return if is_pointee().is_some() { Root::Unknown } else { Root::Other };
            };
            match body.inst(inst).opcode {
                Opcode::Alloca if is_slot(code, inst) => return Root::Slot(inst),
                Opcode::Load if self.is_held(inst) => return Root::Unknown,
                _ if is_address(body, inst) => match body.operands(inst).first() {
                    Some(&first) if body.inst(inst).opcode != Opcode::Alloca => at = first,
                    _ => return Root::Other,
                },
                _ => return Root::Other,
            }
        }
        Root::Unknown
    }

    /// Whether loads and stores of a component can be looked at one by one: no address is stored,
    /// and none is of what an argument points to.
    pub(super) fn is_plain(&self, code: Code<'_>, objects: &[InstId], insts: &[InstId]) -> bool {
        let body = code.body;
        let stores = insts.iter().filter(|&&inst| body.inst(inst).opcode == Opcode::Store);
        let mut stored = stores.map(|&store| body.operands(store)[0]);
        objects.iter().all(|&object| parameter_of(object).is_none())
            && stored.all(|value| self.root(code, value) == Root::Other)
    }

    /// Notes that an instruction has nothing to do with a patch any more.
    fn leave(&mut self, code: Code<'_>, inst: InstId, patch: u32) {
        let of = &mut self.patches[patch as usize];
        if let Ok(at) = of.insts.binary_search_by_key(&number(inst), |inst| number(*inst)) {
            of.insts.remove(at);
        }
        let is_asked = code.body.block_of(inst).is_some();
        match is_asked && self.base.objects_of(inst).next().is_some() {
            true => of.past.push(inst),
            false => _ = self.by_inst.remove(&inst),
        }
    }

    /// Notes that an instruction has to do with a patch.
    fn enter(&mut self, inst: InstId, patch: u32) {
        self.by_inst.insert(inst, patch);
        let insts = &mut self.patches[patch as usize].insts;
        if let Err(at) = insts.binary_search_by_key(&number(inst), |inst| number(*inst)) {
            insts.insert(at, inst);
        }
    }
}

/// Touches of a patch that are taken out and put in.
struct TouchEdits {
    patch: u32,
    /// By touch as it is: its number as it was, if it was there.
    before: Vec<u32>,
    /// Kinds of events, by touch.
    kinds: Vec<EventKind>,
    gone: Vec<(Slot, Gone)>,
}

impl TouchEdits {
    fn new(patch: u32, memory: &PrivateMemory) -> Self {
        let count = memory.touches.len() as u32;
        let kinds = (0..count).map(|event| memory.events.event(event).kind).collect();
        TouchEdits { patch, before: (0..count).collect(), kinds, gone: Vec::new() }
    }

    /// Takes out the touch of an instruction. None if more may be otherwise then.
    fn take_out(
        &mut self,
        around: (Code<'_>, Surroundings<'_>),
        memory: &mut PrivateMemory,
        inst: InstId,
        changed: &[InstId],
    ) -> Option<()> {
        let Some(at) = memory.first.get(inst) else {
            // It had an address, and did nothing with it.
            return is_address(around.0.body, inst).then_some(());
        };
        let [touch] = *memory.of(inst) else { return None };
        if !matches!(touch.effect, Effect::Load | Effect::Store)
            || !is_kept(around, memory, touch.slot, (inst, changed))
        {
            return None;
        }
        memory.first.remove(inst);
        memory.first.shift(at, -1);
        memory.touches.remove(at as usize);
        self.before.remove(at as usize);
        self.kinds.remove(at as usize);
        self.gone.push((memory.slots[touch.slot as usize], Gone::Touch(inst)));
        Some(())
    }

    /// Puts in the touch of an instruction, if it touches anything. None if more may be otherwise
    /// then.
    fn put_in(
        &mut self,
        around: (Code<'_>, Surroundings<'_>),
        memory: &mut PrivateMemory,
        inst: InstId,
        changed: &[InstId],
    ) -> Option<()> {
        let body = around.0.body;
        if is_address(body, inst) {
            return Some(());
        }
        let (object, access) = access_of(around, inst)?;
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
        // What is accessed as a whole alone would be divided.
        if access.range != memory.slots[slot].range
            && !is_kept(around, memory, slot as u32, (inst, changed))
        {
            return None;
        }
        let at = place_of(around.0, memory, inst);
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
        self.before.insert(at as usize, LEFT_OUT);
        self.kinds.insert(at as usize, event_kind(&access, &memory.slots[slot]));
        Some(())
    }

    /// Names the versions again, and compares them with those that there were.
    fn named(
        self,
        code: Code<'_>,
        graph: Frontiers<'_>,
        memory: &mut PrivateMemory,
    ) -> Option<Part> {
        let TouchEdits { patch, before, kinds, gone } = self;
        let mut by_block: Vec<(Node, Event)> = Vec::with_capacity(kinds.len());
        for (touch, kind) in memory.touches.iter_mut().zip(kinds) {
            touch.event = by_block.len() as u32;
            let block = node_of(code.body.block_of(touch.inst)?);
            by_block.push((block, Event { variable: touch.slot, kind }));
        }
        memory.touch_of = (0..memory.touches.len() as u32).collect();
        let (events, ssa) = Ssa::sparse(graph, &by_block, memory.slots.len() as u32);
        let old = std::mem::replace(&mut memory.ssa, ssa);
        memory.events = events;
        let ssa = &memory.ssa;
        let mut part = Part { patch, gone, ..Part::default() };
        let place = |ssa: &Ssa, at: u32| {
            let phi = ssa.phis()[at as usize];
            (phi.block, phi.variable)
        };
        let known: FxHashMap<(Node, u32), u32> =
            (0..old.phis().len() as u32).map(|at| (place(&old, at), at)).collect();
        let is_same = |version: Version, of: Version| match (version, of) {
            (Version::Entry, Version::Entry) => true,
            (Version::Def(now), Version::Def(old)) => before[now as usize] == old,
            (Version::Phi(now), Version::Phi(at)) => place(ssa, now) == place(&old, at),
            _ => false,
        };
        for (touch, &was) in memory.touches.iter().zip(&before) {
            let now = ssa.reaching(touch.event);
            if was == LEFT_OUT || !is_same(now, old.reaching(was)) {
                part.insts.push(touch.inst);
            }
        }
        part.insts.dedup();
        let mut kept = 0;
        for (at, phi) in (0..).zip(ssa.phis()) {
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
        if kept < old.phis().len() {
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

/// What a load or store does with the object of its address.
fn access_of(
    (code, around): (Code<'_>, Surroundings<'_>),
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
    let mut scan = Scan::of_one(code, around, reach);
    let is_understood = scan.look_at(inst, block, position, body.operands(inst)[position]);
    let access = *scan.accesses().first().filter(|_| is_understood)?;
    Some((scan.alloca(&access), access))
}

/// Whether a load or store can be reached, and a scan of the whole function meets what its address
/// is made from before it: in code that no rule is broken in it does.
fn is_met_in_order(code: Code<'_>, dom: &DomTree, inst: InstId) -> bool {
    let body = code.body;
    let position = usize::from(body.inst(inst).opcode == Opcode::Store);
    let mut at = inst;
    let mut next = body.operands(inst).get(position).and_then(|address| address.as_inst());
    for _ in 0..=STEPS {
        let Some(step) = next else { break };
        if !is_before(code, dom, step, at) {
            return false;
        }
        if body.inst(step).opcode == Opcode::Alloca {
            return true;
        }
        (at, next) = (step, body.operands(step).first().and_then(|first| first.as_inst()));
    }
    false
}

/// Whether an instruction is met before another one, as far as a look at a part of their block
/// tells.
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
    // What is far away is a slot, or a cast of one, at the start of the function.
    let mut from_start = body.block_insts(block).take(FAR).take_while(|&at| at != inst);
    dom.is_reachable(node_of(block))
        && (above.any(|at| at == first) || from_start.any(|at| at == first))
}

/// Whether a slot is what it is without one of its accesses: another one, which has not changed, is
/// of all of it, or at an unknown place if that is why the object is one slot.
fn is_kept(
    around: (Code<'_>, Surroundings<'_>),
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
        let access = access_of(around, touch.inst);
        access.is_some_and(|(_, access)| {
            access.range == range && (range.is_none() || !access.is_wide)
        })
    })
}

/// Where the touch of an instruction belongs: behind those before it in its block, else before
/// those behind it, else at the end.
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
