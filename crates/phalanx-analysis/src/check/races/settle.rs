//! Addresses that can be only one place of their object.
//!
//! ```text
//! @tile = internal addrspace(3) global [256 x float] undef
//! %back = sub i32 %n, %tid                       ; n - 0, n - 1, ..., n - 255 in 256 threads
//! load float, ptr addrspace(3) tile[%back - 1]   ; all of @tile, or something outside of it
//! ```
//!
//! What is not known of an address is its base, which is one for all accesses with it. If these
//! reach as far apart as the object is long, and none of them is outside, then the base is settled:
//! the lowest of them is at the beginning of the object. A kernel in which it is not so is wrong
//! anyway.
//!
//! Only what the launch decides is settled: arguments, and which workgroup it is. A value that is
//! loaded may be another for each thread. What was settled once stays so between later barriers.
//!
//! O(accesses).

use rustc_hash::FxHashMap;

use super::{
    objects::Access,
    terms::{Base, Val},
    thread::Machine,
};

/// Bases that are settled: their object, and where in it they are.
#[derive(Default)]
pub(super) struct Settled {
    places: FxHashMap<Base, Val>,
}

impl Settled {
    /// Settles what can be, and says of accesses with such bases where they are.
    pub(super) fn settle(&mut self, machine: &mut Machine<'_, '_>, accesses: &mut [Access]) {
        // How far the accesses with a base reach.
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
