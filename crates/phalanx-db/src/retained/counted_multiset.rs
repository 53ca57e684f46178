//! Counted multisets of contributions, for answers that depend on *which* contributions the
//! instructions of a function make, but not on which instruction makes them or how often: unions,
//! existence.
//!
//! Each contribution is counted, so that an instruction that changes takes its old one out again: a
//! union that is only known as a whole cannot be made smaller. There are few different
//! contributions as a rule.
//!
//! O(instructions) from scratch, O(1) for each changed instruction, O(different contributions) to
//! read.

use std::hash::Hash;

use phalanx_analysis::lower::Code;
use phalanx_ir::InstId;
use rustc_hash::FxHashMap;

use super::place::number;

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct CountedMultiset<V> {
    /// By instruction: the number of what it contributes, from one on; nothing is zero.
    of: Vec<u32>,
    numbers: FxHashMap<V, u32>,
    /// By number: what is contributed, and by how many instructions.
    all: Vec<(V, u32)>,
}

impl<V> Default for CountedMultiset<V> {
    fn default() -> Self {
        CountedMultiset { of: Vec::new(), numbers: FxHashMap::default(), all: Vec::new() }
    }
}

impl<V: Copy + Eq + Hash> CountedMultiset<V> {
    /// Of all instructions that stand in a block.
    pub(crate) fn new(code: Code<'_>, mut of: impl FnMut(InstId) -> Option<V>) -> Self {
        let mut counted_multiset =
            CountedMultiset { of: vec![0; code.body.id_count()], ..CountedMultiset::default() };
        for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
            let found = of(inst);
            counted_multiset.put(inst, found);
        }
        counted_multiset
    }

    /// Looks at some instructions again. Whether there is a contribution that there was not, or one
    /// less.
    pub(crate) fn look_again(
        &mut self,
        code: Code<'_>,
        insts: &[InstId],
        mut of: impl FnMut(InstId) -> Option<V>,
    ) -> bool {
        self.of.resize(code.body.id_count(), 0);
        let mut is_other = false;
        for &inst in insts {
            let found = code.body.block_of(inst).and_then(|_| of(inst));
            is_other |= self.put(inst, found);
        }
        is_other
    }

    /// What is contributed, each once, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = V> + '_ {
        self.all.iter().filter(|(_, count)| *count > 0).map(|(value, _)| *value)
    }

    fn put(&mut self, inst: InstId, found: Option<V>) -> bool {
        let new = found.map_or(0, |value| {
            let next = self.all.len() as u32 + 1;
            let number = *self.numbers.entry(value).or_insert(next);
            if number == next {
                self.all.push((value, 0));
            }
            number
        });
        let old = std::mem::replace(&mut self.of[number(inst)], new);
        if old == new {
            return false;
        }
        let mut is_other = false;
        if let Some((_, count)) = self.count(new) {
            is_other |= *count == 0;
            *count += 1;
        }
        if let Some((_, count)) = self.count(old) {
            *count -= 1;
            is_other |= *count == 0;
        }
        is_other
    }

    fn count(&mut self, number: u32) -> Option<&mut (V, u32)> {
        self.all.get_mut((number as usize).checked_sub(1)?)
    }
}
