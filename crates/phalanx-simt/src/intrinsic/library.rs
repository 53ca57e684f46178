//! Library functions that a module only declares and that the interpreter executes.
//!
//! [`phalanx_target::library`] knows these functions by name; this module says what each does.
//! Signed and unsigned minimum have one name: the mangled types of the parameters distinguish them.
//!
//! ```text
//! _Z3minii -> the signed minimum     _Z3minjj -> the unsigned one     _Z3minff -> that of floats
//! ```

use phalanx_ir::{
    Type,
    inst::{Ordering, RmwOp},
};

use super::{Along, Coordinate, Intrinsic, Pure, Reduce, Unary};
use crate::{
    collective::Collective,
    library_memory::operations::{Access, Atomic, Copy, Order, Rounding, Vector},
    reach::Reach,
    split::{Extent, Half, Split},
    sub_groups::{Combine, From, OfBallot, Over, SubGroup, WorkGroup},
};

/// The type of the first parameter, as far as it distinguishes operations.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
}

impl Intrinsic {
    /// The operation of a library function, by its name in the table and the name that is called.
    /// None if it is not interpreted.
    pub(crate) fn of_library(base: &str, called: &str) -> Option<Intrinsic> {
        use Intrinsic as I;
        if let Some(place) = place(base) {
            return Some(I::Coordinate(place));
        }
        let kind = kind(base, called);
        if let Some(access) = vector(base).or_else(|| atomic(base, kind)) {
            return Some(I::Access(access));
        }
        if let Some(known) = sub_group(base, kind).or_else(|| work_group(base, kind)) {
            return Some(known);
        }
        if let Some(copy) = copy(base, called) {
            return Some(I::Access(copy));
        }
        Some(match base {
            "barrier"
            | "work_group_barrier"
            | "wait_group_events"
            | "__spirv_ControlBarrier.workgroup" => WORKGROUP_BARRIER,
            "intel_work_group_barrier_arrive" | "__spirv_ControlBarrierArriveINTEL" => {
                of_workgroup(Half::Arrive { relaxed: false })
            }
            "intel_work_group_barrier_wait" | "__spirv_ControlBarrierWaitINTEL" => {
                of_workgroup(Half::Wait)
            }
            "sub_group_barrier" | "__spirv_ControlBarrier.subgroup" => {
                I::Collective(Collective::Meet)
            }
            "mem_fence"
            | "read_mem_fence"
            | "write_mem_fence"
            | "atomic_work_item_fence"
            | "__spirv_MemoryBarrier" => I::Fence(Reach::Device),
            "prefetch" => I::Nothing,
            _ if base.starts_with("intel_sub_group_block_") => {
                I::Access(Access::Block { is_store: base.contains("_write") })
            }
            "sub_group_broadcast" | "intel_sub_group_broadcast" => {
                I::Collective(Collective::ReadLane)
            }
            "sub_group_broadcast_first" => I::Collective(Collective::First),
            "__assertfail" | "__assert_fail" => I::Trap,
            _ => I::Pure(pure(base, kind)?),
        })
    }
}

/// A barrier of the whole workgroup: arrives and waits.
pub(super) const WORKGROUP_BARRIER: Intrinsic = of_workgroup(Half::Both);

/// A barrier of the whole workgroup. Its arguments say which memory it orders; here it orders all
/// memory.
const fn of_workgroup(half: Half) -> Intrinsic {
    Intrinsic::Split(Split { extent: Extent::Workgroup, half, has_number: false })
}

/// An access of a vector at an index, by the name of the function.
fn vector(base: &str) -> Option<Access> {
    let (is_store, rest) = match base.strip_prefix("vload") {
        Some(rest) => (false, rest),
        None => (true, base.strip_prefix("vstore")?),
    };
    let (is_aligned, rest) = match rest.strip_prefix("a_half") {
        Some(rest) => (true, Some(rest)),
        None => (false, rest.strip_prefix("_half")),
    };
    let (count, rounding) = match (rest, base) {
        (Some(rest), _) => rest.split_once('_').unwrap_or((rest, "rte")),
        (None, base) => (base.trim_start_matches(char::is_alphabetic), ""),
    };
    let lanes = match count {
        "" => 1,
        count => count.parse().ok().filter(|count| matches!(count, 2 | 3 | 4 | 8 | 16))?,
    };
    let half = match rounding {
        "" if lanes > 1 => None,
        "rte" => Some(Rounding::Nearest),
        "rtz" => Some(Rounding::TowardZero),
        "rtp" => Some(Rounding::Up),
        "rtn" => Some(Rounding::Down),
        _ => return None,
    };
    let stride = if is_aligned && lanes == 3 { 4 } else { lanes };
    Some(Access::Vector(Vector { is_store, lanes, stride, half }))
}

