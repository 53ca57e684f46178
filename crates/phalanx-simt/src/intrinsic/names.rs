//! Recognises intrinsics by name, without the type suffixes of overloads.
//!
//! One function for the names that all targets share and one per target. A call of an unlisted name
//! is a fault that says so.

use super::{Barrier, Coordinate, Gives, Intrinsic, Lanes, Pure, Reduce, Token, Unary};
use crate::{
    collective::Collective,
    reach::Reach,
    split::{Extent, Half, Split},
};

impl Intrinsic {
    /// The intrinsic of a name; none for one that is not interpreted.
    pub(crate) fn from_name(name: &str) -> Option<Intrinsic> {
        let name = name.strip_prefix("llvm.")?;
        if let Some(name) = name.strip_prefix("amdgcn.") {
            return amdgcn(name);
        }
        if let Some(name) = name.strip_prefix("nvvm.") {
            return nvvm(name);
        }
        generic(without_types(name))
    }
}

/// A name without the suffixes that spell types.
fn without_types(mut name: &str) -> &str {
    let is_type = |part: &str| {
        let part = part
            .strip_prefix("nxv")
            .or_else(|| part.strip_prefix('v'))
            .map_or(part, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        let digits = part.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let kind = &part[..part.len() - digits.len()];
        matches!(kind, "i" | "f" | "bf" | "p" | "isVoid")
            && (kind == "isVoid" || !digits.is_empty())
            && digits.bytes().all(|b| b.is_ascii_digit())
    };
    while let Some((rest, _)) = name.rsplit_once('.').filter(|(_, last)| is_type(last)) {
        name = rest;
    }
    name
}

fn generic(name: &str) -> Option<Intrinsic> {
    use Intrinsic as I;
    let unary = |unary| Some(I::Pure(Pure::Unary(unary)));
    Some(match name {
        "lifetime.start"
        | "lifetime.end"
        | "donothing"
        | "sideeffect"
        | "prefetch"
        | "experimental.noalias.scope.decl"
        | "invariant.end"
        | "var.annotation"
        | "dbg.value"
        | "dbg.declare"
        | "dbg.label"
        | "dbg.assign"
        | "pseudoprobe" => I::Nothing,
        "assume" => I::Assume,
        "expect"
        | "expect.with.probability"
        | "launder.invariant.group"
        | "strip.invariant.group"
        | "annotation"
        | "ptr.annotation"
        | "ssa.copy"
        | "arithmetic.fence"
        | "threadlocal.address" => I::First,
        "is.constant" => I::Number(0),
        "objectsize" => I::Number(u64::MAX),
        "trap" | "debugtrap" | "ubsantrap" => I::Trap,
        "readcyclecounter" | "readsteadycounter" => I::Clock,
        "memcpy" | "memmove" | "memcpy.inline" => I::Copy,
        "memset" | "memset.inline" => I::Set,
        "experimental.convergence.entry" => I::Token(Token::Entry),
        "experimental.convergence.anchor" => I::Token(Token::Anchor),
        "experimental.convergence.loop" => I::Token(Token::Loop),
        "sqrt" => return unary(Unary::Sqrt),
        "fabs" => return unary(Unary::Abs),
        "floor" => return unary(Unary::Floor),
        "ceil" => return unary(Unary::Ceil),
        "trunc" => return unary(Unary::Trunc),
        "rint" | "nearbyint" | "roundeven" => return unary(Unary::RoundEven),
        "round" => return unary(Unary::Round),
        "exp" => return unary(Unary::Exp),
        "exp2" => return unary(Unary::Exp2),
        "exp10" => return unary(Unary::Exp10),
        "log" => return unary(Unary::Log),
        "log2" => return unary(Unary::Log2),
        "log10" => return unary(Unary::Log10),
        "sin" => return unary(Unary::Sin),
        "cos" => return unary(Unary::Cos),
        "tan" => return unary(Unary::Tan),
        "canonicalize" => return unary(Unary::Canonicalize),
        _ => I::Pure(match name {
            "abs" => Pure::Abs,
            "smax" => Pure::SMax,
            "smin" => Pure::SMin,
            "umax" => Pure::UMax,
            "umin" => Pure::UMin,
            "ctpop" => Pure::CtPop,
            "ctlz" => Pure::CtLz,
            "cttz" => Pure::CtTz,
            "bswap" => Pure::BSwap,
            "bitreverse" => Pure::BitReverse,
            "fshl" => Pure::FunnelLeft,
            "fshr" => Pure::FunnelRight,
            "sadd.with.overflow" => Pure::SAddOverflow,
            "uadd.with.overflow" => Pure::UAddOverflow,
            "ssub.with.overflow" => Pure::SSubOverflow,
            "usub.with.overflow" => Pure::USubOverflow,
            "smul.with.overflow" => Pure::SMulOverflow,
            "umul.with.overflow" => Pure::UMulOverflow,
            "sadd.sat" => Pure::SAddSat,
            "uadd.sat" => Pure::UAddSat,
            "ssub.sat" => Pure::SSubSat,
            "usub.sat" => Pure::USubSat,
            "sshl.sat" => Pure::SShlSat,
            "ushl.sat" => Pure::UShlSat,
            "ucmp" => Pure::UCompare,
            "scmp" => Pure::SCompare,
            "fma" => Pure::Fma,
            "fmuladd" => Pure::MulAdd,
            "minnum" | "minimumnum" => Pure::MinNum,
            "maxnum" | "maximumnum" => Pure::MaxNum,
            "minimum" => Pure::Minimum,
            "maximum" => Pure::Maximum,
            "copysign" => Pure::CopySign,
            "pow" => Pure::Pow,
            "powi" => Pure::PowI,
            "ldexp" => Pure::Scale,
            "is.fpclass" => Pure::IsClass,
            "fptosi.sat" => Pure::ToSignedSat,
            "fptoui.sat" => Pure::ToUnsignedSat,
            "ptrmask" => Pure::PtrMask,
            "vector.reverse" => Pure::Lanes(Lanes::Reverse),
            "vector.insert" => Pure::Lanes(Lanes::Insert),
            "vector.extract" => Pure::Lanes(Lanes::Extract),
            _ if name.starts_with("vector.interleave") => Pure::Lanes(Lanes::Interleave),
            _ if name.starts_with("vector.deinterleave") => {
                let count = name.strip_prefix("vector.deinterleave")?.parse().ok();
                Pure::Lanes(Lanes::Deinterleave(count.filter(|count| (2..=8).contains(count))?))
            }
            _ => Pure::Reduce(match name.strip_prefix("vector.reduce.")? {
                "add" => Reduce::Add,
                "mul" => Reduce::Mul,
                "and" => Reduce::And,
                "or" => Reduce::Or,
                "xor" => Reduce::Xor,
                "smax" => Reduce::SMax,
                "smin" => Reduce::SMin,
                "umax" => Reduce::UMax,
                "umin" => Reduce::UMin,
                "fadd" => Reduce::FAdd,
                "fmul" => Reduce::FMul,
                "fmax" => Reduce::FMax,
                "fmin" => Reduce::FMin,
                "fmaximum" => Reduce::FMaximum,
                "fminimum" => Reduce::FMinimum,
                _ => return None,
            }),
        }),
    })
}

fn dimension(name: &str) -> Option<usize> {
    ["x", "y", "z"].iter().position(|&d| d == name)
}

/// PTX's barriers of a workgroup, by the rest of their names. Aligned barriers wait like others.
fn numbered(name: &str) -> Option<Intrinsic> {
    let (what, threads) = name.rsplit_once('.')?;
    let gives = match what.strip_suffix(".aligned").unwrap_or(what) {
        "sync" => Gives::Nothing,
        "red.popc" => Gives::Count,
        "red.and" => Gives::And,
        "red.or" => Gives::Or,
        _ => return None,
    };
    let is_counted = match threads {
        "all" => false,
        "count" => true,
        _ => return None,
    };
    Some(Intrinsic::Barrier(Barrier { is_counted, gives }))
}

fn split(extent: Extent, half: Half) -> Intrinsic {
    Intrinsic::Split(Split { extent, half, has_number: true })
}

fn amdgcn(name: &str) -> Option<Intrinsic> {
    use Intrinsic as I;
    if let Some(d) = name.strip_prefix("workitem.id.") {
        return Some(I::Coordinate(Coordinate::Thread(dimension(d)?)));
    }
    if let Some(d) = name.strip_prefix("workgroup.id.") {
        return Some(I::Coordinate(Coordinate::Block(dimension(d)?)));
    }
    if let Some(of_cluster) = name.strip_prefix("cluster.") {
        let (base, last) = of_cluster.rsplit_once('.')?;
        return Some(I::Coordinate(match (base, dimension(last)) {
            ("id", Some(d)) => Coordinate::Cluster(d),
            ("workgroup.id", Some(d)) => Coordinate::InCluster(d),
            ("workgroup.max.id", Some(d)) => Coordinate::ClusterSize(d, 1),
            ("workgroup.max.flat", None) if last == "id" => Coordinate::ClusterBlocks(1),
            ("workgroup.flat", None) if last == "id" => Coordinate::ClusterRank,
            _ => return None,
        }));
    }
    let unary = |unary| Some(I::Pure(Pure::Unary(unary)));
    Some(match without_types(name) {
        "dispatch.ptr" => I::Coordinate(Coordinate::DispatchPacket),
        "implicitarg.ptr" => I::Coordinate(Coordinate::ImplicitArguments),
        "mbcnt.lo" => I::Coordinate(Coordinate::CountLow),
        "mbcnt.hi" => I::Coordinate(Coordinate::CountHigh),
        "wavefrontsize" => I::Coordinate(Coordinate::WaveSize),
        "wave.id" => I::Coordinate(Coordinate::Wave),
        "is.shared" => I::IsShared,
        "is.private" => I::IsPrivate,
        "s.memtime" | "s.memrealtime" | "s.getreg" => I::Clock,
        "s.sleep"
        | "s.waitcnt"
        | "sched.barrier"
        | "sched.group.barrier"
        | "s.setprio"
        | "s.nop"
        | "s.wait.asynccnt"
        | "iglp.opt" => I::Nothing,
        "s.barrier" => split(Extent::Workgroup, Half::Both),
        "s.barrier.signal" => split(Extent::Workgroup, Half::Arrive { relaxed: false }),
        "s.barrier.signal.isfirst" => split(Extent::Workgroup, Half::ArriveFirst),
        "s.barrier.wait" => split(Extent::Workgroup, Half::Wait),
        "s.cluster.barrier" => split(Extent::Cluster, Half::Both),
        "wave.barrier" => I::Collective(Collective::Meet),
        "endpgm" | "s.trap" => I::Trap,
        "ballot" => I::Collective(Collective::Ballot),
        "readfirstlane" => I::Collective(Collective::First),
        "readlane" => I::Collective(Collective::ReadLane),
        "ds.bpermute" => I::Collective(Collective::Pull { lanes: 64 }),
        "ds.permute" => I::Collective(Collective::Push),
        "ds.swizzle" => I::Collective(Collective::Swizzle),
        "update.dpp" => I::Collective(Collective::Dpp { keeps_old: true }),
        "mov.dpp" => I::Collective(Collective::Dpp { keeps_old: false }),
        "wave.reduce.add" => I::Collective(Collective::Reduce(Reduce::Add)),
        "wave.reduce.and" => I::Collective(Collective::Reduce(Reduce::And)),
        "wave.reduce.or" => I::Collective(Collective::Reduce(Reduce::Or)),
        "wave.reduce.xor" => I::Collective(Collective::Reduce(Reduce::Xor)),
        "wave.reduce.max" => I::Collective(Collective::Reduce(Reduce::SMax)),
        "wave.reduce.min" => I::Collective(Collective::Reduce(Reduce::SMin)),
        "wave.reduce.umax" => I::Collective(Collective::Reduce(Reduce::UMax)),
        "wave.reduce.umin" => I::Collective(Collective::Reduce(Reduce::UMin)),
        "fract" => return unary(Unary::Fract),
        "rcp" => return unary(Unary::Rcp),
        "rsq" => return unary(Unary::RSqrt),
        "sqrt" => return unary(Unary::Sqrt),
        "exp2" => return unary(Unary::Exp2),
        "log" => return unary(Unary::Log2),
        "sad.u8" => I::Pure(Pure::SumOfDifferences),
        "ubfe" => I::Pure(Pure::Field(false)),
        "sbfe" => I::Pure(Pure::Field(true)),
        "mul.u24" => I::Pure(Pure::MulLow24(false)),
        "mul.i24" => I::Pure(Pure::MulLow24(true)),
        "fmed3" => I::Pure(Pure::FMed3),
        "inverse.ballot" => I::Collective(Collective::InverseBallot),
        _ => return None,
    })
}

fn nvvm(name: &str) -> Option<Intrinsic> {
    use Intrinsic as I;
    if let Some(register) = name.strip_prefix("read.ptx.sreg.") {
        let (base, last) = register.rsplit_once('.').unwrap_or((register, ""));
        let place = match (base, dimension(last)) {
            ("tid", Some(d)) => Coordinate::Thread(d),
            ("ctaid", Some(d)) => Coordinate::Block(d),
            ("ntid", Some(d)) => Coordinate::BlockSize(d),
            ("nctaid", Some(d)) => Coordinate::GridSize(d),
            ("clusterid", Some(d)) => Coordinate::Cluster(d),
            ("nclusterid", Some(d)) => Coordinate::ClusterCount(d),
            ("cluster.ctaid", Some(d)) => Coordinate::InCluster(d),
            ("cluster.nctaid", Some(d)) => Coordinate::ClusterSize(d, 0),
            ("lanemask", None) => match last {
                "eq" => Coordinate::LanesEqual,
                "lt" => Coordinate::LanesBelow,
                "le" => Coordinate::LanesUpTo,
                "gt" => Coordinate::LanesAbove,
                "ge" => Coordinate::LanesFrom,
                _ => return None,
            },
            _ => match register {
                "laneid" => Coordinate::Lane,
                "warpid" => Coordinate::Wave,
                "warpsize" => Coordinate::WaveSize,
                "nwarpid" => Coordinate::WaveCount,
                "cluster.ctarank" => Coordinate::ClusterRank,
                "cluster.nctarank" => Coordinate::ClusterBlocks(0),
                "clock" | "clock64" | "globaltimer" | "globaltimer.lo" => return Some(I::Clock),
                "smid" | "gridid" => return Some(I::Number(0)),
                "nsmid" => return Some(I::Number(1)),
                _ => return None,
            },
        };
        return Some(I::Coordinate(place));
    }
    if let Some(rest) = name.strip_prefix("shfl.sync.") {
        let (mode, kind) = rest.split_once('.')?;
        let with_predicate = kind.ends_with('p');
        let mode = match mode {
            "idx" => crate::collective::Shuffle::Index,
            "up" => crate::collective::Shuffle::Up,
            "down" => crate::collective::Shuffle::Down,
            "bfly" => crate::collective::Shuffle::Xor,
            _ => return None,
        };
        return Some(I::Collective(Collective::Shuffle { mode, with_predicate }));
    }
    if let Some(rest) = name.strip_prefix("redux.sync.") {
        let reduce = match rest {
            "add" => Reduce::Add,
            "and" => Reduce::And,
            "or" => Reduce::Or,
            "xor" => Reduce::Xor,
            "max" => Reduce::SMax,
            "min" => Reduce::SMin,
            "umax" => Reduce::UMax,
            "umin" => Reduce::UMin,
            _ => return None,
        };
        return Some(I::Collective(Collective::ReduceMasked(reduce)));
    }
    if let Some(barrier) = name.strip_prefix("barrier.cta.") {
        return numbered(barrier);
    }
    if name.starts_with("ldu.global.") {
        return Some(I::Load);
    }
    if name.starts_with("membar.") || name.starts_with("fence.") {
        let reach = match name {
            "membar.cta" => Reach::Workgroup,
            "fence.sc.cluster" => Reach::Cluster,
            _ => Reach::Device,
        };
        return Some(I::Fence(reach));
    }
    let unary = |unary| Some(I::Pure(Pure::Unary(unary)));
    Some(match name {
        "activemask" => I::Collective(Collective::Active),
        "bar.warp.sync" => I::Collective(Collective::MeetMasked),
        "vote.all.sync" => I::Collective(Collective::All),
        "vote.any.sync" => I::Collective(Collective::Any),
        "vote.uni.sync" => I::Collective(Collective::Same),
        "vote.ballot.sync" => I::Collective(Collective::BallotMasked),
        "match.any.sync.i32" | "match.any.sync.i64" => I::Collective(Collective::MatchAny),
        "match.all.sync.i32p" | "match.all.sync.i64p" => I::Collective(Collective::MatchAll),
        "elect.sync" => I::Collective(Collective::Elect),
        "barrier.cluster.arrive" | "barrier.cluster.arrive.aligned" => {
            split(Extent::Cluster, Half::Arrive { relaxed: false })
        }
        "barrier.cluster.arrive.relaxed" | "barrier.cluster.arrive.relaxed.aligned" => {
            split(Extent::Cluster, Half::Arrive { relaxed: true })
        }
        "barrier.cluster.wait" | "barrier.cluster.wait.aligned" => {
            split(Extent::Cluster, Half::Wait)
        }
        "isspacep.shared" => I::IsShared,
        "isspacep.local" => I::IsPrivate,
        "isspacep.global" => I::IsGlobal,
        "rsqrt.approx.f" | "rsqrt.approx.d" | "rsqrt.approx.ftz.f" => return unary(Unary::RSqrt),
        "rcp.approx.ftz.f" | "rcp.rn.f" | "rcp.rn.d" => return unary(Unary::Rcp),
        "sqrt.rn.f" | "sqrt.approx.f" | "sqrt.rn.d" | "sqrt.f" => return unary(Unary::Sqrt),
        "ex2.approx.f" | "ex2.approx.ftz.f" => return unary(Unary::Exp2),
        "lg2.approx.f" | "lg2.approx.ftz.f" => return unary(Unary::Log2),
        "sin.approx.f" => return unary(Unary::Sin),
        "cos.approx.f" => return unary(Unary::Cos),
        "floor.f" | "floor.d" => return unary(Unary::Floor),
        "fabs.f" | "fabs.d" => return unary(Unary::Abs),
        "mulhi.i" | "mulhi.ll" => I::Pure(Pure::MulHigh(true)),
        "mulhi.ui" | "mulhi.ull" => I::Pure(Pure::MulHigh(false)),
        "mul24.i" => I::Pure(Pure::MulLow24(true)),
        "mul24.ui" => I::Pure(Pure::MulLow24(false)),
        _ => return None,
    })
}
