//! Stores to parts of a vector, which clang makes of a load, an insertion and a store of the whole.
//!
//! ```text
//! v.x = n;                    // all threads write one value
//!
//! %old = load <4 x i32>, ptr addrspace(3) @v
//! %new = insertelement <4 x i32> %old, i32 %n, i64 0
//! store <4 x i32> %new, ptr addrspace(3) @v
//! ```
//!
//! If what is inserted is one value for the workgroup, all threads write the same, although the
//! other parts are not known; and the load is no read of the program.
//!
//! O(instructions).

use phalanx_ir::{InstId, Opcode, Value};
use phalanx_target::SourceSet;
use rustc_hash::FxHashSet;

use super::program::Unit;
use crate::code::Numbering;

/// The loads and stores of such stores in a function.
#[derive(Default)]
pub(super) struct Parts {
    loads: FxHashSet<InstId>,
    stores: FxHashSet<InstId>,
}

impl Parts {
    /// `varying` are the sources that differ within a workgroup.
    pub(super) fn new(unit: Unit<'_>, varying: SourceSet) -> Parts {
        let body = unit.code.body;
        let numbering = Numbering::new(unit.code.header);
        let is_one = |value: Value| {
            let number = numbering.operand(value);
            number.is_none_or(|number| !unit.divergence.value(number).intersects(varying))
        };
        let opcode = |value: Value| Some(body.inst(value.as_inst()?).opcode);
        let mut parts = Parts::default();
        let insts = unit.code.flow.order().iter().flat_map(|&block| body.block_insts(block));
        for store in insts.filter(|&inst| body.inst(inst).opcode == Opcode::Store) {
            let &[stored, pointer] = body.operands(store) else { continue };
            let mut at = stored;
            let mut is_chain = false;
            while opcode(at) == Some(Opcode::InsertElement) {
                let &[vector, part, index] = body.operands(at.as_inst().unwrap_or(store)) else {
                    break;
                };
                if !is_one(part) || index.as_const().is_none() {
                    break;
                }
                (at, is_chain) = (vector, true);
            }
            let load = at.as_inst().filter(|_| is_chain && opcode(at) == Some(Opcode::Load));
            let Some(load) = load.filter(|&load| body.operands(load)[0] == pointer) else {
                continue;
            };
            parts.stores.insert(store);
            if body
                .uses_of(load.into())
                .all(|of| opcode(of.user.into()) == Some(Opcode::InsertElement))
            {
                parts.loads.insert(load);
            }
        }
        parts
    }

    /// Whether a load only serves a store to parts.
    pub(super) fn has_load(&self, inst: InstId) -> bool {
        self.loads.contains(&inst)
    }

    /// Whether a store writes one value to parts of a vector.
    pub(super) fn has_store(&self, inst: InstId) -> bool {
        self.stores.contains(&inst)
    }
}
