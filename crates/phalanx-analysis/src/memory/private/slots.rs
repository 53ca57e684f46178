//! Slots: the parts of an object that no scalar access crosses. Step 2 of [`super`].

use phalanx_graph::BitSet;

use super::accesses::{Access, Object};
use super::touch::{Effect, Slot};
use crate::memory::ssa::EventKind;

/// The slots of each object: a range of the list, sorted by their first byte.
pub(super) struct Divided {
    /// By object.
    slots: Vec<(u32, u32)>,
}

impl Divided {
    /// The slots that an access touches.
    pub(super) fn touched(&self, slots: &[Slot], access: &Access) -> std::ops::Range<u32> {
        let (first, end) = self.slots[access.object as usize];
        let Some((at, last)) = access.range else { return first..end };
        let of_object = &slots[first as usize..end as usize];
        if of_object.iter().any(|slot| slot.range.is_none()) {
            return first..end;
        }
        let from = of_object.partition_point(|slot| slot.range.is_some_and(|(_, end)| end <= at));
        let to = of_object.partition_point(|slot| slot.range.is_some_and(|(at, _)| at < last));
        first + from as u32..first + to as u32
    }
}

/// Divides objects into slots.
pub(super) fn divide(objects: &[Object], accesses: &[Access], slots: &mut Vec<Slot>) -> Divided {
    let mut of_object: Vec<(u32, (i64, i64))> = Vec::with_capacity(objects.len());
    let mut is_whole = BitSet::new(objects.len());
    let mut is_touched = BitSet::new(objects.len());
    // Most objects are accessed with one range only.
    let mut last = vec![(0, 0); objects.len()];
    for access in accesses {
        is_touched.insert(access.object as usize);
        match access.range {
            // A callee that may access any byte touches all slots, but does not join them.
            None if access.is_wide
                && matches!(
                    access.effect,
                    Effect::Read
                        | Effect::Clobber
                        | Effect::ReadByCall
                        | Effect::WriteByCall
                        | Effect::Return
                ) => {}
            None => {
                is_whole.insert(access.object as usize);
            }
            Some(range) if !access.is_wide => {
                if std::mem::replace(&mut last[access.object as usize], range) != range {
                    of_object.push((access.object, range));
                }
            }
            Some(_) => {}
        }
    }
    of_object.sort_unstable();
    // Unions of ranges that overlap.
    of_object.dedup();
    let mut merged: Vec<(u32, (i64, i64))> = Vec::with_capacity(of_object.len());
    for (object, (at, end)) in of_object {
        match merged.last_mut() {
            Some((last, range)) if *last == object && at < range.1 => range.1 = range.1.max(end),
            _ => merged.push((object, (at, end))),
        }
    }
    if accesses.iter().any(|access| access.is_wide && access.range.is_some()) {
        merged.extend(gaps(&merged, accesses));
        merged.sort_unstable();
    }
    let mut ranges = vec![(0, 0); objects.len()];
    slots.reserve(merged.len().max(objects.len()));
    let mut next = 0;
    for (number, object) in objects.iter().enumerate() {
        let first = slots.len() as u32;
        let own = merged[next..].iter().take_while(|(of, _)| *of as usize == number).count();
        let own = &merged[next..next + own];
        next += own.len();
        if is_whole.contains(number) || own.is_empty() && is_touched.contains(number) {
            slots.push(Slot { alloca: object.alloca, range: None });
        } else {
            slots.extend(
                own.iter().map(|(_, range)| Slot { alloca: object.alloca, range: Some(*range) }),
            );
        }
        ranges[number] = (first, slots.len() as u32);
    }
    Divided { slots: ranges }
}

/// The byte ranges between slots that only wide accesses touch, sorted by object and first byte.
fn gaps(slots: &[(u32, (i64, i64))], accesses: &[Access]) -> Vec<(u32, (i64, i64))> {
    let mut wide: Vec<(u32, (i64, i64))> = accesses
        .iter()
        .filter(|access| access.is_wide)
        .filter_map(|access| Some((access.object, access.range?)))
        .collect();
    wide.sort_unstable();
    let mut merged: Vec<(u32, (i64, i64))> = Vec::new();
    for (object, (at, end)) in wide {
        match merged.last_mut() {
            Some((last, range)) if *last == object && at <= range.1 => range.1 = range.1.max(end),
            _ => merged.push((object, (at, end))),
        }
    }
    let mut found = Vec::new();
    for (object, (mut at, end)) in merged {
        let from = slots.partition_point(|&(of, (_, last))| (of, last) <= (object, at));
        for &(of, (first, last)) in &slots[from..] {
            if of != object || first >= end {
                break;
            }
            if at < first {
                found.push((object, (at, first)));
            }
            at = at.max(last);
        }
        if at < end {
            found.push((object, (at, end)));
        }
    }
    found
}

/// Whether an access may change the content of a slot.
pub(super) fn writes(effect: Effect) -> bool {
    matches!(
        effect,
        Effect::Store | Effect::Fill | Effect::CopyTo | Effect::Clobber | Effect::WriteByCall
    )
}

/// The kind of event that an access is for a slot.
pub(super) fn event_kind(access: &Access, slot: &Slot) -> EventKind {
    if !writes(access.effect) {
        return EventKind::Use;
    }
    match (access.range, slot.range) {
        (Some((at, end)), Some((first, last)))
            if access.is_full && access.is_fixed && at <= first && last <= end =>
        {
            EventKind::MustDef
        }
        _ => EventKind::MayDef,
    }
}
