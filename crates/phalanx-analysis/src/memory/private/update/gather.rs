//! Finds components of objects, and the instructions that use them.
//!
//! # How
//!
//! The search starts from the objects that a changed instruction uses or used. It visits all uses
//! of their addresses and of addresses computed from these. An instruction that uses two objects
//! joins them. An alloca that holds the address of an object ([`holders`](super::super::holders))
//! is joined with that object: the search also visits the uses of addresses loaded from an alloca
//! in which the address of an object is stored, or was.
//!
//! An instruction that depends on a changed address may have used another object before. It is
//! recorded as *past*, and the objects that it used are joined: how it uses them may depend on the
//! address.
//!
//! If arguments point to objects, these are treated like allocas.
//!
//! The search gives up after a bounded number of uses and steps. O(uses + steps).

use phalanx_ir::{InstId, Opcode, TypeKind, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{PrivateMemoryUpdater, sort};
use crate::code::Code;
use crate::memory::private::{
    holders::slot_of, is_address, is_trackable, number, parameter_of, pointee_of,
};
use crate::policy::PRIVATE_STEPS;

/// Whether an instruction is an alloca that can be an object.
pub(in crate::memory::private) fn is_slot(code: Code<'_>, inst: InstId) -> bool {
    let body = code.body;
    body.inst(inst).opcode == Opcode::Alloca
        && is_trackable(body, inst)
        && body.block_of(inst).is_some_and(|block| Some(block) == code.flow.entry())
}

/// Whether a number is that of an object. All arguments count as objects here.
pub(super) fn is_object(code: Code<'_>, object: InstId) -> bool {
    parameter_of(object).is_some() || is_slot(code, object)
}

/// A component of objects, the instructions that use it (including unreachable ones), and those
/// that used it before. Sorted.
#[derive(Debug, Default)]
pub(super) struct Component {
    pub(super) objects: Vec<InstId>,
    pub(super) insts: Vec<InstId>,
    pub(super) past: Vec<InstId>,
}

/// The search for components and their users.
pub(super) struct Gather<'a> {
    known: &'a PrivateMemoryUpdater,
    code: Code<'a>,
    objects: FxHashSet<InstId>,
    /// Objects whose uses have not been visited.
    work: Vec<InstId>,
    /// Pairs of objects that one instruction uses.
    together: Vec<(InstId, InstId)>,
    /// Patches that were visited.
    patches: FxHashSet<u32>,
    /// Instructions that use objects, each with one of its objects.
    insts: FxHashMap<InstId, InstId>,
    /// Instructions that used objects before, and may still.
    past: FxHashSet<InstId>,
    /// The remaining budget of uses and steps.
    left: usize,
}

impl<'a> Gather<'a> {
    pub(super) fn new(known: &'a PrivateMemoryUpdater, code: Code<'a>) -> Self {
        Gather {
            known,
            code,
            objects: FxHashSet::default(),
            work: Vec::new(),
            together: Vec::new(),
            patches: FxHashSet::default(),
            insts: FxHashMap::default(),
            past: FxHashSet::default(),
            left: PRIVATE_STEPS.max(code.body.id_count() / 2),
        }
    }

