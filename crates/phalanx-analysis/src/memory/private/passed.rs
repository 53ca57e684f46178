//! Effects of callees on slots.

use super::accesses::Access;
use super::slots::Divided;
use super::touch::{Effect, Slot};
use crate::memory::ssa::EventKind;

/// The effects of a call on slots, from the accesses of that call: all reads first, at most one
/// read and one write per slot. The write must define a slot if the parts that the callee certainly
/// writes cover all of it.
pub(super) fn calls_of(
    accesses: &[Access],
    slots: &[Slot],
    divided: &Divided,
) -> Vec<(u32, Effect, EventKind)> {
    let mut found = Vec::new();
    if !accesses.iter().any(|access| access.effect.is_by_call()) {
        return found;
    }
    let touched = |effect: Effect| {
        let of = accesses.iter().filter(|access| access.effect == effect);
        let mut all: Vec<(u32, u32)> = of
            .flat_map(|access| divided.touched(slots, access).map(|slot| (slot, access.object)))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    for (slot, _) in touched(Effect::ReadByCall) {
        found.push((slot, Effect::ReadByCall, EventKind::Use));
    }
    for (slot, object) in touched(Effect::WriteByCall) {
        let certain = accesses.iter().filter(|access| {
            access.effect == Effect::WriteByCall && access.is_full && access.object == object
        });
        let kind = match is_covered(slots[slot as usize].range, certain) {
            true => EventKind::MustDef,
            false => EventKind::MayDef,
        };
        found.push((slot, Effect::WriteByCall, kind));
    }
    found
}

fn is_covered<'a>(slot: Option<(i64, i64)>, certain: impl Iterator<Item = &'a Access>) -> bool {
    let Some((mut at, end)) = slot else { return false };
    let mut ranges: Vec<(i64, i64)> = certain.filter_map(|access| access.range).collect();
    ranges.sort_unstable();
    for (first, last) in ranges {
        if first <= at {
            at = at.max(last);
        }
    }
    at >= end
}
