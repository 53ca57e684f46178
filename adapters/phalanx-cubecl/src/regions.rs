//! Where units go in operations with regions.
//!
//! Edges and what flows on them are those of cubecl's own `RegionBranchOpInterface`, which is not
//! pliron's. It does not say what decides, nor what the number of a round is made of:
//!
//! | operation | decides | made |
//! |---|---|---|
//! | `if`, `switch` | the operand, before | |
//! | `while` | the condition of the first region's end | |
//! | `for`, `range_loop` | bounds and step, and after the first round the number of the round | the number: of the start, then of the last one and the step |
//!
//! A `return` or `unreachable` inside of a region leaves the function.

use cubecl_ir::dialect::branch::{ConditionOp, IsExitTerminator, RangeLoopOp};
use cubecl_ir::dialect::scf::ForOp;
use cubecl_ir::interfaces::control_flow::{
    RegionBranchOpInterface, RegionPredecessor, RegionSuccessor,
};
use cubecl_ir::rewrite::TraitOp;
use phalanx_pliron::Decision;
use pliron::builtin::op_interfaces::{self, RegionBranchPoint, RegionEdge};
use pliron::context::{Context, Ptr};
use pliron::op::{op_cast, op_impls};
use pliron::operation::Operation;
use pliron::value::Value;

pub(crate) fn edges(
    ctx: &Context,
    op: Ptr<Operation>,
    from: RegionBranchPoint,
) -> Option<Vec<RegionEdge>> {
    let it = Operation::get_op_dyn(op, ctx);
    let branch = op_cast::<dyn RegionBranchOpInterface>(it.as_ref())?;
    let predecessor = match from {
        RegionBranchPoint::Parent => RegionPredecessor::Parent,
        RegionBranchPoint::Terminator(end) => {
            if op_impls::<dyn IsExitTerminator>(Operation::get_op_dyn(end, ctx).as_ref()) {
                return Some(Vec::new());
            }
            RegionPredecessor::Terminator(TraitOp::try_from_op(end, ctx)?)
        }
    };
    let edge = |successor| {
        let operands = branch.successor_operands(ctx, predecessor, successor);
        let inputs = branch.successor_inputs(ctx, successor);
        let to = match successor {
            RegionSuccessor::Region(region) => op_interfaces::RegionSuccessor::Region(region),
            RegionSuccessor::AfterOp => op_interfaces::RegionSuccessor::After,
        };
        RegionEdge {
            from,
            to,
            flows: operands.into_iter().zip(inputs).collect(),
            reads: Vec::new(),
        }
    };
    Some(branch.successor_regions(ctx, predecessor).into_iter().map(edge).collect())
}

pub(crate) fn decision(ctx: &Context, op: Ptr<Operation>, from: RegionBranchPoint) -> Decision {
    let id = Operation::get_opid(op, ctx);
    match (id.name.as_ref(), from) {
        ("if" | "switch", RegionBranchPoint::Parent) => {
            Decision::by(vec![op.deref(ctx).get_operand(0)])
        }
        ("while", RegionBranchPoint::Terminator(end)) => {
            match Operation::get_op::<ConditionOp>(end, ctx) {
                Some(end) => Decision::by(vec![end.condition(ctx)]),
                None => Decision::unknown(),
            }
        }
        _ => match range(ctx, op) {
            Some(range) if from == RegionBranchPoint::Parent => Decision::by(range.bounds.to_vec()),
            Some(range) => Decision::by([range.bounds.to_vec(), vec![range.round]].concat()),
            None => Decision::unknown(),
        },
    }
}

pub(crate) fn made(
    ctx: &Context,
    op: Ptr<Operation>,
    from: RegionBranchPoint,
    receiver: Value,
) -> Option<Vec<Value>> {
    let Range { bounds: [start, _, step], round } = range(ctx, op)?;
    match from {
        _ if receiver != round => None,
        RegionBranchPoint::Parent => Some(vec![start]),
        RegionBranchPoint::Terminator(_) => Some(vec![round, step]),
    }
}

/// A loop over numbers.
struct Range {
    /// Start, end and step.
    bounds: [Value; 3],
    /// The number of the round.
    round: Value,
}

fn range(ctx: &Context, op: Ptr<Operation>) -> Option<Range> {
    if let Some(op) = Operation::get_op::<ForOp>(op, ctx) {
        let bounds = [op.start(ctx), op.end(ctx), op.step(ctx)];
        return Some(Range { bounds, round: op.iter_var(ctx) });
    }
    let op = Operation::get_op::<RangeLoopOp>(op, ctx)?;
    Some(Range { bounds: [op.start(ctx), op.end(ctx), op.step(ctx)], round: op.iter_var(ctx) })
}
