//! Votes, barriers and motions; and operations that a driver speaks for.

use std::sync::Arc;

use expect_test::expect;
use phalanx_pliron::{
    Analysis, Convergence, Decision, Dialect, LaunchFacts, Meaning, Refusal, Scope, SourceSet,
};
use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::{RegionBranchPoint, RegionEdge, RegionSuccessor};
use pliron::builtin::ops::FuncOp;
use pliron::context::{Context, Ptr};
use pliron::operation::Operation;
use pliron::value::Value;

use crate::dialect::{
    Atomic, Barrier, Branch, Constant, First, If, Lane, Load, Mystery, Pure, Store, Sum, ThreadId,
    Variable, While, Yield, add, add_regions, block, function, region,
};

fn analyse(ctx: &Context, function: FuncOp) -> Analysis {
    Analysis::new(ctx, region(ctx, function), |_| SourceSet::EMPTY)
}

fn op_of(value: Value) -> Ptr<Operation> {
    value.defining_op().expect("it is a result")
}

#[test]
fn which_threads_operations_concern() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 1);
    let one = add::<Constant>(ctx, at, &[]);
    let sum = add::<Sum>(ctx, at, &[one]);
    let atomic = add::<Atomic>(ctx, at, &[one]);
    let variable = add::<Variable>(ctx, at, &[]);
    let barrier = Barrier::add(ctx, at);
    let (branch, _) = add_regions::<If>(ctx, at, &[one], 0, &[]);
    let end = Yield::add(ctx, at, &[]);
    let analysis = analyse(ctx, function);
    let of = |op| analysis.convergence(ctx, op);
    assert_eq!(of(op_of(one)), Convergence::Single);
    assert_eq!(of(op_of(sum)), Convergence::Together(Scope::Wave));
    assert_eq!(of(op_of(atomic)), Convergence::Unknown, "it says nothing");
    assert_eq!(of(op_of(variable)), Convergence::Single);
    assert_eq!(of(barrier), Convergence::Barrier(Scope::Workgroup));
    assert_eq!(of(branch), Convergence::Single);
    assert_eq!(of(end), Convergence::Single);
}

