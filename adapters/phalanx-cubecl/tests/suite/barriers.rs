//! Barriers, the launch, and a `switch`, which has no text.

use std::sync::Arc;

use cubecl_ir::dialect::branch::YieldOp;
use cubecl_ir::dialect::scf::SwitchOp;
use expect_test::expect;
use phalanx_cubecl::{Cubecl, Scope, analyse, launch_facts};
use phalanx_pliron::{Analysis, Convergence, Extent, LaunchFacts, SourceSet};
use pliron::basic_block::BasicBlock;
use pliron::builtin::attributes::IntegerAttr;
use pliron::builtin::op_interfaces::OneRegionInterface as _;
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList as _;
use pliron::op::Op as _;
use pliron::operation::{Operation, verify_operation};
use pliron::r#type::Typed as _;
use pliron::utils::apint::APInt;
use pliron::value::Value;

use crate::text::{Named, context, names, parse};

const SYNC_CUBE: &str = "sync.sync () [] [sync_sync_scope: cube.sync_scope Cube] : <() -> ()>;";
const SYNC_PLANE: &str = "sync.sync () [] [sync_sync_scope: cube.sync_scope Plane] : <() -> ()>;";

/// The barriers that not all units of their group execute, by the block that they are in.
fn divergent(text: &str) -> String {
    let ctx = &mut context();
    let (_, function) = parse(ctx, text);
    let analysis = analyse(ctx, function);
    let all = names(ctx, function.get_region(ctx));
    let block = |op: Ptr<Operation>| {
        let is_in = |(_, named): &&(String, Named)| match named {
            Named::Block(first) => {
                first.deref(ctx).get_parent_block() == op.deref(ctx).get_parent_block()
            }
            Named::Value(_) => false,
        };
        all.iter().find(is_in).map_or("entry", |(name, _)| name)
    };
    let found = analysis.divergent_barriers(ctx, &LaunchFacts::default());
    found.into_iter().map(|(op, decides)| format!("{}: {decides}\n", block(op))).collect()
}

#[test]
fn barriers_of_cubes_and_planes() {
    let text = format!(
        "zero = builtin.constant <cube.index 0> : cube.index;
         scalar = cube.read_scalar <cube.bool>[0] : cube.bool;
         plane = cube.read_builtin (PlanePos) : cube.index;
         id = cube.read_builtin (UnitPos) : cube.index;
         of_plane = cmp.i_equal (plane, zero) [] [] : <(cube.index, cube.index) -> (cube.bool)>;
         of_unit = cmp.i_equal (id, zero) [] [] : <(cube.index, cube.index) -> (cube.bool)>;
         {SYNC_CUBE}
         branch.if scalar then {{ ^launch(): {SYNC_CUBE} branch.yield () }}
                          else {{ ^other(): branch.yield () }};
         branch.if of_plane then {{ ^plane(): {SYNC_CUBE} {SYNC_PLANE} branch.yield () }}
                            else {{ ^others(): branch.yield () }};
         branch.if of_unit then {{ ^unit(): {SYNC_PLANE} branch.yield () }}
                           else {{ ^rest(): branch.yield () }};
         branch.range_loop (zero, id, plane) [] [] :
             <(cube.index, cube.index, cube.index) -> ()> {{
           ^body(i: cube.index): {SYNC_CUBE} branch.yield ()
         }};
         branch.if of_unit then {{ ^leaves(): branch.return }}
                           else {{ ^stays(): branch.yield () }};
         {SYNC_CUBE}
         branch.return"
    );
    expect![[r#"
        entry: {x, y, z}
        plane: {wave}
        unit: {x, y, z}
        body: {x, y, z, wave}
    "#]]
    .assert_eq(&divergent(&text));
}

#[test]
fn which_units_operations_concern() {
    let ctx = &mut context();
    let (_, function) = parse(
        ctx,
        &format!(
            "x = cube.read_builtin (UnitPos) : cube.index;
             sum = plane.i_sum (x) [] [] : <(cube.index) -> (cube.index)>;
             {SYNC_PLANE}
             branch.return"
        ),
    );
    let analysis = analyse(ctx, function);
    let entry = function.get_entry_block(ctx);
    let all: Vec<Convergence> =
        entry.deref(ctx).iter(ctx).map(|op| analysis.convergence(ctx, op)).collect();
    let [single, plane] = [Convergence::Single, Convergence::Together(Scope::Wave)];
    assert_eq!(all, [single, plane, Convergence::Barrier(Scope::Wave), single]);
}

/// The entry point says how many units a cube has: eight.
#[test]
fn the_launch() {
    let ctx = &mut context();
    let (_, function) = parse(ctx, "branch.return");
    let facts = launch_facts(ctx, function);
    assert_eq!(facts.workgroup_size, [8, 1, 1].map(Extent::Exactly));
    assert_eq!(facts.wave_width, None);
}

/// A yield of one value at the end of a block.
fn add_yield(ctx: &mut Context, at: Ptr<BasicBlock>, value: Value) {
    let end = YieldOp::new(ctx).get_operation();
    Operation::push_operand(end, ctx, value);
    end.insert_at_back(at, ctx);
}

#[test]
fn a_switch() {
    let ctx = &mut context();
    let text = "id = cube.read_builtin (UnitPos) : cube.index;
                word = cube.cast (id) [] [] : <(cube.index) -> (builtin.integer ui32)>;
                scalar = cube.read_scalar <builtin.integer ui32>[0] : builtin.integer ui32;
                one = cube.read_scalar <cube.index>[1] : cube.index;
                two = cube.read_scalar <cube.index>[2] : cube.index;
                branch.return";
    let (_, function) = parse(ctx, text);
    let all = names(ctx, function.get_region(ctx));
    let value = |name: &str| match all.iter().find(|(known, _)| known == name) {
        Some((_, Named::Value(value))) => *value,
        _ => panic!("{name} is no value"),
    };
    let [word, scalar, one, two] = ["word", "scalar", "one", "two"].map(value);
    let entry = function.get_entry_block(ctx);
    let end = entry.deref(ctx).get_tail().expect("it ends");
    let switch = |ctx: &mut Context, by| {
        let ty = one.get_type(ctx);
        let op = SwitchOp::new(ctx, vec![ty], by);
        let case = op.append_case_block(ctx);
        let of = IntegerType::get(ctx, 32, Signedness::Unsigned);
        let width = std::num::NonZeroUsize::new(32).expect("it is not zero");
        op.set_attr_cases(ctx, [IntegerAttr::new(of, APInt::from_u32(3, width))]);
        add_yield(ctx, op.default_block(ctx), one);
        add_yield(ctx, case, two);
        op.get_operation().insert_before(ctx, end);
        op.get_operation().deref(ctx).get_result(0)
    };
    let [by_unit, by_scalar] = [word, scalar].map(|by| switch(ctx, by));
    verify_operation(function.get_operation(), ctx).expect("it is valid");
    let region = function.get_region(ctx);
    let analysis = Analysis::of_dialect(ctx, region, Arc::new(Cubecl), |_| SourceSet::EMPTY);
    let of = |value| analysis.sources(value).expect("the kernel has it");
    assert_eq!(of(by_unit), SourceSet::X | SourceSet::Y | SourceSet::Z);
    assert_eq!(of(by_scalar), SourceSet::EMPTY);
    let op = by_unit.defining_op().expect("a result");
    assert_eq!(analysis.branch(ctx, op), Some(of(word)));
}
