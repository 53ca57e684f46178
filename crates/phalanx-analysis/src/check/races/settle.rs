//! Finds addresses that can be only one place of their object.
//!
//! ```text
//! @tile = internal addrspace(3) global [256 x float] undef
//! %back = sub i32 %n, %tid                       ; n - 0, n - 1, ..., n - 255 in 256 threads
//! load float, ptr addrspace(3) tile[%back - 1]   ; all of @tile, or something outside of it
//! ```
//!
//! The unknown part of an address is its base, which is the same for all accesses with that base.
//! If these accesses span exactly as many bytes as the object has, and none of them is outside,
//! then the base is *settled*: the lowest access is at the beginning of the object. In a kernel
//! without that property some access is outside of the object, which is a fault by itself.
//!
//! Only bases that the launch decides are settled: arguments, and the number of the workgroup. A
//! loaded value may differ in each thread. A settled base stays settled between later barriers.
//!
//! O(accesses).

use rustc_hash::FxHashMap;

use super::{
    objects::Access,
    terms::{Base, Val},
    thread::Machine,
};

/// Settled bases, with their objects and their places in these.
#[derive(Default)]
pub(super) struct Settled {
    places: FxHashMap<Base, Val>,
}

impl Settled {
    /// Settles bases, and gives accesses with settled bases their known places.
    pub(super) fn settle(&mut self, machine: &mut Machine<'_, '_>, accesses: &mut [Access]) {
        // The range of bytes that the accesses with a base span.
        let mut reaches: FxHashMap<Base, (i64, i64)> = FxHashMap::default();
        for Access { at, size, .. } in accesses.iter() {
            if machine.root(at.base) == at.base || self.places.contains_key(&at.base) {
                continue;
            }
            let end = at.offset.saturating_add(i64::from(*size));
            let (low, high) = reaches.entry(at.base).or_insert((at.offset, end));
            (*low, *high) = ((*low).min(at.offset), (*high).max(end));
        }
        for (base, (low, high)) in reaches {
            let root = machine.root(base);
            let length = high.checked_sub(low).and_then(|length| u64::try_from(length).ok());
            let is_one = machine.terms.is_of_launch_behind(root, base);
            if is_one && length.is_some() && length == machine.extent(root) {
                self.places.insert(base, Val { base: root, offset: low.saturating_neg() });
            }
        }
        for access in accesses {
            let Some(place) = self.places.get(&access.at.base) else { continue };
            let offset = place.offset.saturating_add(access.at.offset);
            access.at = Val { base: place.base, offset };
        }
    }
}