/// An atomic, by the name of the function and the type of its operand.
fn atomic(base: &str, kind: Option<Kind>) -> Option<Access> {
    let relaxed = Order::Is(Ordering::Monotonic, Reach::Device);
    let (name, order) = match (base.strip_suffix("_explicit"), base) {
        (Some(name), _) => (name, Order::Given),
        (None, "atomic_init") => ("atomic_store", Order::Plain),
        (None, name) => (name, Order::Is(Ordering::SeqCst, Reach::Device)),
    };
    let is_float = kind == Some(Kind::Float);
    let is_unsigned = kind == Some(Kind::Unsigned);
    let update = |name: &str| {
        Some(match name {
            "add" | "inc" if is_float => RmwOp::FAdd,
            "sub" | "dec" if is_float => RmwOp::FSub,
            "min" if is_float => RmwOp::FMin,
            "max" if is_float => RmwOp::FMax,
            "add" | "inc" => RmwOp::Add,
            "sub" | "dec" => RmwOp::Sub,
            "min" if is_unsigned => RmwOp::UMin,
            "max" if is_unsigned => RmwOp::UMax,
            "min" => RmwOp::Min,
            "max" => RmwOp::Max,
            "and" => RmwOp::And,
            "or" => RmwOp::Or,
            "xor" => RmwOp::Xor,
            "xchg" => RmwOp::Xchg,
            _ => return None,
        })
    };
    let what = match name.strip_prefix("atomic_").or_else(|| name.strip_prefix("atom_"))? {
        "load" => Atomic::Load,
        "store" => Atomic::Store,
        "exchange" => Atomic::Update(RmwOp::Xchg),
        "compare_exchange_strong" | "compare_exchange_weak" => Atomic::CompareExchange,
        "flag_test_and_set" => Atomic::TestAndSet,
        "flag_clear" => Atomic::Clear,
        // The atomics of OpenCL 1.
        "cmpxchg" => return Some(Access::Atomic(Atomic::Compare, relaxed)),
        step @ ("inc" | "dec") => {
            return Some(Access::Atomic(Atomic::Step(update(step)?), relaxed));
        }
        other => match other.strip_prefix("fetch_") {
            Some(op) => Atomic::Update(update(op)?),
            None => return Some(Access::Atomic(Atomic::Update(update(other)?), relaxed)),
        },
    };
    Some(Access::Atomic(what, order))
}

