//! Rows of a part of a patch, of which the other rows are known.
//!
//! After a load or store came, went or changed in a [patch](crate::memory::PrivateMemoryUpdater),
//! most rows of the patch stay as they are. The rows of the part are made as all rows are. They may
//! read rows outside of the part, which are found by their keys.
//!
//! O(touches of the patch) for the keys, and O(part).

use super::{FullRules, Make, MemoryRows, Pointees, Read, RowKey, What, slot_key};
use crate::{
    code::Code,
    memory::{Gone, Part, PrivateMemory, private::Effect},
};

/// Rows of a part of a patch.
#[derive(Debug)]
pub(in crate::lower) struct PartRows {
    /// The keys of all rows of the patch.
    pub(super) keys: Vec<RowKey>,
    /// The rows of the part, with their numbers; and what loads read.
    pub(super) rows: MemoryRows,
    pub(super) numbers: Vec<u32>,
    pub(super) gone: Vec<RowKey>,
}

impl PartRows {
    /// The rows of a part of some private memory.
    pub(in crate::lower) fn new(
        code: Code<'_>,
        rules: &FullRules<'_>,
        memory: &PrivateMemory,
        part: &Part,
    ) -> Self {
        let mut make = Make::new(code, rules, memory, None);
        make.pointees = Pointees::new(memory, make.definitions);
        let mut keys = make.keys();
        let (mut rows, mut numbers) = (MemoryRows::default(), Vec::new());
        for &inst in &part.insts {
            for touch in memory.of(inst) {
                let row = make.row_of[touch.event as usize];
                if row != u32::MAX {
                    numbers.extend(make.definition(touch).map(|made| {
                        rows.rows.push(made);
                        row
                    }));
                }
                make.read(touch, &mut rows);
                if touch.effect == Effect::Return
                    && let Some(exit) = make.exit(touch)
                {
                    numbers.push(keys.len() as u32);
                    keys.push(exit.key);
                    rows.rows.push(exit);
                }
            }
        }
        for &at in &part.phis {
            make.phi(&memory.ssa().phis()[at as usize], &mut rows);
            numbers.push(make.definitions + at);
        }
        let gone = part.gone.iter().map(|(slot, gone)| match gone {
            Gone::Touch(inst) => RowKey { at: inst.into_raw().into_u32(), ..slot_key(slot) },
            Gone::Phi(block) => RowKey { at: block.raw(), is_phi: true, ..slot_key(slot) },
        });
        PartRows { keys, rows, numbers, gone: gone.collect() }
    }
}

impl Make<'_, '_> {
    /// The keys of the rows, by number: of definitions, phis and memory that arguments point to.
    /// The rows of contents at returns, which no row reads, come after these.
    fn keys(&self) -> Vec<RowKey> {
        let mut keys: Vec<RowKey> = Vec::with_capacity(self.definitions as usize);
        for touch in self.memory.touches() {
            if self.row_of[touch.event as usize] == u32::MAX {
                continue;
            }
            let mut key = self.key(touch.slot, touch.inst.into_raw().into_u32(), false);
            // Touches of an instruction are adjacent.
            let own = keys.iter().rev().take_while(|other| other.at == key.at);
            key.nth = own
                .filter(|other| (other.alloca, other.offset) == (key.alloca, key.offset))
                .count() as u32;
            keys.push(key);
        }
        let phis = self.memory.ssa().phis().iter();
        keys.extend(phis.map(|phi| self.key(phi.variable, phi.block.raw(), true)));
        keys.extend_from_slice(&self.pointees.keys);
        keys
    }
}

impl MemoryRows {
    /// The rows that are read.
    pub(super) fn reads(&self) -> impl Iterator<Item = u32> {
        let of_rows = self.rows.iter().flat_map(|row| match &row.what {
            What::Definition(_, reads) | What::Image(_, reads, _) => reads.as_slice(),
            What::Phi(_) => &[],
        });
        let of_loads = self.loads.iter().flat_map(|(_, reads)| reads);
        let of_phis = self.entries.iter().filter_map(|entry| entry.read.as_ref());
        of_rows.chain(of_loads).chain(of_phis).filter_map(|read| match read {
            Read::Row(row) => Some(*row),
            Read::Value(_) => None,
        })
    }
}
