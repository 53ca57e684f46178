//! What a driver says about operations of other crates.
//!
//! An operation can be given an interface only by the crate that defines the operation or the
//! interface (Rust's orphan rule). So a driver whose operations come from a crate that does not
//! know this one passes a [`Dialect`] to [`Analysis::of_dialect`](crate::Analysis::of_dialect). It
//! answers the questions of [`SimtOp`] and [`SimtRegionOp`] for operations by their name, and is
//! asked before these interfaces.
//!
//! ```text
//!   impl Dialect for Gpu {
//!       fn meaning(&self, ctx: &Context, op: Ptr<Operation>, _: usize) -> Option<Meaning> {
//!           let id = Operation::get_opid(op, ctx);
//!           (id.to_string() == "gpu.thread_id").then_some(Meaning::Source(SourceSet::X))
//!       }
//!   }
//! ```

use std::fmt::Debug;

use pliron::builtin::op_interfaces::{
    IsTerminatorInterface, RegionBranchOpInterface, RegionBranchPoint, RegionEdge,
};
use pliron::context::{Context, Ptr};
use pliron::op::{op_cast, op_impls};
use pliron::operation::Operation;
use pliron::value::Value;

use crate::interfaces::{Convergence, Decision, Meaning, SimtOp, SimtRegionOp};
use crate::slots;

/// Says what operations do among threads. Each answer is `None` for an operation that is not known:
/// then its interfaces are asked.
pub trait Dialect: Debug + Send + Sync {
    /// What a result is made of, by its position.
    fn meaning(&self, ctx: &Context, op: Ptr<Operation>, result: usize) -> Option<Meaning> {
        let _ = (ctx, op, result);
        None
    }

    /// Which threads an operation concerns together.
    fn convergence(&self, ctx: &Context, op: Ptr<Operation>) -> Option<Convergence> {
        let _ = (ctx, op);
        None
    }

    /// Where threads may go from a point of an operation with regions, and what flows on the way.
    /// No edges: they leave the function. Where edges are known,
    /// [`decision`](Self::decision) and [`made`](Self::made) are asked as well, and no interface.
    fn edges(
        &self,
        ctx: &Context,
        op: Ptr<Operation>,
        from: RegionBranchPoint,
    ) -> Option<Vec<RegionEdge>> {
        let _ = (ctx, op, from);
        None
    }

    /// What decides on one of several edges.
    fn decision(&self, ctx: &Context, op: Ptr<Operation>, from: RegionBranchPoint) -> Decision {
        let _ = (ctx, op, from);
        Decision::unknown()
    }

    /// What a receiver holds that no operand flows into: a function of these values. None:
    /// anything, another in each thread.
    fn made(
        &self,
        ctx: &Context,
        op: Ptr<Operation>,
        from: RegionBranchPoint,
        receiver: Value,
    ) -> Option<Vec<Value>> {
        let _ = (ctx, op, from, receiver);
        None
    }

    /// Whether a private variable begins anew each time that its declaration is executed, with a
    /// constant or undefined. Otherwise it keeps what it held before, which matters in a loop: so
    /// it is for pliron's `mem2reg`.
    fn begins_anew(&self, ctx: &Context, declaration: Ptr<Operation>) -> bool {
        let _ = (ctx, declaration);
        false
    }
}

/// Knows no operation: interfaces alone count.
impl Dialect for () {}

/// What a result is made of.
pub(crate) fn meaning(
    ctx: &Context,
    dialect: &dyn Dialect,
    op: Ptr<Operation>,
    result: usize,
) -> Meaning {
    let of_interface = || {
        let it = Operation::get_op_dyn(op, ctx);
        op_cast::<dyn SimtOp>(it.as_ref()).map(|op| op.meaning(ctx, result))
    };
    dialect.meaning(ctx, op, result).or_else(of_interface).unwrap_or(Meaning::Opaque)
}

/// Which threads an operation concerns together. Operations with regions, ends of blocks and
/// accesses of variables concern each thread by itself, unless they say otherwise; of others
/// nothing is known.
pub(crate) fn convergence(ctx: &Context, dialect: &dyn Dialect, op: Ptr<Operation>) -> Convergence {
    if let Some(known) = dialect.convergence(ctx, op) {
        return known;
    }
    let it = Operation::get_op_dyn(op, ctx);
    if let Some(simt) = op_cast::<dyn SimtOp>(it.as_ref()) {
        return simt.convergence(ctx);
    }
    let is_of_one_thread = op_impls::<dyn IsTerminatorInterface>(it.as_ref())
        || op_impls::<dyn RegionBranchOpInterface>(it.as_ref())
        || dialect.edges(ctx, op, RegionBranchPoint::Parent).is_some()
        || slots::is_about_memory(ctx, op);
    if is_of_one_thread { Convergence::Single } else { Convergence::Unknown }
}

/// Where threads may go from a point of an operation with regions. None if that is not known.
pub(crate) fn edges(
    ctx: &Context,
    dialect: &dyn Dialect,
    op: Ptr<Operation>,
    from: RegionBranchPoint,
) -> Option<Vec<RegionEdge>> {
    dialect.edges(ctx, op, from).or_else(|| {
        let it = Operation::get_op_dyn(op, ctx);
        Some(op_cast::<dyn RegionBranchOpInterface>(it.as_ref())?.edges_from(ctx, from))
    })
}

/// What decides on the way that threads take from a point.
pub(crate) fn decision(
    ctx: &Context,
    dialect: &dyn Dialect,
    op: Ptr<Operation>,
    from: RegionBranchPoint,
) -> Decision {
    if dialect.edges(ctx, op, from).is_some() {
        return dialect.decision(ctx, op, from);
    }
    let it = Operation::get_op_dyn(op, ctx);
    let simt = op_cast::<dyn SimtRegionOp>(it.as_ref());
    simt.map_or_else(Decision::unknown, |simt| simt.decision(ctx, from))
}

/// What a receiver holds that no operand flows into.
pub(crate) fn made(
    ctx: &Context,
    dialect: &dyn Dialect,
    op: Ptr<Operation>,
    from: RegionBranchPoint,
    receiver: Value,
) -> Option<Vec<Value>> {
    if dialect.edges(ctx, op, from).is_some() {
        return dialect.made(ctx, op, from, receiver);
    }
    let it = Operation::get_op_dyn(op, ctx);
    op_cast::<dyn SimtRegionOp>(it.as_ref())?.made(ctx, from, receiver)
}
