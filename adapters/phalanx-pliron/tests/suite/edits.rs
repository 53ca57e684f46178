//! Random edits by a rewriter that reports them: answers are those from scratch.

use phalanx_pliron::{Analysis, Changes, Outcome, SourceSet};
use phalanx_testing::block_arguments::generate;
use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::BranchOpInterface as _;
use pliron::context::{Context, Ptr};
use pliron::irbuild::inserter::{BlockInsertionPoint, Inserter as _, OpInsertionPoint};
use pliron::irbuild::rewriter::{IRRewriter, Rewriter as _};
use pliron::linked_list::ContainsLinkedList as _;
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::value::Value;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::dialect::{
    Atomic, Branch, Constant, Pure, Sum, ThreadId, Way, Yield, add, block, function, region, word,
};
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

/// Puts another end in the place of a block's.
fn replace_end(
    ctx: &mut Context,
    rewriter: &mut IRRewriter<Changes>,
    block: Ptr<BasicBlock>,
    (condition, ways): (Option<Value>, Vec<Way>),
) {
    let old = block.deref(ctx).get_terminator(ctx);
    if let Some(old) = old {
        rewriter.erase_operation(ctx, old);
    }
    let new = Branch::make(ctx, condition, ways);
    rewriter.set_insertion_point(OpInsertionPoint::AtBlockEnd(block));
    rewriter.insert_operation(ctx, new);
}

/// Whether nothing outside of a block reads what is in it, and nothing leads to it.
fn is_unused(ctx: &Context, block: Ptr<BasicBlock>) -> bool {
    let mut values: Vec<Value> = block.deref(ctx).arguments().collect();
    for op in block.deref(ctx).iter(ctx) {
        values.extend(op.deref(ctx).results());
    }
    let mut uses = values.into_iter().flat_map(|value| value.uses(ctx));
    let is_inside = |reader: Ptr<Operation>| reader.deref(ctx).get_parent_block() == Some(block);
    !block.has_pred(ctx) && uses.all(|each| is_inside(each.user_op()))
}

/// Edits the graph. False if it cannot be done.
fn edit_graph(
    ctx: &mut Context,
    rng: &mut SmallRng,
    rewriter: &mut IRRewriter<Changes>,
    region: Ptr<Region>,
    values: &mut Vec<Value>,
) -> bool {
    let blocks: Vec<Ptr<BasicBlock>> = region.deref(ctx).iter(ctx).collect();
    let block = *blocks.choose(rng).expect("there is an entry");
    let end = block.deref(ctx).get_terminator(ctx).expect("a block has an end");
    match rng.random_range(0..7) {
        // A block becomes two.
        0 => {
            let operations: Vec<Ptr<Operation>> = block.deref(ctx).iter(ctx).collect();
            let at = OpInsertionPoint::BeforeOperation(*operations.choose(rng).expect("its end"));
            let new = rewriter.split_block(ctx, block, at, None);
            replace_end(ctx, rewriter, block, (None, vec![(new, Vec::new())]));
        }
        // A way is no more, or another value decides or is brought.
        1 | 2 => {
            let Some((mut condition, mut ways)) = Branch::parts(ctx, end) else { return false };
            match rng.random_range(0..3) {
                0 if ways.len() > 1 => _ = ways.remove(rng.random_range(0..ways.len())),
                1 => ways.reverse(),
                _ => {
                    let same = |at: &&Value| at.get_parent_block(ctx) == Some(block);
                    let Some(&value) = values.iter().filter(same).last() else { return false };
                    condition = condition.map(|_| value);
                    ways.iter_mut().flat_map(|way| way.1.first_mut()).for_each(|it| *it = value);
                }
            }
            replace_end(ctx, rewriter, block, (condition, ways));
        }
        // A block on a way, with an argument if something can be brought to it.
        3 => {
            let Some((condition, mut ways)) = Branch::parts(ctx, end) else { return false };
            let at = rng.random_range(0..ways.len());
            let (to, mut brings) = ways[at].clone();
            let brought: Vec<Value> = brings.first().copied().into_iter().collect();
            let (word, place) = (word(ctx), BlockInsertionPoint::AfterBlock(block));
            let new = rewriter.create_block(ctx, place, None, vec![word; brought.len()]);
            for (bring, argument) in brings.iter_mut().zip(new.deref(ctx).arguments()) {
                *bring = argument;
            }
            ways[at] = (new, brought);
            replace_end(ctx, rewriter, block, (condition, ways));
            replace_end(ctx, rewriter, new, (None, vec![(to, brings)]));
        }
        // A block that one way alone leads to goes into the one before.
        4 => {
            let [before] = block.preds(ctx)[..] else { return false };
            let old = before.deref(ctx).get_terminator(ctx).expect("a block has an end");
            let parts = Branch::parts(ctx, old);
            let Some([(_, brings)]) = parts.as_ref().map(|parts| &parts.1[..]) else {
                return false;
            };
            if block == before || block == blocks[0] {
                return false;
            }
            let arguments: Vec<Value> = block.deref(ctx).arguments().collect();
            for (argument, &bring) in arguments.iter().zip(brings) {
                rewriter.replace_value_uses_with(ctx, *argument, bring);
            }
            values.retain(|value| !arguments.contains(value));
            rewriter.erase_operation(ctx, old);
            let operations: Vec<Ptr<Operation>> = block.deref(ctx).iter(ctx).collect();
            for op in operations {
                rewriter.move_operation(ctx, op, OpInsertionPoint::AtBlockEnd(before));
            }
            rewriter.erase_block(ctx, block);
        }
        _ if block != blocks[0] && is_unused(ctx, block) => {
            values.retain(|value| value.get_parent_block(ctx) != Some(block));
            rewriter.erase_block(ctx, block);
        }
        _ => return false,
    }
    true
}