/// A function among the lanes of a sub-group.
fn sub_group(base: &str, kind: Option<Kind>) -> Option<Intrinsic> {
    let (is_intel, name) = match base.strip_prefix("intel_sub_group_") {
        Some(name) => (true, name),
        None => (
            false,
            base.strip_prefix("sub_group_").or_else(|| base.strip_prefix("get_sub_group_"))?,
        ),
    };
    let name = name.strip_prefix("non_uniform_").unwrap_or(name);
    let of_ballot = |asked| Some(Intrinsic::OfBallot(asked));
    let lanes = |place| Some(Intrinsic::LaneMask(place));
    let what = match name {
        "all" => SubGroup::All,
        "any" => SubGroup::Any,
        "all_equal" => SubGroup::AllEqual,
        "elect" => SubGroup::Elect,
        "ballot" => SubGroup::Ballot,
        "broadcast" if base.contains("non_uniform") => SubGroup::Read(From::Index),
        "shuffle" => SubGroup::Read(From::Index),
        "shuffle_xor" => SubGroup::Read(From::Xor),
        "shuffle_up" if is_intel => SubGroup::Read(From::UpOfTwo),
        "shuffle_down" if is_intel => SubGroup::Read(From::DownOfTwo),
        "shuffle_up" => SubGroup::Read(From::Up),
        "shuffle_down" => SubGroup::Read(From::Down),
        "rotate" => SubGroup::Read(From::Rotate),
        "clustered_rotate" => SubGroup::Read(From::RotateCluster),
        "inverse_ballot" => return of_ballot(OfBallot::Inverse),
        "ballot_bit_extract" => return of_ballot(OfBallot::Extract),
        "ballot_bit_count" => return of_ballot(OfBallot::Count),
        "ballot_inclusive_scan" => return of_ballot(OfBallot::Inclusive),
        "ballot_exclusive_scan" => return of_ballot(OfBallot::Exclusive),
        "ballot_find_lsb" => return of_ballot(OfBallot::First),
        "ballot_find_msb" => return of_ballot(OfBallot::Last),
        "eq_mask" => return lanes(Coordinate::LanesEqual),
        "lt_mask" => return lanes(Coordinate::LanesBelow),
        "le_mask" => return lanes(Coordinate::LanesUpTo),
        "gt_mask" => return lanes(Coordinate::LanesAbove),
        "ge_mask" => return lanes(Coordinate::LanesFrom),
        _ => {
            let over = [
                ("reduce_", Over::All),
                ("scan_exclusive_", Over::Before),
                ("scan_inclusive_", Over::UpTo),
                ("clustered_reduce_", Over::Cluster),
            ];
            let of = |&(prefix, over): &(&str, Over)| Some((name.strip_prefix(prefix)?, over));
            let (op, over) = over.iter().find_map(of)?;
            let (is_logical, op) = match op.strip_prefix("logical_") {
                Some(op) => (true, op),
                None => (false, op),
            };
            SubGroup::Combine(Combine { op: combination(op, kind)?, is_logical, over })
        }
    };
    Some(Intrinsic::Collective(Collective::SubGroup(what)))
}

/// A function among the threads of a workgroup.
fn work_group(base: &str, kind: Option<Kind>) -> Option<Intrinsic> {
    let name = base.strip_prefix("work_group_")?;
    let what = match name {
        "all" => WorkGroup::As(SubGroup::All),
        "any" => WorkGroup::As(SubGroup::Any),
        "broadcast" => WorkGroup::Broadcast,
        _ => match sub_group(&format!("sub_group_{name}"), kind)? {
            Intrinsic::Collective(Collective::SubGroup(what @ SubGroup::Combine(_))) => {
                WorkGroup::As(what)
            }
            _ => return None,
        },
    };
    Some(Intrinsic::WorkGroup(what))
}

/// A copy by a whole workgroup, by the name of the function and the type of an element.
fn copy(base: &str, called: &str) -> Option<Access> {
    let lines = |has_planes| Some(Access::CopyLines { has_planes });
    let is_strided = match base {
        "async_work_group_copy" => false,
        "async_work_group_strided_copy" => true,
        "async_work_group_copy_2D2D" => return lines(false),
        "async_work_group_copy_3D3D" => return lines(true),
        _ => return None,
    };
    copied(called.rsplit_once(base)?.1, is_strided).map(Access::Copy)
}

/// A copy, by the mangled types of its parameters; the first is a pointer.
pub(super) fn copied(parameters: &str, is_strided: bool) -> Option<Copy> {
    let element = pointee(parameters);
    let (lanes, number) = match element.strip_prefix("Dv").and_then(|of| of.split_once('_')) {
        Some((lanes, number)) => (lanes.parse().ok()?, number),
        None => (1, element),
    };
    let ty = match number.as_bytes().first()? {
        b'a' | b'c' | b'h' => Type::I8,
        b's' | b't' => Type::I16,
        b'i' | b'j' | b'f' => Type::I32,
        b'l' | b'm' | b'd' => Type::I64,
        b'D' if number.starts_with("Dh") => Type::I16,
        _ => return None,
    };
    // A vector of three elements has the size of four.
    Some(Copy { ty, parts: if lanes == 3 { 4 } else { lanes }, is_strided })
}

/// How several values of a type are combined.
fn combination(op: &str, kind: Option<Kind>) -> Option<Reduce> {
    let by_kind = |signed, unsigned, float| {
        Some(match kind? {
            Kind::Signed => signed,
            Kind::Unsigned => unsigned,
            Kind::Float => float,
        })
    };
    match op {
        "add" => by_kind(Reduce::Add, Reduce::Add, Reduce::FAdd),
        "mul" => by_kind(Reduce::Mul, Reduce::Mul, Reduce::FMul),
        "min" => by_kind(Reduce::SMin, Reduce::UMin, Reduce::FMin),
        "max" => by_kind(Reduce::SMax, Reduce::UMax, Reduce::FMax),
        "and" => Some(Reduce::And),
        "or" => Some(Reduce::Or),
        "xor" => Some(Reduce::Xor),
        _ => None,
    }
}

