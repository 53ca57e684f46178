//! Regions, and what is often got wrong about them.

use expect_test::{Expect, expect};
use phalanx_pliron::{Analysis, LaunchFacts, Scope, SourceSet};
use pliron::basic_block::BasicBlock;
use pliron::context::{Context, Ptr};
use pliron::value::Value;

use crate::dialect::{
    Atomic, Branch, Constant, First, For, If, Lane, Load, Mystery, OfQuad, Pure, Shuffle, Store,
    Sum, ThreadId, Variable, While, Yield, add, add_regions, block, function, region,
};

/// Values of a function of one argument, each with its name: the smallest scope whose threads may
/// hold different ones, and its sources.
fn check(
    build: impl FnOnce(&mut Context, Ptr<BasicBlock>, Value) -> Vec<(&'static str, Value)>,
    expected: &Expect,
) {
    let ctx = &mut Context::new();
    let (function, entry) = function(ctx, 1);
    let argument = entry.deref(ctx).get_argument(0);
    let named = build(ctx, entry, argument);
    let analysis = Analysis::new(ctx, region(ctx, function), |_| SourceSet::EMPTY);
    let mut text = String::new();
    for (name, value) in named {
        let facts = LaunchFacts::default();
        let differs = |scope: &Scope| !analysis.is_uniform(value, *scope, &facts);
        let scope = Scope::ALL.into_iter().find(differs).map_or("nothing", Scope::name);
        let sources = analysis.sources(value).expect("the function has it");
        text.push_str(&format!("{name}: {scope} {sources}\n"));
    }
    expected.assert_eq(&text);
}

/// Inside, a value is the same for all who are still there; outside, threads hold that of their
/// last round.
#[test]
fn a_while_that_threads_leave_in_different_rounds() {
    check(
        |ctx, at, _| {
            let zero = add::<Constant>(ctx, at, &[]);
            let id = add::<ThreadId>(ctx, at, &[]);
            let (op, blocks) = add_regions::<While>(ctx, at, &[zero], 1, &[1]);
            let body = blocks[0];
            let count = body.deref(ctx).get_argument(0);
            let next = add::<Pure>(ctx, body, &[count]);
            let more = add::<Pure>(ctx, body, &[next, id]);
            Yield::add(ctx, body, &[more, next]);
            let result = op.deref(ctx).get_result(0);
            let after = add::<Pure>(ctx, at, &[result]);
            Yield::add(ctx, at, &[]);
            vec![("count", count), ("next", next), ("result", result), ("after", after)]
        },
        &expect![[r#"
            count: nothing {}
            next: nothing {}
            result: quad {x}
            after: quad {x}
        "#]],
    );
}

#[test]
fn a_while_that_all_leave_together() {
    check(
        |ctx, at, bound| {
            let zero = add::<Constant>(ctx, at, &[]);
            let (op, blocks) = add_regions::<While>(ctx, at, &[zero], 1, &[1]);
            let body = blocks[0];
            let count = body.deref(ctx).get_argument(0);
            let next = add::<Pure>(ctx, body, &[count]);
            let more = add::<Pure>(ctx, body, &[next, bound]);
            Yield::add(ctx, body, &[more, next]);
            let result = op.deref(ctx).get_result(0);
            Yield::add(ctx, at, &[]);
            vec![("count", count), ("result", result)]
        },
        &expect![[r#"
            count: nothing {}
            result: nothing {}
        "#]],
    );
}

/// Which lanes are there is another question in each wave, whatever they hold.
#[test]
fn a_ballot_of_a_launch_scalar_and_a_sum_under_divergent_control() {
    check(
        |ctx, at, scalar| {
            let ballot = add::<Sum>(ctx, at, &[scalar]);
            let lane = add::<Lane>(ctx, at, &[]);
            let (_, blocks) = add_regions::<If>(ctx, at, &[lane], 0, &[0, 0]);
            let sum = add::<Sum>(ctx, blocks[0], &[scalar]);
            let first = add::<First>(ctx, blocks[0], &[scalar]);
            let shuffled = add::<Shuffle>(ctx, blocks[0], &[lane, scalar]);
            let of_quad = add::<OfQuad>(ctx, blocks[0], &[lane]);
            for block in blocks {
                Yield::add(ctx, block, &[]);
            }
            Yield::add(ctx, at, &[]);
            vec![
                ("ballot", ballot),
                ("sum", sum),
                ("first", first),
                ("shuffled", shuffled),
                ("of quad", of_quad),
            ]
        },
        &expect![[r#"
            ballot: workgroup {opaque.wave}
            sum: workgroup {opaque.wave}
            first: nothing {}
            shuffled: workgroup {opaque.wave}
            of quad: wave {opaque.quad}
        "#]],
    );
}

/// Blocks inside of a region, and edges that bring different values to one block.
#[test]
fn branches_under_a_divergent_condition() {
    check(
        |ctx, at, scalar| {
            let id = add::<ThreadId>(ctx, at, &[]);
            let (op, blocks) = add_regions::<If>(ctx, at, &[scalar], 1, &[0, 0]);
            let [one, two] = [add::<Constant>(ctx, blocks[0], &[]), add::<Constant>(ctx, at, &[])];
            let two_inside = add::<Pure>(ctx, blocks[0], &[two]);
            let join = block(ctx, blocks[0], 1);
            let ways = vec![(join, vec![one]), (join, vec![two_inside])];
            Branch::add(ctx, blocks[0], Some(id), ways);
            let joined = join.deref(ctx).get_argument(0);
            Yield::add(ctx, join, &[joined]);
            let other = add::<Constant>(ctx, blocks[1], &[]);
            Yield::add(ctx, blocks[1], &[other]);
            let result = op.deref(ctx).get_result(0);
            Yield::add(ctx, at, &[]);
            vec![("joined", joined), ("other", other), ("result", result)]
        },
        &expect![[r#"
            joined: quad {x}
            other: nothing {}
            result: quad {x}
        "#]],
    );
}

#[test]
fn a_for_with_bounds_of_the_launch_and_of_the_thread() {
    check(
        |ctx, at, bound| {
            let zero = add::<Constant>(ctx, at, &[]);
            let id = add::<ThreadId>(ctx, at, &[]);
            let variable = add::<Variable>(ctx, at, &[]);
            let mut named = Vec::new();
            for (names, bound) in [(["round", "left"], bound), (["round by id", "left by id"], id)]
            {
                let (_, blocks) = add_regions::<For>(ctx, at, &[zero, bound], 0, &[1]);
                let round = blocks[0].deref(ctx).get_argument(0);
                Store::add(ctx, blocks[0], variable, round);
                Yield::add(ctx, blocks[0], &[]);
                let left = add::<Load>(ctx, at, &[variable]);
                named.extend(names.into_iter().zip([round, left]));
            }
            Yield::add(ctx, at, &[]);
            named
        },
        &expect![[r#"
            round: nothing {}
            left: nothing {}
            round by id: nothing {}
            left by id: quad {x}
        "#]],
    );
}

/// Two ways and nothing that is read to choose one.
#[test]
fn a_branch_without_a_condition() {
    check(
        |ctx, at, _| {
            let [one, two] = [add::<Constant>(ctx, at, &[]), add::<Constant>(ctx, at, &[])];
            let join = block(ctx, at, 1);
            Branch::add(ctx, at, None, vec![(join, vec![one]), (join, vec![two])]);
            let joined = join.deref(ctx).get_argument(0);
            Yield::add(ctx, join, &[]);
            vec![("joined", joined)]
        },
        &expect![[r#"
            joined: quad {opaque.thread}
        "#]],
    );
}

/// What says nothing is not known.
#[test]
fn operations_that_say_nothing() {
    check(
        |ctx, at, scalar| {
            let atomic = add::<Atomic>(ctx, at, &[scalar]);
            let (op, blocks) = add_regions::<Mystery>(ctx, at, &[scalar], 1, &[1]);
            let argument = blocks[0].deref(ctx).get_argument(0);
            let variable = add::<Variable>(ctx, at, &[]);
            let one = add::<Constant>(ctx, blocks[0], &[]);
            Yield::add(ctx, blocks[0], &[one]);
            let result = op.deref(ctx).get_result(0);
            // Its address goes somewhere.
            let escaped = add::<Pure>(ctx, at, &[variable]);
            let loaded = add::<Load>(ctx, at, &[variable]);
            Yield::add(ctx, at, &[]);
            vec![
                ("atomic", atomic),
                ("argument", argument),
                ("constant", one),
                ("result", result),
                ("escaped", escaped),
                ("loaded", loaded),
            ]
        },
        &expect![[r#"
            atomic: quad {opaque.thread}
            argument: quad {opaque.thread}
            constant: nothing {}
            result: quad {opaque.thread}
            escaped: quad {opaque.thread}
            loaded: quad {opaque.thread}
        "#]],
    );
}

#[test]
fn branches_and_control() {
    let ctx = &mut Context::new();
    let (function, at) = function(ctx, 1);
    let id = add::<ThreadId>(ctx, at, &[]);
    let (op, blocks) = add_regions::<If>(ctx, at, &[id], 0, &[0, 0]);
    let inside = add::<Constant>(ctx, blocks[0], &[]);
    let ends = [0, 1].map(|number| Yield::add(ctx, blocks[number], &[]));
    let after = add::<Constant>(ctx, at, &[]);
    Yield::add(ctx, at, &[]);
    let analysis = Analysis::new(ctx, region(ctx, function), |_| SourceSet::EMPTY);
    let defining = |value: Value| value.defining_op().expect("it is a result");
    assert_eq!(analysis.branch(ctx, op), Some(SourceSet::X));
    assert_eq!(analysis.branch(ctx, ends[0]), Some(SourceSet::EMPTY));
    assert_eq!(analysis.branch(ctx, defining(inside)), None);
    assert_eq!(analysis.control(defining(inside)), Some(SourceSet::X));
    assert_eq!(analysis.control(defining(after)), Some(SourceSet::EMPTY));
    assert_eq!(analysis.at_use(ctx, id, op), Some(SourceSet::X));
}