#[test]
fn answers_after_edits_of_blocks_are_those_from_scratch() {
    let (mut repaired, mut rebuilt) = (0, 0);
    for seed in 0..150 {
        let ctx = &mut Context::new();
        let rng = &mut SmallRng::seed_from_u64(seed);
        let program = generate::program(rng, 6);
        let lowered = lower(ctx, &program, 0);
        let region = region(ctx, lowered.function);
        let mut analysis = Analysis::new(ctx, region, |_| SourceSet::EMPTY);
        let mut values: Vec<Value> = lowered.values.iter().flatten().copied().collect();
        for step in 0..12 {
            let mut rewriter = IRRewriter::<Changes>::default();
            let mut count = 0;
            for _ in 0..rng.random_range(1..4) {
                count += usize::from(match rng.random_bool(0.7) {
                    true => edit_graph(ctx, rng, &mut rewriter, region, &mut values),
                    false => edit(ctx, rng, &mut rewriter, &mut values),
                });
            }
            if count == 0 {
                continue;
            }
            match analysis.after(ctx, rewriter.get_listener()) {
                Outcome::Repaired { .. } => repaired += 1,
                Outcome::Rebuilt => rebuilt += 1,
            }
            assert_eq!(analysis.difference(ctx), None, "seed {seed}, step {step}");
        }
    }
    assert!(repaired > 500 && repaired > rebuilt, "{repaired} repaired, {rebuilt} from scratch");
}

/// What no listener hears, said by hand: a block gets an argument, and loses it.
#[test]
fn arguments_of_blocks_are_said_by_hand() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 0);
    let id = add::<ThreadId>(ctx, at, &[]);
    let next = block(ctx, at, 0);
    let end = Branch::add(ctx, at, None, vec![(next, vec![])]);
    Yield::add(ctx, next, &[]);
    let mut analysis = Analysis::new(ctx, region(ctx, function), |_| SourceSet::EMPTY);
    let branch = Operation::get_op::<Branch>(end, ctx).expect("it is one");
    let mut changes = Changes::default();
    changes.touch_block(next);
    changes.touch(end);
    let word = word(ctx);
    BasicBlock::push_argument(next, ctx, word);
    branch.add_successor_operand(ctx, 0, id);
    assert!(matches!(analysis.after(ctx, &changes), Outcome::Repaired { .. }));
    let argument = next.deref(ctx).get_argument(0);
    assert_eq!(analysis.sources(argument), Some(SourceSet::X));
    assert_eq!(analysis.difference(ctx), None);
    branch.remove_successor_operand(ctx, 0, 0);
    BasicBlock::remove_argument(next, ctx, 0);
    assert!(matches!(analysis.after(ctx, &changes), Outcome::Repaired { .. }));
    assert_eq!(analysis.sources(argument), None);
    assert_eq!(analysis.difference(ctx), None);
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
