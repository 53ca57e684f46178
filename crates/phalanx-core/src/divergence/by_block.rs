//! Which values are computed in a block.

use phalanx_graph::Node;

use super::ValueTable;
use crate::affect::Value;

/// Values by block, in compressed sparse rows.
pub(crate) struct ByBlock {
    start: Vec<u32>,
    values: Vec<Value>,
}

impl ByBlock {
    pub(crate) fn new(table: &ValueTable) -> Self {
        let mut start = vec![0u32; table.block_count() + 1];
        for value in table.values() {
            start[table.block(value).index() + 1] += 1;
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let mut next = start.clone();
        let mut values = vec![Value::from_raw(0); table.len()];
        for value in table.values() {
            let at = &mut next[table.block(value).index()];
            values[*at as usize] = value;
            *at += 1;
        }
        Self { start, values }
    }

    pub(crate) fn of(&self, block: Node) -> &[Value] {
        let i = block.index();
        &self.values[self.start[i] as usize..self.start[i + 1] as usize]
    }
}