/// One is executed by all, one under a condition of the launch, one under that of the thread, one
/// in a loop that threads leave in different rounds, and one behind it.
#[test]
fn barriers_that_not_all_threads_execute() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 1);
    let argument = at.deref(ctx).get_argument(0);
    let id = add::<ThreadId>(ctx, at, &[]);
    let mut names = vec![("first", Barrier::add(ctx, at))];
    for (name, condition) in [("launch", argument), ("thread", id)] {
        let (_, blocks) = add_regions::<If>(ctx, at, &[condition], 0, &[0, 0]);
        names.push((name, Barrier::add(ctx, blocks[0])));
        blocks.iter().for_each(|&block| _ = Yield::add(ctx, block, &[]));
    }
    let (_, blocks) = add_regions::<While>(ctx, at, &[id], 1, &[1]);
    let left = blocks[0].deref(ctx).get_argument(0);
    names.push(("loop", Barrier::add(ctx, blocks[0])));
    Yield::add(ctx, blocks[0], &[left, left]);
    names.push(("last", Barrier::add(ctx, at)));
    Yield::add(ctx, at, &[]);
    let analysis = analyse(ctx, function);
    let name = |op| names.iter().find(|(_, of)| *of == op).expect("it is one of them").0;
    let found = |facts: &LaunchFacts| {
        let all = analysis.divergent_barriers(ctx, facts).into_iter();
        all.map(|(op, decides)| format!("{}: {decides}\n", name(op))).collect::<String>()
    };
    expect![[r#"
        thread: {x}
        loop: {x}
    "#]]
    .assert_eq(&found(&LaunchFacts::default()));
    assert_eq!(found(&LaunchFacts::exact(1, 1, 1, 32)), "", "one thread has no other to wait for");
}

/// A sum on one side of a branch, and the block before.
fn sum_on_a_side(
    ctx: &mut Context,
    condition: impl FnOnce(&mut Context, Ptr<BasicBlock>, Value) -> Value,
) -> (FuncOp, [Ptr<Operation>; 2]) {
    let (function, at) = function(ctx, 1);
    let argument = at.deref(ctx).get_argument(0);
    let condition = condition(ctx, at, argument);
    let (op, blocks) = add_regions::<If>(ctx, at, &[condition], 0, &[0, 0]);
    let sum = add::<Sum>(ctx, blocks[0], &[argument]);
    blocks.iter().for_each(|&block| _ = Yield::add(ctx, block, &[]));
    Yield::add(ctx, at, &[]);
    (function, [op_of(sum), op])
}

#[test]
fn a_sum_moves_above_a_branch_that_all_lanes_take_alike() {
    let hoist = |ctx: &mut Context, function, [sum, branch]: [Ptr<Operation>; 2], may| {
        let analysis = analyse(ctx, function);
        let legality = analysis.legality(ctx, Scope::Wave, &LaunchFacts::default(), |_| false);
        let [below, above] = [sum, branch].map(|op| analysis.node(op).expect("it has a node"));
        legality.hoist(below, above, may)
    };
    let ctx = &mut Context::new();
    let (function, places) = sum_on_a_side(ctx, |_, _, argument| argument);
    assert_eq!(hoist(ctx, function, places, true), Ok(()));
    assert!(matches!(hoist(ctx, function, places, false), Err(Refusal::NotReached { .. })));
    let (function, places) = sum_on_a_side(ctx, |ctx, at, _| add::<ThreadId>(ctx, at, &[]));
    let refused = hoist(ctx, function, places, true);
    assert!(matches!(refused, Err(Refusal::Separates { .. })), "{refused:?}");
}

/// Threads part in the header; those of one side begin another round, or end in `abort`. If none
/// ends there, all come to the other side at last, and join those of other rounds.
#[test]
fn an_end_that_no_thread_comes_to() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 1);
    let (id, scalar) = (add::<ThreadId>(ctx, at, &[]), at.deref(ctx).get_argument(0));
    let [header, again, other, abort, done] = [0; 5].map(|count| block(ctx, at, count));
    let mut end = |at, by, to: &[Ptr<BasicBlock>]| {
        Branch::add(ctx, at, by, to.iter().map(|&to| (to, vec![])).collect())
    };
    end(at, None, &[header]);
    end(header, Some(id), &[again, other]);
    end(again, Some(scalar), &[header, abort]);
    end(other, Some(scalar), &[header, done]);
    let aborts = Yield::add(ctx, abort, &[]);
    Yield::add(ctx, done, &[]);
    let analysis = analyse(ctx, function);
    let is_apart = |is_unreachable: bool| {
        let facts = LaunchFacts::default();
        let legality =
            analysis.legality(ctx, Scope::Wave, &facts, |end| is_unreachable && end == aborts);
        legality.rounds.are_apart()
    };
    assert_eq!(is_apart(false), Ok(()));
    let mixed = is_apart(true);
    assert!(matches!(mixed, Err(Refusal::MixesRounds { .. })), "{mixed:?}");
}

/// What a driver says of operations that implement nothing, and of one that does.
#[derive(Debug)]
struct Driver;

impl Dialect for Driver {
    fn meaning(&self, ctx: &Context, op: Ptr<Operation>, _: usize) -> Option<Meaning> {
        match Operation::get_opid(op, ctx).to_string().as_str() {
            "toy.atomic" => Some(Meaning::Source(SourceSet::WAVE)),
            "toy.lane" => Some(Meaning::Source(SourceSet::QUAD)),
            _ => None,
        }
    }

    fn convergence(&self, ctx: &Context, op: Ptr<Operation>) -> Option<Convergence> {
        let is_it = Operation::get_opid(op, ctx).to_string() == "toy.atomic";
        is_it.then_some(Convergence::Barrier(Scope::Workgroup))
    }

    /// Executes its region once, with its operand; a yield without operands leaves the function.
    fn edges(
        &self,
        ctx: &Context,
        op: Ptr<Operation>,
        from: RegionBranchPoint,
    ) -> Option<Vec<RegionEdge>> {
        if Operation::get_opid(op, ctx).to_string() != "toy.mystery" {
            return None;
        }
        let edge = |of: Ptr<Operation>, to, into: Vec<Value>| {
            let operands = of.deref(ctx).operands_as_uses().collect::<Vec<_>>();
            vec![RegionEdge {
                from,
                to,
                flows: operands.into_iter().zip(into).collect(),
                reads: vec![],
            }]
        };
        let region = op.deref(ctx).get_region(0);
        Some(match from {
            RegionBranchPoint::Parent => {
                let entry = region.deref(ctx).get_entry_block()?;
                let into = entry.deref(ctx).arguments().collect();
                edge(op, RegionSuccessor::Region(region), into)
            }
            RegionBranchPoint::Terminator(end) if end.deref(ctx).get_num_operands() == 0 => vec![],
            RegionBranchPoint::Terminator(end) => {
                edge(end, RegionSuccessor::After, op.deref(ctx).results().collect())
            }
        })
    }

