//! The values that stand for rows in an editable table. After an edit, rows are matched by name
//! with those before.

use std::collections::BTreeMap;

use phalanx_core::{
    affect::Value,
    divergence::{Definition, Incoming, ValueTable, repair::EditableTable},
};
use phalanx_graph::Node;
use phalanx_ir::{InstId, flow::node_of};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::super::rule::{operands, rule_of};
use super::{
    MemoryRows, PartRows, Read, Row, RowKey, What, entry_key, exit_key, incoming, loaded_key,
    resolve,
};
use crate::{
    code::{Code, Numbering},
    lower::{FullRules, PointeeValues},
    memory::{
        PrivateMemory,
        private::{Effect, parameter_of},
    },
};

/// Which value stands for which row of an editable table.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowNumbers {
    /// Rows of an object are adjacent.
    known: BTreeMap<RowKey, Value>,
    free: Vec<Value>,
}

impl RowNumbers {
    /// The numbers of rows in a table that they were [added](MemoryRows::add_to) to.
    pub(crate) fn of(rows: &MemoryRows, table: &ValueTable) -> Self {
        let first = table.memory().map_or(0, |memory| memory.first as usize);
        Self::new(rows, Value::new(first))
    }

    fn new(rows: &MemoryRows, first: Value) -> Self {
        let numbered = keys(rows).into_iter().enumerate();
        let known = numbered.map(|(i, key)| (key, Value::new(first.index() + i))).collect();
        Self { known, free: Vec::new() }
    }

    /// The values about memory that arguments point to, for the slots of `memory`.
    pub(crate) fn pointees(&self, memory: &PrivateMemory) -> PointeeValues {
        let mut found = PointeeValues::default();
        let value = |key: RowKey| self.known.get(&key).copied();
        for (slot, number) in memory.slots().iter().zip(0..) {
            let Some(position) = parameter_of(slot.alloca) else { continue };
            found.entries.extend(value(entry_key(slot)).map(|value| (number, value)));
            if found.loaded.last().is_none_or(|(last, _)| *last != position) {
                let loaded = value(loaded_key(slot.alloca));
                found.loaded.extend(loaded.map(|value| (position, value)));
            }
        }
        for touch in memory.touches().iter().filter(|touch| touch.effect == Effect::Return) {
            let key = exit_key(&memory.slots()[touch.slot as usize], touch.inst);
            found.exits.extend(value(key).map(|value| (touch.slot, value)));
        }
        found
    }

    /// Takes out the rows of some objects.
    fn take_out(&mut self, objects: &[InstId]) -> BTreeMap<RowKey, Value> {
        let mut found = BTreeMap::new();
        for object in objects {
            let alloca = object.into_raw().into_u32();
            let first = RowKey { alloca, offset: i64::MIN, is_phi: false, at: 0, nth: 0 };
            let of_object = self.known.range(first..).take_while(|(key, _)| key.alloca == alloca);
            found.extend(of_object.map(|(&key, &value)| (key, value)));
        }
        found.keys().for_each(|key| _ = self.known.remove(key));
        found
    }

    /// Brings the rows of a table, and what loads read, up to date: all rows, or those of some
    /// objects, which are then the only ones in `rows`.
    pub(in crate::lower) fn update(
        &mut self,
        rows: &MemoryRows,
        objects: Option<&[InstId]>,
        rules: &mut FullRules<'_>,
        code: Code<'_>,
        table: &mut EditableTable,
    ) {
        let mut left = match objects {
            None => std::mem::take(&mut self.known),
            Some(objects) => self.take_out(objects),
        };
        let mut values: Vec<Option<Value>> = Vec::with_capacity(rows.rows.len());
        let keys = keys(rows);
        for key in &keys {
            values.push(left.remove(key));
        }
        let mut gone: Vec<Value> = left.into_values().collect();
        gone.sort_unstable();
        let entry = code.flow.entry().map_or_else(Node::default, node_of);
        for value in gone {
            table.set_value(value, entry, Definition::IMPURE, None, &[]);
            self.free.push(value);
        }
        let mut end = table.len();
        let values: Vec<Value> = values
            .into_iter()
            .map(|known| {
                known.or_else(|| self.free.pop()).unwrap_or_else(|| {
                    end += 1;
                    Value::new(end - 1)
                })
            })
            .collect();
        // The table is grown only if needed: without rows, the numbers that were left out would
        // become values.
        if end > table.len() {
            table.grow(end, 0);
        }
        let value_of = |row: u32| values[row as usize];
        for (number, row) in rows.rows.iter().enumerate() {
            let value = values[number];
            self.known.insert(keys[number], value);
            state(rows, row, value, value_of, table);
        }
        state_loads(rows, value_of, rules, code, table);
    }

