//! What operations do, by their names.
//!
//! A scan, `elect` and what is not listed give each unit another result. A sum or a ballot is one
//! value for a plane, but another in each, even of a value that all units share: how many units are
//! there to add differs. A minimum or a vote of such a value is that value.

use cubecl_ir::dialect::general::ReadBuiltinOp;
use cubecl_ir::dialect::memory::DeclareVariableOp;
use cubecl_ir::dialect::synchronization::SyncScope;
use cubecl_ir::interfaces::Synchronizes;
use cubecl_ir::types::PointerType;
use cubecl_ir::{AddressSpace, Builtin};
use phalanx_pliron::{Convergence, Meaning, Rule, Scope, SourceSet};
use pliron::context::{Context, Ptr};
use pliron::op::op_cast;
use pliron::operation::Operation;
use pliron::r#type::Typed as _;

const PURE: Meaning = Meaning::Rule(Rule::Pure);
const COLLECTIVE: Meaning = Meaning::Rule(Rule::Collective);
const AGREE: Meaning = Meaning::Rule(Rule::Agree);

/// What the results of an operation are made of. None of an operation that is not known.
pub(crate) fn meaning(ctx: &Context, op: Ptr<Operation>) -> Option<Meaning> {
    let id = Operation::get_opid(op, ctx);
    Some(match (id.dialect.as_ref(), id.name.as_ref()) {
        ("math" | "cmp" | "bitwise" | "composite" | "vector", _) => PURE,
        ("cube", "bool_and" | "bool_or" | "bool_not" | "select") => PURE,
        ("cube", "cast" | "reinterpret_cast" | "copy" | "poison") => PURE,
        // Of the dimension that they are asked for.
        ("cube", "shape" | "stride" | "buffer_len" | "read_scalar") => PURE,
        ("cube", "read_builtin") => {
            let read = Operation::get_op::<ReadBuiltinOp>(op, ctx)?;
            Meaning::Source(builtin(read.builtin(ctx).0))
        }
        ("memory", "index") | ("matrix", "row_index" | "col_index" | "wgmma_descriptor") => PURE,
        ("pending", "ready") => PURE,
        ("memory", "declare_variable") => {
            let declared = Operation::get_op::<DeclareVariableOp>(op, ctx)?;
            match declared.addr_space(ctx).0 {
                AddressSpace::Global(_) => PURE,
                AddressSpace::Shared => Meaning::Source(SourceSet::OPAQUE_GROUP),
                AddressSpace::Local => Meaning::Opaque,
            }
        }
        ("memory", "load") => match space(ctx, op)? {
            AddressSpace::Global(_) | AddressSpace::Shared => Meaning::Rule(Rule::Load),
            AddressSpace::Local => Meaning::Opaque,
        },
        ("plane", "i_sum" | "f_sum" | "i_prod" | "f_prod" | "ballot") => COLLECTIVE,
        // What is in memory may be another value when another plane reads it.
        ("plane", "uniform_load" | "atomic_uniform_load") => COLLECTIVE,
        ("plane", "all" | "any" | "broadcast") => AGREE,
        ("plane", "s_min" | "u_min" | "f_min" | "s_max" | "u_max" | "f_max") => AGREE,
        ("plane", "shuffle") => Meaning::Rule(Rule::Shuffle { lane: Some(1) }),
        ("plane", "shuffle_xor" | "shuffle_up" | "shuffle_down") => {
            Meaning::Rule(Rule::Shuffle { lane: None })
        }
        ("plane" | "ssa_matrix" | "atomic" | "barrier", _) => Meaning::Opaque,
        _ => return None,
    })
}

/// The memory that an operation accesses by its first operand.
fn space(ctx: &Context, op: Ptr<Operation>) -> Option<AddressSpace> {
    let pointer = op.deref(ctx).operands().next()?;
    let of = pointer.get_type(ctx).deref(ctx);
    of.downcast_ref::<PointerType>().map(|pointer| pointer.address_space)
}