    fn step(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    pub(super) fn join(&mut self, object: InstId) {
        if self.objects.insert(object) {
            self.work.push(object);
        }
    }

    /// Adds the objects of a patch that still exist. Returns whether there are any.
    fn join_patch(&mut self, number: u32) -> bool {
        let (code, patch) = (self.code, &self.known.patches[number as usize]);
        let mut there = patch.objects.iter().copied().filter(|&object| is_object(code, object));
        let Some(first) = there.next() else { return false };
        // A patch may have many objects, and the search may meet it once for each of them and each
        // of their users.
        if self.patches.insert(number) {
            self.join(first);
            there.for_each(|object| self.join(object));
        }
        true
    }

    /// The object that an argument points to, if there is one.
    fn pointee(&self, address: Value) -> Option<InstId> {
        let pointees = self.known.pointees.as_ref()?;
        address.as_arg().filter(|&at| pointees.is_object(at)).map(pointee_of)
    }

    /// Adds the objects that a changed instruction uses or used. `None` if the budget was exceeded,
    /// as in the functions below.
    pub(super) fn changed(&mut self, inst: InstId) -> Option<()> {
        let body = self.code.body;
        let mut is_affected = self.had(inst);
        if body.inst(inst).opcode == Opcode::Alloca {
            self.join(inst);
            is_affected = true;
        }
        if body.block_of(inst).is_some() {
            for &operand in body.operands(inst) {
                if let Some(object) = self.object(operand)? {
                    self.join(object);
                    is_affected = true;
                }
            }
        }
        if is_affected {
            self.past.insert(inst);
            self.below(inst)?;
        }
        Some(())
    }

    /// Adds the objects that an instruction used before. Returns whether there are any.
    fn had(&mut self, inst: InstId) -> bool {
        self.known.by_inst.get(inst).is_some_and(|patch| self.join_patch(patch))
    }

    /// The object from which an address is computed. For a loaded address, the alloca that it is
    /// loaded from.
    fn object(&mut self, address: Value) -> Option<Option<InstId>> {
        let body = self.code.body;
        let Some(mut at) = address.as_inst() else { return Some(self.pointee(address)) };
        loop {
            self.step()?;
            if body.inst(at).opcode == Opcode::Alloca {
                return Some(Some(at).filter(|&slot| is_slot(self.code, slot)));
            }
            let Some(&first) = body.operands(at).first() else { return Some(None) };
            let Some(from) = first.as_inst() else {
                return Some(self.pointee(first).filter(|_| is_address(body, at)));
            };
            if self.is_loaded(at) {
                return Some(slot_of(body, from).filter(|&slot| is_slot(self.code, slot)));
            }
            if !is_address(body, at) {
                return Some(None);
            }
            at = from;
        }
    }

    /// Whether an instruction loads an address.
    fn is_loaded(&self, inst: InstId) -> bool {
        let data = self.code.body.inst(inst);
        let is_pointer = || matches!(self.code.context.type_kind(data.ty), TypeKind::Ptr(_));
        data.opcode == Opcode::Load && is_pointer()
    }

    /// Records all users of addresses that depend on a changed one. They may have used the former
    /// object of that address, and how they use other objects may depend on it.
    fn below(&mut self, inst: InstId) -> Option<()> {
        let body = self.code.body;
        let mut work = vec![inst];
        let mut seen: FxHashSet<InstId> = work.iter().copied().collect();
        while let Some(at) = work.pop() {
            if !is_address(body, at) && !self.is_loaded(at) {
                continue;
            }
            for read in body.uses_of(at.into()) {
                self.step()?;
                self.past.insert(read.user);
                self.had(read.user);
                if seen.insert(read.user) {
                    work.push(read.user);
                }
            }
        }
        Some(())
    }

    /// The components of all added objects, in the order of their first objects. An instruction
    /// that used objects of several components before the edit is listed with the first one.
    pub(super) fn all(mut self) -> Option<Vec<Component>> {
        while let Some(object) = self.work.pop() {
            if let Some(&number) = self.known.by_object.get(&object)
                && !self.join_patch(number)
                && self.patches.insert(number)
            {
                let patch = &self.known.patches[number as usize];
                // Instructions that use other objects now are in another patch.
                let is_own = |inst: &InstId| self.known.by_inst.get(*inst) == Some(number);
                self.past.extend(patch.insts.iter().copied().filter(is_own));
            }
            if is_object(self.code, object) {
                self.uses(object)?;
            }
        }
        let mut objects: Vec<InstId> = self.objects.into_iter().collect();
        sort(&mut objects);
        let (group, count) = groups(&objects, &self.together);
        let mut found: Vec<Component> = (0..count).map(|_| Component::default()).collect();
        let group_of = |object: InstId| {
            let at = objects.binary_search_by_key(&number(object), |object| number(*object));
            at.ok().map(|at| group[at])
        };
        for (&object, &group) in objects.iter().zip(&group) {
            found[group].objects.push(object);
        }
        for (&inst, &object) in &self.insts {
            found[group_of(object)?].insts.push(inst);
        }
        if let Some(first) = found.first_mut() {
            let past = self.past.into_iter().filter(|inst| !self.insts.contains_key(inst));
            first.past.extend(past);
            sort(&mut first.past);
        }
        found.iter_mut().for_each(|component| sort(&mut component.insts));
        Some(found)
    }

    /// Visits all uses of an object, and of addresses computed from it.
    fn uses(&mut self, object: InstId) -> Option<()> {
        let body = self.code.body;
        let address = parameter_of(object).map_or_else(|| object.into(), Value::arg);
        let mut work: Vec<Value> = vec![address];
        // A load from here may give the address of another object, if one is stored here.
        let mut loaded: Vec<InstId> = Vec::new();
        let mut holds_address = false;
        while let Some(at) = work.pop() {
            for read in body.uses_of(at) {
                self.step()?;
                let user = read.user;
                if body.block_of(user).is_none() {
                    continue;
                }
                self.insts.insert(user, object);
                for &operand in body.operands(user) {
                    if let Some(other) = self.object(operand)?.filter(|other| *other != object) {
                        self.together.push((object, other));
                        self.join(other);
                    }
                }
                if read.index == 0 && is_address(body, user) {
                    work.push(user.into());
                } else if read.index == 0 && self.is_loaded(user) {
                    if at.as_inst().and_then(|at| slot_of(body, at)) == Some(object) {
                        loaded.push(user);
                    }
                } else if read.index == 1 && body.inst(user).opcode == Opcode::Store {
                    holds_address |= self.object(body.operands(user)[0])?.is_some();
                }
            }
            if work.is_empty() {
                let was_held = |load: &InstId| holds_address || self.known.is_held(*load);
                let held = std::mem::take(&mut loaded).into_iter().filter(was_held);
                work.extend(held.map(Value::from));
            }
        }
        Some(())
    }
}

/// The connected components of objects, given connected pairs: the group of each object, and the
/// number of groups. Groups are numbered in the order of their first objects.
pub(super) fn groups(objects: &[InstId], together: &[(InstId, InstId)]) -> (Vec<usize>, usize) {
    let at = |object: InstId| objects.binary_search_by_key(&number(object), |of| number(*of)).ok();
    // The first of each group is its own parent, and parents come before children.
    let mut parent: Vec<usize> = (0..objects.len()).collect();
    fn first(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for &(a, b) in together {
        let (Some(a), Some(b)) = (at(a), at(b)) else { continue };
        let (a, b) = (first(&mut parent, a), first(&mut parent, b));
        parent[a.max(b)] = a.min(b);
    }
    let mut group: Vec<usize> = Vec::with_capacity(objects.len());
    let mut count = 0;
    for at in 0..objects.len() {
        let first = first(&mut parent, at);
        let known = group.get(first).copied();
        group.push(known.unwrap_or_else(|| {
            count += 1;
            count - 1
        }));
    }
    (group, count)
}
