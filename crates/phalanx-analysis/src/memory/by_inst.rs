//! Tables indexed by instruction that do not depend on the number of instructions.
//!
//! Retained facts about memory stay valid while an edit adds instructions that do not touch memory.
//! They must equal the facts from scratch, which are computed over more instructions. So equality
//! ignores empty entries at the end: a set may end early, and a table ends with its last
//! non-default entry.

use phalanx_ir::InstId;

/// A set of instructions. Equality ignores the length of the tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstSet(Vec<u64>);

impl InstSet {
    pub(crate) fn insert(&mut self, inst: InstId) {
        let i = inst.into_raw().into_u32() as usize;
        if self.0.len() <= i / 64 {
            self.0.resize(i / 64 + 1, 0);
        }
        self.0[i / 64] |= 1 << (i % 64);
    }

    pub(crate) fn remove(&mut self, inst: InstId) {
        let i = inst.into_raw().into_u32() as usize;
        if let Some(word) = self.0.get_mut(i / 64) {
            *word &= !(1 << (i % 64));
        }
    }

    pub(crate) fn contains(&self, inst: InstId) -> bool {
        let i = inst.into_raw().into_u32() as usize;
        self.0.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 != 0)
    }
}

impl PartialEq for InstSet {
    fn eq(&self, other: &Self) -> bool {
        let common = self.0.len().min(other.0.len());
        let rest = self.0[common..].iter().chain(&other.0[common..]);
        self.0[..common] == other.0[..common] && rest.copied().all(|word| word == 0)
    }
}

impl Eq for InstSet {}

/// Maps some instructions to numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstNumbers(Vec<u32>);

impl InstNumbers {
    pub(crate) fn get(&self, inst: InstId) -> Option<u32> {
        self.0.get(inst.into_raw().into_u32() as usize)?.checked_sub(1)
    }

    pub(crate) fn set(&mut self, inst: InstId, to: u32) {
        let i = inst.into_raw().into_u32() as usize;
        if self.0.len() <= i {
            self.0.resize(i + 1, 0);
        }
        self.0[i] = to + 1;
    }

    pub(crate) fn remove(&mut self, inst: InstId) {
        if let Some(number) = self.0.get_mut(inst.into_raw().into_u32() as usize) {
            *number = 0;
        }
    }
}

/// Drops default entries at the end of a table.
pub(crate) fn trim<T: Default + PartialEq>(table: &mut Vec<T>) {
    let nothing = T::default();
    while table.last() == Some(&nothing) {
        table.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_table_does_not_count() {
        let inst = |number: u32| InstId::from_raw(number.into());
        let (mut one, mut other) = (InstSet::default(), InstSet::default());
        one.insert(inst(3));
        other.insert(inst(3));
        // As after an insertion that was taken back.
        other.0.resize(9, 0);
        assert_eq!(one, other);
        assert!(one.contains(inst(3)) && !one.contains(inst(4)) && !one.contains(inst(700)));
        other.insert(inst(700));
        assert_ne!(one, other);
        other.remove(inst(3));
        one.remove(inst(5000));
        one.remove(inst(3));
        one.insert(inst(700));
        assert_eq!(one, other);
        let mut table = vec![0, 2, 0, 0];
        trim(&mut table);
        assert_eq!(table, [0, 2]);
    }
}