fn builtin(builtin: Builtin) -> SourceSet {
    const UNIT: SourceSet = SourceSet::X.union(SourceSet::Y).union(SourceSet::Z);
    const CUBE: SourceSet = SourceSet::BLOCK_X.union(SourceSet::BLOCK_Y).union(SourceSet::BLOCK_Z);
    match builtin {
        Builtin::UnitPos => UNIT,
        Builtin::UnitPosX => SourceSet::X,
        Builtin::UnitPosY => SourceSet::Y,
        Builtin::UnitPosZ => SourceSet::Z,
        Builtin::UnitPosPlane => SourceSet::LANE,
        Builtin::PlanePos => SourceSet::WAVE,
        Builtin::CubePosCluster
        | Builtin::CubePosClusterX
        | Builtin::CubePosClusterY
        | Builtin::CubePosClusterZ => SourceSet::CLUSTER,
        Builtin::CubePos => CUBE,
        Builtin::CubePosX => SourceSet::BLOCK_X,
        Builtin::CubePosY => SourceSet::BLOCK_Y,
        Builtin::CubePosZ => SourceSet::BLOCK_Z,
        Builtin::AbsolutePos => UNIT.union(CUBE),
        Builtin::AbsolutePosX => SourceSet::X.union(SourceSet::BLOCK_X),
        Builtin::AbsolutePosY => SourceSet::Y.union(SourceSet::BLOCK_Y),
        Builtin::AbsolutePosZ => SourceSet::Z.union(SourceSet::BLOCK_Z),
        Builtin::CubeDim
        | Builtin::CubeDimX
        | Builtin::CubeDimY
        | Builtin::CubeDimZ
        | Builtin::CubeClusterDim
        | Builtin::CubeClusterDimX
        | Builtin::CubeClusterDimY
        | Builtin::CubeClusterDimZ
        | Builtin::CubeCount
        | Builtin::CubeCountX
        | Builtin::CubeCountY
        | Builtin::CubeCountZ
        | Builtin::PlaneDim => SourceSet::EMPTY,
    }
}

/// Which units an operation concerns together. None of an operation that is not known.
pub(crate) fn convergence(ctx: &Context, op: Ptr<Operation>) -> Option<Convergence> {
    let id = Operation::get_opid(op, ctx);
    Some(match (id.dialect.as_ref(), id.name.as_ref()) {
        ("sync", "sync") => {
            let it = Operation::get_op_dyn(op, ctx);
            match op_cast::<dyn Synchronizes>(it.as_ref())?.minimum_scope(ctx) {
                SyncScope::Unit => Convergence::Single,
                SyncScope::Plane => Convergence::Barrier(Scope::Wave),
                // The units of a cube meet; memory is ordered among more.
                SyncScope::Cube | SyncScope::Device => Convergence::Barrier(Scope::Workgroup),
            }
        }
        ("plane" | "ssa_matrix", _) => Convergence::Together(Scope::Wave),
        ("matrix", "row_index" | "col_index" | "wgmma_descriptor") => Convergence::Single,
        // A group of planes executes them together.
        ("matrix", name) if name.starts_with("wgmma") => Convergence::Unknown,
        ("matrix", _) => Convergence::Together(Scope::Wave),
        // Arrivals are counted, of units that need not be together.
        ("barrier", _) | ("cube", "asm") => Convergence::Unknown,
        ("math" | "cmp" | "bitwise" | "composite" | "vector" | "memory" | "atomic", _)
        | ("cube" | "pending" | "tma" | "branch" | "scf" | "cf", _)
        | ("sync", "sync_async_proxy")
        | ("builtin", "constant") => Convergence::Single,
        _ => return None,
    })
}

/// Whether a variable is declared where it is once for each time that its region is executed. Then
/// `mem2reg` gives it its initializer, or poison, each time. In a block that a `cf` branch leads
/// back to, it may keep what it held.
pub(crate) fn begins_anew(ctx: &Context, op: Ptr<Operation>) -> bool {
    let Some(block) = op.deref(ctx).get_parent_block() else { return false };
    let region = block.deref(ctx).get_parent_region();
    let entry = region.and_then(|region| region.deref(ctx).get_entry_block());
    Operation::get_op::<DeclareVariableOp>(op, ctx).is_some()
        && entry == Some(block)
        && !block.has_pred(ctx)
}