    /// Brings some rows of a patch, and what loads read, up to date. Returns false if that failed;
    /// the table is then half updated.
    #[must_use]
    pub(in crate::lower) fn update_part(
        &mut self,
        part: &PartRows,
        rules: &mut FullRules<'_>,
        code: Code<'_>,
        table: &mut EditableTable,
    ) -> bool {
        let PartRows { keys, rows, numbers, gone } = part;
        let made: SmallVec<[RowKey; 8]> = numbers.iter().map(|&row| keys[row as usize]).collect();
        let entry = code.flow.entry().map_or_else(Node::default, node_of);
        for key in gone.iter().filter(|key| !made.contains(key)) {
            if let Some(value) = self.known.remove(key) {
                table.set_value(value, entry, Definition::IMPURE, None, &[]);
                self.free.push(value);
            }
        }
        let mut end = table.len();
        for &key in &made {
            let free = &mut self.free;
            self.known.entry(key).or_insert_with(|| {
                free.pop().unwrap_or_else(|| {
                    end += 1;
                    Value::new(end - 1)
                })
            });
        }
        if end > table.len() {
            table.grow(end, 0);
        }
        // Rows outside of the part are known from before.
        if !rows.reads().all(|row| self.known.contains_key(&keys[row as usize])) {
            return false;
        }
        let value_of = |row: u32| self.known[&keys[row as usize]];
        for (row, key) in rows.rows.iter().zip(&made) {
            state(rows, row, self.known[key], value_of, table);
        }
        state_loads(rows, value_of, rules, code, table);
        true
    }
}

/// States a row in the table.
fn state(
    rows: &MemoryRows,
    row: &Row,
    value: Value,
    value_of: impl Fn(u32) -> Value,
    table: &mut EditableTable,
) {
    let resolved = |reads: &[Read]| -> SmallVec<[Value; 4]> {
        reads.iter().map(|read| resolve(*read, &value_of)).collect()
    };
    match &row.what {
        What::Definition(definition, reads) => {
            table.set_value(value, row.block, *definition, None, &resolved(reads));
        }
        What::Image(definition, reads, image) => {
            table.set_value(value, row.block, *definition, Some(image), &resolved(reads));
        }
        What::Phi(entries) => {
            let entries: Vec<Incoming> = self::entries(rows, entries.clone(), &value_of);
            table.set_phi(value, row.block, Definition::PURE, &entries);
        }
    }
}

/// States in the table what loads read.
fn state_loads(
    rows: &MemoryRows,
    value_of: impl Fn(u32) -> Value,
    rules: &mut FullRules<'_>,
    code: Code<'_>,
    table: &mut EditableTable,
) {
    let numbering = Numbering::new(code.header);
    for (load, reads) in &rows.loads {
        let Some(block) = code.body.block_of(*load).map(node_of) else { continue };
        let mut reads: SmallVec<[Value; 4]> =
            reads.iter().map(|read| resolve(*read, &value_of)).collect();
        let rule = rule_of(code.body, rules, *load);
        operands(code.body, numbering, *load, rule.reads, |operand| reads.push(operand));
        let image = rule.image.as_ref();
        table.set_value(numbering.inst(*load), block, rule.definition, image, &reads);
    }
}

/// The keys of rows. An instruction that is given a slot twice may define it twice.
fn keys(rows: &MemoryRows) -> Vec<RowKey> {
    let mut seen: FxHashSet<RowKey> = FxHashSet::default();
    let key = |row: &Row| {
        let mut key = row.key;
        while !seen.insert(key) {
            key.nth += 1;
        }
        key
    };
    rows.rows.iter().map(key).collect()
}

fn entries(
    rows: &MemoryRows,
    range: std::ops::Range<usize>,
    value_of: impl Fn(u32) -> Value,
) -> Vec<Incoming> {
    rows.entries[range].iter().map(|entry| incoming(entry, &value_of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one number for both, the value of the first would be lost, and the next repair would
    /// take a new one.
    #[test]
    fn what_is_defined_twice_has_two_numbers() {
        let key = RowKey { alloca: 1, offset: 0, is_phi: false, at: 7, nth: 0 };
        let what = What::Definition(Definition::PURE, SmallVec::new());
        let row = Row { key, block: Node::default(), what };
        let other = Row { key: RowKey { at: 8, ..key }, ..row.clone() };
        let rows = MemoryRows { rows: vec![row.clone(), other, row], ..MemoryRows::default() };
        let mut numbers = RowNumbers::new(&rows, Value::new(20));
        assert_eq!(numbers.known.len(), 3);
        let taken = numbers.take_out(&[InstId::from_raw(1.into())]);
        let values: Vec<usize> = taken.into_values().map(|value| value.index()).collect();
        assert_eq!(values, [20, 22, 21]);
        assert!(numbers.known.is_empty());
    }
}
