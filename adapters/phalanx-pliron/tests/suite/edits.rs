//! Random edits by a rewriter that reports them: answers are those from scratch.

use phalanx_pliron::{Analysis, Changes, Outcome, SourceSet};
use pliron::context::{Context, Ptr};
use pliron::irbuild::inserter::{Inserter as _, OpInsertionPoint};
use pliron::irbuild::rewriter::{IRRewriter, Rewriter as _};
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::value::Value;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::dialect::{Atomic, Constant, Pure, Sum, ThreadId, region, word};
use crate::programs::{lower, program};

/// A new operation that reads these values.
fn operation(ctx: &mut Context, rng: &mut SmallRng, operands: &[Value]) -> Ptr<Operation> {
    let info = match rng.random_range(0..6) {
        0 => ThreadId::get_concrete_op_info(),
        1 => Sum::get_concrete_op_info(),
        2 => Atomic::get_concrete_op_info(),
        3 => Constant::get_concrete_op_info(),
        _ => Pure::get_concrete_op_info(),
    };
    let word = word(ctx);
    Operation::new(ctx, info, vec![word], operands.to_vec(), vec![], 0)
}

/// Edits something before the operation that computes a value. False if there is nothing to edit.
fn edit(
    ctx: &mut Context,
    rng: &mut SmallRng,
    rewriter: &mut IRRewriter<Changes>,
    values: &mut Vec<Value>,
) -> bool {
    let Some(value) = values.choose(rng).copied() else { return false };
    let Some(at) = value.defining_op() else { return false };
    match rng.random_range(0..4) {
        // Another operation computes what the value was.
        0 => {
            let operands: Vec<Value> = at.deref(ctx).operands().collect();
            let new = operation(ctx, rng, &operands);
            rewriter.set_insertion_point(OpInsertionPoint::BeforeOperation(at));
            rewriter.insert_operation(ctx, new);
            let made = new.deref(ctx).get_result(0);
            rewriter.replace_operation_with_values(ctx, at, vec![made]);
            values.iter_mut().filter(|known| **known == value).for_each(|known| *known = made);
        }
        1 => {
            let operands: Vec<Value> = at.deref(ctx).operands().collect();
            let new = operation(ctx, rng, &operands);
            rewriter.set_insertion_point(OpInsertionPoint::BeforeOperation(at));
            rewriter.insert_operation(ctx, new);
            values.push(new.deref(ctx).get_result(0));
        }
        2 if !at.deref(ctx).has_use() => {
            rewriter.erase_operation(ctx, at);
            values.retain(|known| *known != value);
        }
        _ => {
            let Some(read) = at.deref(ctx).operands().next() else { return false };
            rewriter.replace_value_uses_with(ctx, value, read);
        }
    }
    true
}

#[test]
fn answers_after_edits_are_those_from_scratch() {
    let (mut repaired, mut rebuilt) = (0, 0);
    for seed in 0..150 {
        let ctx = &mut Context::new();
        let rng = &mut SmallRng::seed_from_u64(seed);
        let (program, slots) = program(seed);
        let lowered = lower(ctx, &program, slots);
        let region = region(ctx, lowered.function);
        let mut analysis = Analysis::new(ctx, region, |_| SourceSet::EMPTY);
        let mut values: Vec<Value> = lowered.values.iter().flatten().copied().collect();
        for step in 0..12 {
            let mut rewriter = IRRewriter::<Changes>::default();
            let count = rng.random_range(1..4);
            let is_done = (0..count).filter(|_| edit(ctx, rng, &mut rewriter, &mut values)).count();
            if is_done == 0 {
                continue;
            }
            match analysis.after(ctx, rewriter.get_listener()) {
                Outcome::Repaired { .. } => repaired += 1,
                Outcome::Rebuilt => rebuilt += 1,
            }
            assert_eq!(analysis.difference(ctx), None, "seed {seed}, step {step}");
        }
    }
    assert!(repaired > 500, "{repaired} repaired, {rebuilt} from scratch");
}

/// The comparison can fail: an edit that is not reported.
#[test]
fn a_missed_edit_is_found() {
    let ctx = &mut Context::new();
    let (program, slots) = program(3);
    let lowered = lower(ctx, &program, slots);
    let region = region(ctx, lowered.function);
    let mut analysis = Analysis::new(ctx, region, |_| SourceSet::EMPTY);
    let is_of_thread = |value: &Value| analysis.sources(*value) == Some(SourceSet::EMPTY);
    let mut results = lowered.values.iter().flatten().filter(|value| value.defining_op().is_some());
    let at = results.find(|value| is_of_thread(value)).and_then(|value| value.defining_op());
    let at = at.expect("some value is the same for all");
    let word = word(ctx);
    let info = ThreadId::get_concrete_op_info();
    let new = Operation::new(ctx, info, vec![word], vec![], vec![], 0);
    new.insert_before(ctx, at);
    let (old, made) = (at.deref(ctx).get_result(0), new.deref(ctx).get_result(0));
    old.replace_all_uses_with(ctx, &made);
    assert_eq!(analysis.after(ctx, &Changes::default()), Outcome::Repaired { visited: 0 });
    assert!(analysis.difference(ctx).is_some());
}
