//! Divides the private memory of a whole function into its components.
//!
//! # What
//!
//! From scratch, private memory is computed for all objects together, which is cheapest. An edit
//! usually affects one component only. So the first edit that may affect an object divides the
//! result: each component gets the slots, touches and versions of its objects, with numbers of its
//! own. Dividing needs no scan and no renaming.
//!
//! ```text
//! %x = alloca i32        ; one component: only loaded from and stored to
//! %y = alloca i32
//! %z = alloca i32
//! call @f(ptr %y, ptr %z); one component: an instruction has both addresses
//! ```
//!
//! **Complexity.** O(uses of addresses + touches + entries of memory phis).

use phalanx_ir::InstId;
use rustc_hash::FxHashMap;

use super::{
    gather::{Component, groups},
    sort,
};
use crate::memory::private::{PrivateMemory, Slot, Touch, entries::Entries};
use crate::memory::ssa::GroupNumber;

/// The components of private memory (with calls followed), each with its part of the facts.
pub(super) fn divided(whole: &PrivateMemory) -> Vec<(Component, PrivateMemory)> {
    let mut objects: Vec<InstId> = whole.users.iter().map(|&(_, object)| object).collect();
    objects.extend_from_slice(&whole.objects);
    sort(&mut objects);
    let together = whole.users.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let together: Vec<(InstId, InstId)> = together.map(|pair| (pair[0].1, pair[1].1)).collect();
    let (group, count) = groups(&objects, &together);
    let group: FxHashMap<InstId, u32> =
        objects.iter().copied().zip(group.iter().map(|&group| group as u32)).collect();
    let mut made: Vec<(Component, PrivateMemory)> = (0..count)
        .map(|_| {
            let first = Entries::Some(FxHashMap::default());
            let memory = PrivateMemory { has_slots: true, first, ..PrivateMemory::default() };
            (Component::default(), memory)
        })
        .collect();
    let at = |object: &InstId| group[object] as usize;
    for &object in &objects {
        made[at(&object)].0.objects.push(object);
    }
    for &object in &whole.objects {
        made[at(&object)].1.objects.push(object);
    }
    for &(user, object) in &whole.users {
        let (component, memory) = &mut made[at(&object)];
        if component.insts.last() != Some(&user) {
            component.insts.push(user);
        }
        memory.users.push((user, object));
    }
    for passed in &whole.passed {
        made[at(&passed.object)].1.passed.push(*passed);
    }
    // An object and an alloca that holds its address are in one component.
    for &(load, held) in &whole.held {
        made[at(&held.object)].1.held.push((load, held));
    }
    for &(slot, holder) in &whole.holders {
        made[at(&slot)].1.holders.push((slot, holder));
    }
    let slots = whole.slots.iter().map(|slot| {
        let group = group[&slot.alloca];
        let own: &mut Vec<Slot> = &mut made[group as usize].1.slots;
        own.push(*slot);
        GroupNumber { group, number: own.len() as u32 - 1 }
    });
    let slots: Vec<GroupNumber> = slots.collect();
    let mut events = vec![GroupNumber::default(); whole.touches.len()];
    for touch in &whole.touches {
        let place = slots[touch.slot as usize];
        let memory = &mut made[place.group as usize].1;
        let event = memory.touches.len() as u32;
        if memory.touches.last().is_none_or(|last| last.inst != touch.inst) {
            memory.first.set(touch.inst, event);
        }
        memory.touches.push(Touch { slot: place.number, event, ..*touch });
        memory.touch_of.push(event);
        events[touch.event as usize] = GroupNumber { group: place.group, number: event };
    }
    let forms = whole.ssa.divided(&whole.events, count, (&slots, &events));
    for ((_, memory), (events, ssa)) in made.iter_mut().zip(forms) {
        (memory.events, memory.ssa) = (events, ssa);
    }
    made
}
