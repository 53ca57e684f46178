//! Recognizes reads of thread indices, and values that are never poison in some threads only.

use phalanx_ir::{Const, InstId, attributes::AttrKind, constant::ConstKind};
use phalanx_target::{Intrinsic, Transfer, calling_convention::Entry, transfer::Coordinate};

use super::ShapeContext;

/// A call whose result has a known meaning.
pub(crate) enum Known {
    /// The index along x, y, z, or the lane.
    Index(usize),
    /// The extent of workgroups along a dimension.
    Extent(usize),
    /// Lanes in a wave.
    WaveSize,
    /// The number of lanes below this one: among the first 32 lanes, or among the others.
    LanesBelow {
        /// Whether it counts lanes behind the first 32.
        high: bool,
    },
    /// The smaller or the larger of two numbers: signed, smaller.
    Extremum(bool, bool),
    /// Another special register: never poison.
    Defined,
}

/// The value of an integer constant of at most 64 bits.
pub(crate) fn integer(place: ShapeContext<'_>, constant: Const) -> Option<u64> {
    match &place.code.context.const_data(constant).kind {
        ConstKind::Int(int) => int.to_u64(),
        ConstKind::Zero => Some(0),
        _ => None,
    }
}

/// Arguments of kernels are the same in all threads, poison or not.
pub(crate) fn argument_is_defined(place: ShapeContext<'_>, position: u32) -> bool {
    let header = place.code.header;
    let architecture = place.env.target.architecture();
    place.code.entry(architecture) == Entry::Kernel
        || place
            .code
            .context
            .param_attrs(header.attributes, position as usize)
            .has(AttrKind::NoUndef)
}

/// The intrinsic that a callee is.
pub(crate) fn intrinsic(place: ShapeContext<'_>, callee: Const) -> Option<Intrinsic> {
    let context = place.code.context;
    let ConstKind::Global(name) = context.const_data(callee).kind else { return None };
    place.code.intrinsic(name)
}

/// The known meaning of a call of an intrinsic.
pub(crate) fn known(place: ShapeContext<'_>, call: InstId, found: Intrinsic) -> Option<Known> {
    let body = place.code.body;
    let is_all_ones = |at: usize| {
        let constant = body.call_args(call).get(at).and_then(|mask| mask.as_const());
        constant.and_then(|c| integer(place, c)).is_some_and(|mask| mask as u32 == u32::MAX)
    };
    Some(match found.base {
        "workitem.id.x" | "read.ptx.sreg.tid.x" => Known::Index(0),
        "workitem.id.y" | "read.ptx.sreg.tid.y" => Known::Index(1),
        "workitem.id.z" | "read.ptx.sreg.tid.z" => Known::Index(2),
        "read.ptx.sreg.laneid" => Known::Index(3),
        "read.ptx.sreg.ntid.x" => Known::Extent(0),
        "read.ptx.sreg.ntid.y" => Known::Extent(1),
        "read.ptx.sreg.ntid.z" => Known::Extent(2),
        "read.ptx.sreg.warpsize" => Known::WaveSize,
        "mbcnt.lo" if is_all_ones(0) => Known::LanesBelow { high: false },
        "mbcnt.hi" if is_all_ones(0) => Known::LanesBelow { high: true },
        "get_local_size" | "__ockl_get_local_size" => {
            let dim = body.call_args(call).first()?.as_const()?;
            Known::Extent(usize::try_from(integer(place, dim)?).ok().filter(|dim| *dim < 3)?)
        }
        "umin" => Known::Extremum(false, true),
        "umax" => Known::Extremum(false, false),
        "smin" => Known::Extremum(true, true),
        "smax" => Known::Extremum(true, false),
        _ => match found.info.result {
            Transfer::Coordinate(Coordinate::Thread) => {
                let dim = body.call_args(call).first()?.as_const()?;
                match integer(place, dim)? {
                    dim @ 0..=2 => Known::Index(dim as usize),
                    _ => return None,
                }
            }
            Transfer::Source(sources) if !sources.is_empty() || found.base.starts_with("read.") => {
                match found.info.is_invariant_with_operands() {
                    true => Known::Defined,
                    false => return None,
                }
            }
            _ => return None,
        },
    })
}
