//! Private variables: those that pliron's `mem2reg` could make values of.
//!
//! An allocation is a slot if everything that uses its address says by `PromotableOpInterface` that
//! it loads, stores, or could be removed. Of what such an operation does besides, nothing is asked.
//!
//! A slot holds the same in all threads when the function is entered, whatever that is, and an
//! allocation that is executed again leaves it as it is: so does `mem2reg`, whose result has the
//! same answers.
//!
//! O(uses).

use phalanx_core::analysis::Slot;
use pliron::context::{Context, Ptr};
use pliron::op::op_cast;
use pliron::operation::Operation;
use pliron::opts::mem2reg::{
    AllocInfo, PromotableAllocationInterface, PromotableOpInterface, PromotableOpKind,
};
use pliron::value::Value;
use rustc_hash::FxHashMap;

use crate::map::Map;

/// What an operation does with the variable at an address. None if it uses the address otherwise.
fn kind(ctx: &Context, op: Ptr<Operation>, info: &AllocInfo) -> Option<PromotableOpKind> {
    let op = Operation::get_op_dyn(op, ctx);
    let kind = op_cast::<dyn PromotableOpInterface>(op.as_ref())?.promotion_kind(ctx, info);
    (!matches!(kind, PromotableOpKind::NonPromotableUse)).then_some(kind)
}

/// The private variables among the allocations of these operations.
pub(crate) fn find(ctx: &Context, map: &Map, order: &[Ptr<Operation>]) -> FxHashMap<Value, Slot> {
    let mut slots = FxHashMap::default();
    for &op in order {
        let op = Operation::get_op_dyn(op, ctx);
        let Some(of) = op_cast::<dyn PromotableAllocationInterface>(op.as_ref()) else { continue };
        for info in of.alloc_info(ctx) {
            let is_private = info.ptr.uses(ctx).iter().all(|each| {
                let user = each.user_op();
                map.operations.contains_key(&user) && kind(ctx, user, &info).is_some()
            });
            if is_private {
                let next = Slot::new(slots.len() as u32);
                slots.entry(info.ptr).or_insert(next);
            }
        }
    }
    slots
}

/// What an operation does with slots: each one that it uses, and how.
pub(crate) fn uses(ctx: &Context, map: &Map, op: Ptr<Operation>) -> Vec<(Slot, PromotableOpKind)> {
    let mut found: Vec<(Slot, PromotableOpKind)> = Vec::new();
    if map.slots.is_empty() {
        return found;
    }
    let operands: Vec<Value> = op.deref(ctx).operands().collect();
    for address in operands {
        let Some(&slot) = map.slots.get(&address) else { continue };
        if found.iter().any(|(known, _)| *known == slot) {
            continue;
        }
        let Some(info) = info(ctx, address) else { continue };
        found.extend(kind(ctx, op, &info).map(|kind| (slot, kind)));
    }
    found
}

/// What its allocation says of an address.
fn info(ctx: &Context, address: Value) -> Option<AllocInfo> {
    let op = Operation::get_op_dyn(address.defining_op()?, ctx);
    let of = op_cast::<dyn PromotableAllocationInterface>(op.as_ref())?;
    of.alloc_info(ctx).into_iter().find(|info| info.ptr == address)
}

/// Whether an operation may allocate, load or store private variables.
pub(crate) fn is_about_memory(ctx: &Context, op: Ptr<Operation>) -> bool {
    let op = Operation::get_op_dyn(op, ctx);
    op_cast::<dyn PromotableAllocationInterface>(op.as_ref()).is_some()
        || op_cast::<dyn PromotableOpInterface>(op.as_ref()).is_some()
}
