//! A table of one number per instruction, dense or sparse.

use phalanx_ir::InstId;
use rustc_hash::FxHashMap;

use super::objects::number;
use crate::memory::by_inst::trim;

/// Numbers by instruction: a vector of all instructions, or a map of those with a number.
#[derive(Clone, Debug)]
pub(in crate::memory::private) enum Entries {
    All(Vec<u32>),
    Some(FxHashMap<InstId, u32>),
}

impl Default for Entries {
    fn default() -> Self {
        Entries::All(Vec::new())
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Entries::All(entries), Entries::All(others)) => entries == others,
            (Entries::Some(entries), Entries::Some(others)) => entries == others,
            _ => false,
        }
    }
}

impl Entries {
    #[inline]
    pub(in crate::memory::private) fn get(&self, inst: InstId) -> Option<u32> {
        match self {
            Entries::All(entries) => entries.get(number(inst) as usize)?.checked_sub(1),
            Entries::Some(entries) => entries.get(&inst).copied(),
        }
    }

    /// Sets an entry. Does nothing in a dense table that is too short.
    pub(in crate::memory::private) fn set(&mut self, inst: InstId, entry: u32) {
        match self {
            Entries::All(entries) => {
                if let Some(at) = entries.get_mut(number(inst) as usize) {
                    *at = entry + 1;
                }
            }
            Entries::Some(entries) => _ = entries.insert(inst, entry),
        }
    }

    /// Removes an entry.
    pub(in crate::memory::private) fn remove(&mut self, inst: InstId) {
        match self {
            Entries::All(entries) => {
                if let Some(at) = entries.get_mut(number(inst) as usize) {
                    *at = 0;
                }
            }
            Entries::Some(entries) => _ = entries.remove(&inst),
        }
    }

    /// Adds `by` to all entries that are at least `from`.
    pub(in crate::memory::private) fn shift(&mut self, from: u32, by: i32) {
        let shift = |entry: &mut u32, from: u32| {
            if *entry >= from {
                *entry = entry.wrapping_add_signed(by);
            }
        };
        match self {
            Entries::All(entries) => entries.iter_mut().for_each(|at| shift(at, from + 1)),
            Entries::Some(entries) => entries.values_mut().for_each(|at| shift(at, from)),
        }
    }

    /// Drops empty entries at the end.
    pub(in crate::memory::private) fn trim(&mut self) {
        if let Entries::All(entries) = self {
            trim(entries);
        }
    }
}