fn place(base: &str) -> Option<Coordinate> {
    let name = base.strip_prefix("__ockl_").unwrap_or(base);
    let along = match name {
        "get_local_id" | "__spirv_BuiltInLocalInvocationId" => Along::Thread,
        "get_group_id" | "__spirv_BuiltInWorkgroupId" => Along::Block,
        "get_global_id" | "__spirv_BuiltInGlobalInvocationId" => Along::Global,
        "get_local_size"
        | "get_enqueued_local_size"
        | "__spirv_BuiltInWorkgroupSize"
        | "__spirv_BuiltInEnqueuedWorkgroupSize" => Along::BlockSize,
        "get_num_groups" | "__spirv_BuiltInNumWorkgroups" => Along::GridSize,
        "get_global_size" | "__spirv_BuiltInGlobalSize" => Along::GlobalSize,
        "get_global_offset" | "__spirv_BuiltInGlobalOffset" => Along::Offset,
        _ => {
            return Some(match name {
                "get_work_dim" | "__spirv_BuiltInWorkDim" => Coordinate::Dimensions,
                "get_local_linear_id" | "__spirv_BuiltInLocalInvocationIndex" => Coordinate::Linear,
                "get_global_linear_id" | "__spirv_BuiltInGlobalLinearId" => {
                    Coordinate::GlobalLinear
                }
                "get_sub_group_local_id"
                | "lane_u32"
                | "__spirv_BuiltInSubgroupLocalInvocationId" => Coordinate::Lane,
                "get_sub_group_id" | "__spirv_BuiltInSubgroupId" => Coordinate::Wave,
                "get_max_sub_group_size" | "__spirv_BuiltInSubgroupMaxSize" => Coordinate::WaveSize,
                "get_num_sub_groups"
                | "get_enqueued_num_sub_groups"
                | "__spirv_BuiltInNumSubgroups"
                | "__spirv_BuiltInNumEnqueuedSubgroups" => Coordinate::WaveCount,
                "get_sub_group_size" | "__spirv_BuiltInSubgroupSize" => Coordinate::WaveThreads,
                _ => return None,
            });
        }
    };
    Some(Coordinate::Along(along))
}

fn kind(base: &str, called: &str) -> Option<Kind> {
    let parameters =
        called.strip_prefix("_Z").and_then(|_| called.rsplit_once(base)).map(|(_, p)| p);
    let Some(mut parameters) = parameters else {
        // Names of libdevice and of the device library contain their types.
        let is_float = base.ends_with('f')
            || ["_f16", "_f32", "_f64"].iter().any(|suffix| base.ends_with(suffix));
        return is_float.then_some(Kind::Float);
    };
    if let Some((_, of)) = parameters.strip_prefix("Dv").and_then(|rest| rest.split_once('_')) {
        parameters = of;
    }
    parameters = pointee(parameters);
    match parameters.as_bytes().first()? {
        b'a' | b'c' | b's' | b'i' | b'l' | b'x' => Some(Kind::Signed),
        b'h' | b't' | b'j' | b'm' | b'y' => Some(Kind::Unsigned),
        b'f' | b'd' => Some(Kind::Float),
        b'D' => parameters.starts_with("Dh").then_some(Kind::Float),
        _ => None,
    }
}

/// The mangled pointee type, without qualifiers: `ij` of `PU3AS1VU7_Atomicij`.
fn pointee(mangled: &str) -> &str {
    let mut rest = mangled;
    loop {
        if let Some(of) = rest.strip_prefix(['P', 'V', 'K']) {
            rest = of;
            continue;
        }
        // A qualifier of a vendor has a name.
        let Some(name) = rest.strip_prefix('U') else { return rest };
        let digits = name.len() - name.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: Option<usize> = name[..digits].parse().ok();
        match length.and_then(|length| name.get(digits + length..)) {
            Some(of) => rest = of,
            None => return rest,
        }
    }
}

