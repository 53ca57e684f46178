//! Functions of libraries that are interpreted although they are only declared.
//!
//! Which functions are known by name is said by [`phalanx_target::library`]; here is what those
//! that can be interpreted do. Signed and unsigned minimum have one name: the mangled types of the
//! parameters tell them apart.
//!
//! ```text
//! _Z3minii -> the signed minimum     _Z3minjj -> the unsigned one     _Z3minff -> that of floats
//! ```

use super::{Along, Intrinsic, Place, Pure, Reduce, Unary};
use crate::{
    collective::Collective,
    reach::Reach,
    split::{Extent, Half, Split},
};

/// The type of the first parameter, as far as operations are told apart by it.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
}

impl Intrinsic {
    /// What a function of a library does: by its name in the table, and its name as it is called.
    /// None for one that is not interpreted.
    pub(crate) fn of_library(base: &str, called: &str) -> Option<Intrinsic> {
        use Intrinsic as I;
        if let Some(place) = place(base) {
            return Some(I::Place(place));
        }
        let kind = kind(base, called);
        let reduce = |signed, unsigned, float| {
            Some(I::Collective(Collective::Reduce(match kind? {
                Kind::Signed => signed,
                Kind::Unsigned => unsigned,
                Kind::Float => float,
            })))
        };
        Some(match base {
            "barrier" | "work_group_barrier" | "__spirv_ControlBarrier.workgroup" => {
                of_workgroup(Half::Both)
            }
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
            "sub_group_broadcast" | "intel_sub_group_broadcast" => {
                I::Collective(Collective::ReadLane)
            }
            "sub_group_broadcast_first" => I::Collective(Collective::First),
            "sub_group_reduce_add" | "intel_sub_group_reduce_add" => {
                return reduce(Reduce::Add, Reduce::Add, Reduce::FAdd);
            }
            "sub_group_reduce_min" | "intel_sub_group_reduce_min" => {
                return reduce(Reduce::SMin, Reduce::UMin, Reduce::FMin);
            }
            "sub_group_reduce_max" | "intel_sub_group_reduce_max" => {
                return reduce(Reduce::SMax, Reduce::UMax, Reduce::FMax);
            }
            "__assertfail" | "__assert_fail" => I::Trap,
            _ => I::Pure(pure(base, kind)?),
        })
    }
}

/// A barrier of all of a workgroup. Its arguments say which memory is seen behind it, which is all
/// of it here.
fn of_workgroup(half: Half) -> Intrinsic {
    Intrinsic::Split(Split { extent: Extent::Workgroup, half, has_number: false })
}

fn place(base: &str) -> Option<Place> {
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
                "get_work_dim" | "__spirv_BuiltInWorkDim" => Place::Dimensions,
                "get_local_linear_id" | "__spirv_BuiltInLocalInvocationIndex" => Place::Linear,
                "get_global_linear_id" | "__spirv_BuiltInGlobalLinearId" => Place::GlobalLinear,
                "get_sub_group_local_id"
                | "lane_u32"
                | "__spirv_BuiltInSubgroupLocalInvocationId" => Place::Lane,
                "get_sub_group_id" | "__spirv_BuiltInSubgroupId" => Place::Wave,
                "get_max_sub_group_size" | "__spirv_BuiltInSubgroupMaxSize" => Place::WaveSize,
                "get_num_sub_groups" | "__spirv_BuiltInNumSubgroups" => Place::WaveCount,
                _ => return None,
            });
        }
    };
    Some(Place::Along(along))
}

fn kind(base: &str, called: &str) -> Option<Kind> {
    let parameters =
        called.strip_prefix("_Z").and_then(|_| called.rsplit_once(base)).map(|(_, p)| p);
    let Some(mut parameters) = parameters else {
        // Names of libdevice and of the device library have their types in them.
        let is_float = base.ends_with('f')
            || ["_f16", "_f32", "_f64"].iter().any(|suffix| base.ends_with(suffix));
        return is_float.then_some(Kind::Float);
    };
    if let Some((_, of)) = parameters.strip_prefix("Dv").and_then(|rest| rest.split_once('_')) {
        parameters = of;
    }
    match parameters.as_bytes().first()? {
        b'a' | b'c' | b's' | b'i' | b'l' | b'x' => Some(Kind::Signed),
        b'h' | b't' | b'j' | b'm' | b'y' => Some(Kind::Unsigned),
        b'f' | b'd' => Some(Kind::Float),
        b'D' => parameters.starts_with("Dh").then_some(Kind::Float),
        _ => None,
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
