//! Values for structures that calls pass by reference: their contents at the time of the call.
//!
//! A row is added for each such argument that is the address of a private object. The row reads the
//! versions that reach the call, for all slots of the object that the callee reads, and the values
//! that decide where in the object the address is. The row is in the block of the call. So it has
//! the sources of cycles that threads have left since a version was made.
//!
//! O(one lowering + slots that the calls touch).

use phalanx_core::divergence::Definition;
use phalanx_ir::{InstId, flow::node_of};
use smallvec::SmallVec;

use super::{Make, MemoryRows, Pointees, Read, Row, RowKey, What, calls::place};
use crate::{
    code::Code,
    lower::FullRules,
    memory::{PrivateMemory, private::Effect},
};

impl MemoryRows {
    /// The rows of a function and, for each argument in `passed`, the number of an additional row;
    /// none if it is not known what the argument leads to.
    pub(in crate::lower) fn with_contents(
        code: Code<'_>,
        rules: &FullRules<'_>,
        memory: &PrivateMemory,
        passed: &[(InstId, u32)],
    ) -> (Self, Vec<Option<u32>>) {
        let mut make = Make::new(code, rules, memory, None);
        make.pointees = Pointees::new(memory, make.definitions);
        let mut made = make.all();
        let mut add = |&at: &(InstId, u32)| {
            let row = content(&make, at, made.rows.len())?;
            made.rows.push(row);
            Some(made.rows.len() as u32 - 1)
        };
        let numbers = passed.iter().map(&mut add).collect();
        (made, numbers)
    }
}

/// The row, with that number, of the content of the object whose address is passed to a call.
fn content(make: &Make<'_, '_>, (call, position): (InstId, u32), number: usize) -> Option<Row> {
    let block = make.code.body.block_of(call).map(node_of)?;
    // Threads of several rounds execute such a call together.
    if make.rules.escapes(call) {
        return None;
    }
    let passed = make.memory.passed(call).iter().find(|passed| passed.position == position)?;
    let mut reads: SmallVec<[Read; 4]> = SmallVec::new();
    for touch in make.memory.of(call).iter().filter(|t| t.effect == Effect::ReadByCall) {
        if make.memory.object(touch) == passed.object {
            make.content(touch, &mut reads);
        }
    }
    if passed.offset.is_none() {
        place(make, passed, &mut reads);
    }
    // These rows are not updated after edits, so any key will do that no other row has.
    let (alloca, at) = (call.into_raw().into_u32(), number as u32);
    let key = RowKey { alloca, offset: i64::MIN, is_phi: false, at, nth: position };
    Some(Row { key, block, what: What::Definition(Definition::PURE, reads) })
}
