//! Kernels as text, and what is known of their values.

use std::fmt::Write as _;

use cubecl_ir::AddressType;
use cubecl_ir::interfaces::uniformity::Uniformity;
use cubecl_ir::prelude::ContextExt as _;
use cubecl_opt::analyses::dataflow_solver::DataflowSolver;
use cubecl_opt::analyses::dataflow_solver::value_uniformity::DynamicUniformityLattice;
use cubecl_opt::passes::uniformity::uniformity_solver;
use expect_test::Expect;
use phalanx_cubecl::{Scope, analyse};
use phalanx_pliron::{Analysis, LaunchFacts, SourceSet, varying};
use pliron::builtin::op_interfaces::{OneRegionInterface as _, SingleBlockRegionInterface as _};
use pliron::builtin::ops::{FuncOp, ModuleOp};
use pliron::common_traits::Named as _;
use pliron::context::{Context, Ptr};
use pliron::identifier::Identifier;
use pliron::irfmt::parsers::spaced;
use pliron::linked_list::ContainsLinkedList as _;
use pliron::op::Op as _;
use pliron::operation::{Operation, verify_operation};
use pliron::parsable::parse_from_str;
use pliron::printable::Printable as _;
use pliron::region::Region;
use pliron::value::Value;

/// A context in which an index has 32 bits.
pub(crate) fn context() -> Context {
    let mut ctx = Context::new();
    ctx.set_address_type(AddressType::U32);
    ctx
}

/// A kernel of this text. It is in a module, as cubecl's analysis wants it.
pub(crate) fn parse(ctx: &mut Context, text: &str) -> (ModuleOp, FuncOp) {
    let text = format!(
        "builtin.func @f: builtin.function <() -> ()>
           [entry_point: cube.entrypoint_abi <cube_dim: (8, 1, 1)>] {{ ^entry(): {text} }}"
    );
    let parsed = parse_from_str(spaced(Operation::top_level_parser()), ctx, &text);
    let op = parsed.unwrap_or_else(|error| panic!("{}\n{text}", error.disp(ctx)));
    if let Err(error) = verify_operation(op, ctx) {
        panic!("{}\n{text}", error.disp(ctx));
    }
    let module = ModuleOp::new(ctx, Identifier::try_from("m").expect("it is a name"));
    op.insert_at_front(module.get_body(ctx, 0), ctx);
    (module, Operation::get_op(op, ctx).expect("it is a function"))
}

/// What has a name.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    Value(Value),
    /// A block other than the entry, by its first operation.
    Block(Ptr<Operation>),
}

/// All that has a name, in the order of the text.
pub(crate) fn names(ctx: &Context, region: Ptr<Region>) -> Vec<(String, Named)> {
    let mut named = Vec::new();
    let mut add = |name: Option<Identifier>, it| {
        named.extend(name.map(|name| (name.to_string(), it)));
    };
    let blocks = |region: Ptr<Region>| region.deref(ctx).iter(ctx).collect::<Vec<_>>();
    let mut work: Vec<Work> = vec![Work::Region(region)];
    enum Work {
        Region(Ptr<Region>),
        Op(Ptr<Operation>),
    }
    while let Some(next) = work.pop() {
        match next {
            Work::Region(of) => {
                for block in blocks(of).into_iter().rev() {
                    work.extend(block.deref(ctx).iter(ctx).rev().map(Work::Op));
                }
                for block in blocks(of) {
                    let first = block.deref(ctx).get_head().expect("a block has an end");
                    if of != region {
                        add(block.given_name(ctx), Named::Block(first));
                    }
                    for argument in block.deref(ctx).arguments() {
                        add(argument.given_name(ctx), Named::Value(argument));
                    }
                }
            }
            Work::Op(op) => {
                for result in op.deref(ctx).results() {
                    add(result.given_name(ctx), Named::Value(result));
                }
                let regions: Vec<_> = op.deref(ctx).regions().collect();
                work.extend(regions.into_iter().rev().map(Work::Region));
            }
        }
    }
    named
}

/// What cubecl's own analysis says of a value: the largest group that shares it.
pub(crate) fn theirs(solver: &DataflowSolver, value: Value) -> Uniformity {
    let lattice = solver.lookup_state::<DynamicUniformityLattice>(value);
    lattice.map_or(Uniformity::None, |lattice| lattice.deref().value().0)
}

/// The same of our answer.
pub(crate) fn ours(sources: SourceSet, facts: &LaunchFacts) -> Uniformity {
    let differs = |scope| sources.intersects(varying(scope, facts));
    match [Scope::Wave, Scope::Workgroup, Scope::Grid].map(differs) {
        [true, ..] => Uniformity::None,
        [_, true, _] => Uniformity::Plane,
        [_, _, true] => Uniformity::Cube,
        _ => Uniformity::Device,
    }
}

fn sources(analysis: &Analysis, named: Named) -> SourceSet {
    let known = match named {
        Named::Value(value) => analysis.sources(value),
        Named::Block(first) => analysis.control(first),
    };
    known.expect("the kernel has it")
}

/// Compares what is known of each value and block of a kernel: our answer, and cubecl's of values
/// where it is another one.
pub(crate) fn check(text: &str, expected: &Expect) {
    let ctx = &mut context();
    let (module, function) = parse(ctx, text);
    let solver = uniformity_solver(module.get_operation(), ctx).expect("it can be solved");
    let analysis = analyse(ctx, function);
    let mut table = String::new();
    for (name, named) in names(ctx, function.get_region(ctx)) {
        let known = sources(&analysis, named);
        let our = ours(known, &LaunchFacts::default());
        let _ = write!(table, "{name}: {our:?} {known}");
        if let Named::Value(value) = named {
            let their = theirs(&solver, value);
            if their != our {
                let _ = write!(table, " (cubecl: {their:?})");
            }
        }
        table.push('\n');
    }
    expected.assert_eq(&table);
}
