//! What the operations of [cubecl](cubecl_ir)'s dialects do among units, for [`phalanx_pliron`].
//!
//! ```text
//!   let analysis = analyse(ctx, function);
//!   let facts = launch_facts(ctx, function);
//!   analysis.is_uniform(value, Scope::Wave, &facts)      // one for all units of a plane?
//!   analysis.divergent_barriers(ctx, &facts)             // sync_cube that not all units come to
//! ```
//!
//! | cubecl | Phalanx |
//! |---|---|
//! | unit, plane, cube, cluster | thread, wave, workgroup, cluster |
//! | `Uniformity::Plane`, `Cube`, `Device` | [`Scope::Wave`], [`Scope::Workgroup`], [`Scope::Grid`] |
//!
//! | module | has |
//! |---|---|
//! | `operations` | what results are made of, and which units an operation concerns |
//! | `regions` | where units go in `if`, `switch`, `for` and `while` |
//!
//! Operations are known by name. What is not known differs in each unit.

mod operations;
mod regions;

use std::sync::Arc;

use cubecl_ir::attributes::EntrypointInterface as _;
use cubecl_ir::settings::Dim3;
use phalanx_pliron::{
    Analysis, Convergence, Decision, Dialect, Extent, LaunchFacts, Meaning, SourceSet,
};
use pliron::builtin::op_interfaces::{OneRegionInterface as _, RegionBranchPoint, RegionEdge};
use pliron::builtin::ops::FuncOp;
use pliron::context::{Context, Ptr};
use pliron::operation::Operation;
use pliron::value::Value;

pub use phalanx_pliron::Scope;

/// The dialects of cubecl.
#[derive(Clone, Copy, Debug)]
pub struct Cubecl;

impl Dialect for Cubecl {
    fn meaning(&self, ctx: &Context, op: Ptr<Operation>, _: usize) -> Option<Meaning> {
        operations::meaning(ctx, op)
    }

    fn convergence(&self, ctx: &Context, op: Ptr<Operation>) -> Option<Convergence> {
        operations::convergence(ctx, op)
    }

    fn edges(
        &self,
        ctx: &Context,
        op: Ptr<Operation>,
        from: RegionBranchPoint,
    ) -> Option<Vec<RegionEdge>> {
        regions::edges(ctx, op, from)
    }

    fn decision(&self, ctx: &Context, op: Ptr<Operation>, from: RegionBranchPoint) -> Decision {
        regions::decision(ctx, op, from)
    }

    fn made(
        &self,
        ctx: &Context,
        op: Ptr<Operation>,
        from: RegionBranchPoint,
        receiver: Value,
    ) -> Option<Vec<Value>> {
        regions::made(ctx, op, from, receiver)
    }

    fn begins_anew(&self, ctx: &Context, declaration: Ptr<Operation>) -> bool {
        operations::begins_anew(ctx, declaration)
    }
}

/// Answers about a function. The arguments of a kernel, which has an entry point, are the same for
/// all units; of another function nothing is known about them.
#[must_use]
pub fn analyse(ctx: &Context, function: FuncOp) -> Analysis {
    let given = match function.get_entrypoint_abi(ctx) {
        Some(_) => SourceSet::EMPTY,
        None => SourceSet::OPAQUE_THREAD,
    };
    Analysis::of_dialect(ctx, function.get_region(ctx), Arc::new(Cubecl), |_| given)
}

/// What the entry point of a kernel says of its launches. How many units a plane has, it does not
/// say: set `wave_width` where planes are cut from consecutive units of a cube.
#[must_use]
pub fn launch_facts(ctx: &Context, function: FuncOp) -> LaunchFacts {
    let Some(abi) = function.get_entrypoint_abi(ctx) else { return LaunchFacts::default() };
    let extents = |dim: Dim3| [dim.x, dim.y, dim.z].map(Extent::Exactly);
    LaunchFacts {
        workgroup_size: extents(abi.cube_dim),
        uniform_work_group_size: true,
        cluster_size: abi.cluster_dim.map_or([Extent::Unknown; 3], extents),
        ..LaunchFacts::default()
    }
}