fn pure(base: &str, kind: Option<Kind>) -> Option<Pure> {
    let (mut name, mut is_device) = (base, false);
    for prefix in ["__nv_", "__ocml_", "__spirv_ocl_", "native_", "half_"] {
        if let Some(rest) = name.strip_prefix(prefix) {
            (name, is_device) = (rest, prefix.starts_with("__"));
        }
    }
    if is_device {
        let types = ["_f16", "_f32", "_f64"];
        name = types.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        if base.starts_with("__nv_") && !matches!(name, "erf" | "modf" | "fdimf") {
            name = name.strip_suffix('f').unwrap_or(name);
        }
    }
    let by_kind = |signed, unsigned, float| match kind? {
        Kind::Signed => Some(signed),
        Kind::Unsigned => Some(unsigned),
        Kind::Float => Some(float),
    };
    Some(match name {
        "min" if !is_device => return by_kind(Pure::SMin, Pure::UMin, Pure::MinNum),
        "max" if !is_device => return by_kind(Pure::SMax, Pure::UMax, Pure::MaxNum),
        "min" | "llmin" | "s_min" => Pure::SMin,
        "max" | "llmax" | "s_max" => Pure::SMax,
        "umin" | "ullmin" | "u_min" => Pure::UMin,
        "umax" | "ullmax" | "u_max" => Pure::UMax,
        "fmin" => Pure::MinNum,
        "fmax" => Pure::MaxNum,
        "fma" => Pure::Fma,
        "mad" => Pure::MulAdd,
        "pow" | "powr" => Pure::Pow,
        "pown" | "powi" => Pure::PowI,
        "ldexp" => Pure::Scale,
        "copysign" => Pure::CopySign,
        "popcount" | "popc" | "popcll" => Pure::CtPop,
        "brev" | "brevll" | "bit_reverse" => Pure::BitReverse,
        "mul_hi" if !is_device => match kind? {
            Kind::Signed => Pure::MulHigh(true),
            Kind::Unsigned => Pure::MulHigh(false),
            Kind::Float => return None,
        },
        "s_mul_hi" | "mulhi" => Pure::MulHigh(true),
        "u_mul_hi" | "umulhi" => Pure::MulHigh(false),
        _ => Pure::Unary(unary(name)?),
    })
}

fn unary(name: &str) -> Option<Unary> {
    Some(match name {
        "sqrt" => Unary::Sqrt,
        "rsqrt" => Unary::RSqrt,
        "recip" => Unary::Rcp,
        "fabs" => Unary::Abs,
        "floor" => Unary::Floor,
        "ceil" => Unary::Ceil,
        "trunc" => Unary::Trunc,
        "rint" | "nearbyint" => Unary::RoundEven,
        "round" => Unary::Round,
        "exp" => Unary::Exp,
        "exp2" => Unary::Exp2,
        "exp10" => Unary::Exp10,
        "log" => Unary::Log,
        "log2" => Unary::Log2,
        "log10" => Unary::Log10,
        "sin" => Unary::Sin,
        "cos" => Unary::Cos,
        "tan" => Unary::Tan,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::form, *};

    /// Every row of the table that is about groups, barriers, atomics, or vectors at an index is
    /// executed.
    #[test]
    fn rows_are_executed() {
        let prefixes = [
            "sub_group_",
            "intel_sub_group_",
            "get_sub_group_",
            "atom",
            "vload",
            "vstore",
            "work_group_",
            "async_work_group_",
            "wait_group_events",
            "barrier",
            "prefetch",
            "__spirv_Group",
            "__spirv_Subgroup",
            "__spirv_Atomic",
        ];
        let is_about = |name: &&str| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let mut count = 0;
        for name in phalanx_target::library::names().into_iter().filter(is_about) {
            let called = format!("_Z{}{name}ii", name.len());
            // Among the lanes or threads of a group; the operation is the first.
            let of_scope = |scope| form(name, &called, &|at| Some(if at == 0 { scope } else { 0 }));
            let known = Intrinsic::of_library(name, &called).is_some();
            let is_executed = known || of_scope(2).is_some() || of_scope(3).is_some();
            assert!(is_executed, "{name}");
            count += 1;
        }
        assert!(count > 150, "{count}");
    }

    #[test]
    fn types_behind_pointers() {
        assert_eq!(pointee("PU3AS1VU7_Atomicij"), "ij");
        assert_eq!(pointee("PVjj"), "jj");
        assert_eq!(pointee("mPKf"), "mPKf");
        assert_eq!(pointee("PU"), "U");
    }
}