    fn decision(&self, _: &Context, _: Ptr<Operation>, _: RegionBranchPoint) -> Decision {
        Decision::by(Vec::new())
    }

    fn begins_anew(&self, _: &Context, _: Ptr<Operation>) -> bool {
        true
    }
}

#[test]
fn a_driver_speaks_for_operations() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 1);
    let argument = at.deref(ctx).get_argument(0);
    let atomic = add::<Atomic>(ctx, at, &[argument]);
    let lane = add::<Lane>(ctx, at, &[]);
    let first = add::<First>(ctx, at, &[atomic]);
    let (op, blocks) = add_regions::<Mystery>(ctx, at, &[atomic], 1, &[1]);
    let inside = blocks[0].deref(ctx).get_argument(0);
    let doubled = add::<Pure>(ctx, blocks[0], &[inside]);
    Yield::add(ctx, blocks[0], &[doubled]);
    let result = op.deref(ctx).get_result(0);
    Yield::add(ctx, at, &[]);
    let analysis =
        Analysis::of_dialect(ctx, region(ctx, function), Arc::new(Driver), |_| SourceSet::EMPTY);
    let of = |value| analysis.sources(value).expect("the function has it").to_string();
    let all = [atomic, lane, first, inside, result].map(of).join("\n");
    expect![[r#"
        {wave}
        {quad}
        {wave}
        {wave}
        {wave}"#]]
    .assert_eq(&all);
    let found = analysis.divergent_barriers(ctx, &LaunchFacts::default());
    assert_eq!(found, [], "all threads execute the one that the driver says");
    assert_eq!(analysis.difference(ctx), None);
}

/// Threads leave the function inside of a region, so not all execute what is behind.
#[test]
fn an_end_inside_of_a_region() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 1);
    let id = add::<ThreadId>(ctx, at, &[]);
    let (_, sides) = add_regions::<If>(ctx, at, &[id], 0, &[0, 0]);
    let (_, blocks) = add_regions::<Mystery>(ctx, sides[0], &[], 0, &[0]);
    Yield::add(ctx, blocks[0], &[]);
    sides.iter().for_each(|&side| _ = Yield::add(ctx, side, &[]));
    let behind = Barrier::add(ctx, at);
    Yield::add(ctx, at, &[]);
    let analysis =
        Analysis::of_dialect(ctx, region(ctx, function), Arc::new(Driver), |_| SourceSet::EMPTY);
    let found = analysis.divergent_barriers(ctx, &LaunchFacts::default());
    assert_eq!(found, [(behind, SourceSet::X)]);
}

/// A variable that is declared in a loop: what the last round left, unless it begins anew.
#[test]
fn a_variable_in_a_loop() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 1);
    let (id, scalar) = (add::<ThreadId>(ctx, at, &[]), at.deref(ctx).get_argument(0));
    let (_, blocks) = add_regions::<While>(ctx, at, &[scalar], 1, &[1]);
    let carried = blocks[0].deref(ctx).get_argument(0);
    let variable = add::<Variable>(ctx, blocks[0], &[]);
    let held = add::<Load>(ctx, blocks[0], &[variable]);
    Store::add(ctx, blocks[0], variable, id);
    Yield::add(ctx, blocks[0], &[carried, carried]);
    Yield::add(ctx, at, &[]);
    let region = region(ctx, function);
    let kept = Analysis::new(ctx, region, |_| SourceSet::EMPTY);
    let anew = Analysis::of_dialect(ctx, region, Arc::new(Driver), |_| SourceSet::EMPTY);
    assert_eq!(
        [kept, anew].map(|of| of.sources(held)),
        [Some(SourceSet::X), Some(SourceSet::EMPTY)]
    );
}
