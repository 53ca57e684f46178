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

use phalanx_ir::{Const, ConstKind, InstId, Opcode, TypeKind, Value};
use phalanx_target::SourceSet;
use rustc_hash::FxHashSet;

use super::program::Unit;
use crate::code::{Numbering, value_type};

/// How many operations between a load and a store are looked at.
const OPERATIONS: usize = 64;

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
            let (mut at, mut is_chain) = (stored, false);
            // In unreachable code an operation may read itself.
            for _ in 0..OPERATIONS {
                let below = at.as_inst().and_then(|inst| below(unit, inst, &is_one));
                let Some(below) = below else { break };
                (at, is_chain) = (below, true);
            }
            let load = at.as_inst().filter(|_| is_chain && opcode(at) == Some(Opcode::Load));
            let Some(load) = load.filter(|&load| body.operands(load)[0] == pointer) else {
                continue;
            };
            parts.stores.insert(store);
            let serves = |opcode: Option<Opcode>| {
                matches!(opcode, Some(Opcode::InsertElement | Opcode::ShuffleVector))
            };
            if body.uses_of(load.into()).all(|of| serves(opcode(of.user.into()))) {
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

/// The vector whose parts an operation leaves where they are, but for parts that are one value for
/// the workgroup.
fn below(unit: Unit<'_>, inst: InstId, is_one: &dyn Fn(Value) -> bool) -> Option<Value> {
    let body = unit.code.body;
    match (body.inst(inst).opcode, body.operands(inst)) {
        (Opcode::InsertElement, &[vector, part, index]) => {
            (is_one(part) && index.as_const().is_some()).then_some(vector)
        }
        (Opcode::ShuffleVector, &[left, right, mask]) => {
            let context = unit.code.context;
            let TypeKind::Vector { len, scalable: false, .. } =
                *context.type_kind(value_type(unit.code, left)?)
            else {
                return None;
            };
            let lanes = &context.const_data(mask.as_const()?).kind;
            let ConstKind::Aggregate(lanes) = lanes else { return None };
            let first = if is_one(left) { len } else { 0 };
            let stays = |(at, lane): (usize, &Const)| match &context.const_data(*lane).kind {
                ConstKind::Int(int) => int.to_u64().is_some_and(|from| {
                    let place = from.wrapping_sub(first.into());
                    place >= u64::from(len) || place == at as u64
                }),
                ConstKind::Poison | ConstKind::Undef => true,
                _ => false,
            };
            let (vector, other) = if first == 0 { (left, right) } else { (right, left) };
            (is_one(other) && lanes.iter().enumerate().all(stays)).then_some(vector)
        }
        _ => None,
    }
}
