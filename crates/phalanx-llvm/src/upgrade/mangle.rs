//! Names of overloaded intrinsics.
//!
//! The name of an overloaded intrinsic ends with the types it is used at, `llvm.umax.v2i32`. Which of its types those are is
//! known here for the intrinsics of GPU code whose suffix older compilers left out or wrote differently.

use std::fmt::Write as _;

use phalanx_ir::{Context, Type, TypeKind};

/// A type of the signature that is part of the name.
#[derive(Copy, Clone)]
enum Position {
    /// The result.
    Ret,
    /// The second member of the result.
    RetSecond,
    /// A parameter.
    Param(usize),
    /// A parameter, counted from the last one, which is 1.
    FromEnd(usize),
}

use Position::{FromEnd, Param, Ret, RetSecond};

type Spec = &'static [Position];

/// Names without `llvm.` and suffix, and the types that make the suffix.
const SPECS: &[(Spec, &[&str])] = &[
    (
        &[Ret],
        &[
            "abs",
            "amdgcn.ballot",
            "amdgcn.cos",
            "amdgcn.cubeid",
            "amdgcn.div.fixup",
            "amdgcn.div.fmas",
            "amdgcn.exp2",
            "amdgcn.fmed3",
            "amdgcn.fract",
            "amdgcn.frexp.mant",
            "amdgcn.if.break",
            "amdgcn.inverse.ballot",
            "amdgcn.log",
            "amdgcn.log.clamp",
            "amdgcn.mov.dpp",
            "amdgcn.mov.dpp8",
            "amdgcn.permlane16",
            "amdgcn.permlane64",
            "amdgcn.permlanex16",
            "amdgcn.rcp",
            "amdgcn.readfirstlane",
            "amdgcn.readlane",
            "amdgcn.rsq",
            "amdgcn.rsq.clamp",
            "amdgcn.sbfe",
            "amdgcn.set.inactive",
            "amdgcn.sin",
            "amdgcn.softwqm",
            "amdgcn.strict.wqm",
            "amdgcn.strict.wwm",
            "amdgcn.trig.preop",
            "amdgcn.ubfe",
            "amdgcn.update.dpp",
            "amdgcn.wave.reduce.add",
            "amdgcn.wave.reduce.and",
            "amdgcn.wave.reduce.max",
            "amdgcn.wave.reduce.min",
            "amdgcn.wave.reduce.or",
            "amdgcn.wave.reduce.sub",
            "amdgcn.wave.reduce.umax",
            "amdgcn.wave.reduce.umin",
            "amdgcn.wave.reduce.xor",
            "amdgcn.wqm",
            "amdgcn.writelane",
            "amdgcn.wwm",
            "bitreverse",
            "bswap",
            "ceil",
            "copysign",
            "cos",
            "ctlz",
            "ctpop",
            "cttz",
            "exp",
            "exp2",
            "fabs",
            "floor",
            "fma",
            "fmuladd",
            "frameaddress",
            "fshl",
            "fshr",
            "launder.invariant.group",
            "log",
            "log10",
            "log2",
            "maximum",
            "maxnum",
            "minimum",
            "minnum",
            "nearbyint",
            "pow",
            "rint",
            "round",
            "sadd.sat",
            "sin",
            "smax",
            "smin",
            "spv.global.offset",
            "spv.global.size",
            "spv.group.id",
            "spv.num.workgroups",
            "spv.thread.id",
            "spv.thread.id.in.group",
            "spv.workgroup.size",
            "sqrt",
            "ssub.sat",
            "stacksave",
            "strip.invariant.group",
            "thread.pointer",
            "trunc",
            "uadd.sat",
            "umax",
            "umin",
            "usub.sat",
        ],
    ),
    (&[Ret, Param(0)], &["amdgcn.fcmp", "amdgcn.icmp", "fptosi.sat", "fptoui.sat"]),
    (&[Ret, Param(1)], &["powi", "ptrmask"]),
    (&[RetSecond], &["amdgcn.if"]),
    (&[RetSecond, Param(0)], &["amdgcn.else"]),
    (
        &[Param(0)],
        &[
            "amdgcn.loop",
            "lifetime.end",
            "lifetime.start",
            "prefetch",
            "stackrestore",
            "vector.reduce.add",
            "vector.reduce.and",
            "vector.reduce.fmax",
            "vector.reduce.fmin",
            "vector.reduce.mul",
            "vector.reduce.or",
            "vector.reduce.smax",
            "vector.reduce.smin",
            "vector.reduce.umax",
            "vector.reduce.umin",
            "vector.reduce.xor",
        ],
    ),
    (&[Param(1)], &["vector.reduce.fadd", "vector.reduce.fmul"]),
    (&[Param(0), Param(1), Param(2)], &["memcpy", "memcpy.inline", "memmove"]),
    (&[Param(0), Param(2)], &["memset", "memset.inline"]),
    (&[Ret, Param(0)], &["nvvm.ldu.global.f", "nvvm.ldu.global.i", "nvvm.ldu.global.p"]),
];

fn spec(base: &str) -> Option<Spec> {
    let listed = SPECS.iter().find(|(_, names)| names.binary_search(&base).is_ok());
    if let Some(&(spec, _)) = listed {
        return Some(spec);
    }
    // The operation and the shape of the image follow: data, first coordinate, resource.
    let image = base.strip_prefix("amdgcn.image.")?;
    match (image.split_once('.')?, image.split('.').count()) {
        (("atomic", rest), 3) if rest.starts_with("cmpswap.") => Some(&[Ret, Param(2), FromEnd(3)]),
        (("atomic", _), 3) => Some(&[Ret, Param(1), FromEnd(3)]),
        _ => None,
    }
}

/// Whether a part of a name is a type suffix, today's or one of typed pointers.
fn is_suffix(part: &str) -> bool {
    let part = part.strip_prefix("nx").unwrap_or(part);
    part == "bf16"
        || part.len() > 1
            && part.starts_with(['i', 'f', 'p', 'v'])
            && part.as_bytes()[1].is_ascii_digit()
}

/// Today's name of an overloaded intrinsic that has this name (without `llvm.`) and signature; None when it is not
/// known here, or when a type of it has no simple suffix.
pub(super) fn remangled(
    context: &Context,
    name: &str,
    ret: Type,
    params: &[Type],
) -> Option<String> {
    let mut base = name;
    let spec = loop {
        match spec(base) {
            Some(spec) => break spec,
            None => {
                let (shorter, last) = base.rsplit_once('.')?;
                base = is_suffix(last).then_some(shorter)?;
            }
        }
    };
    let mut mangled = base.to_string();
    for position in spec {
        let ty = match *position {
            Ret => ret,
            RetSecond => match context.type_kind(ret) {
                TypeKind::Struct { fields, .. } => *fields.get(1)?,
                _ => return None,
            },
            Param(at) => *params.get(at)?,
            FromEnd(at) => params[params.len().checked_sub(at)?],
        };
        mangled.push('.');
        suffix(context, ty, &mut mangled)?;
    }
    Some(mangled)
}

/// Appends the suffix of a type that is no structure and no function.
fn suffix(context: &Context, ty: Type, out: &mut String) -> Option<()> {
    let mut ty = ty;
    loop {
        let text = match context.type_kind(ty) {
            TypeKind::Int(bits) => {
                let _ = write!(out, "i{bits}");
                return Some(());
            }
            TypeKind::Ptr(space) => {
                let _ = write!(out, "p{space}");
                return Some(());
            }
            TypeKind::Vector { elem, len, scalable } => {
                let _ = write!(out, "{}v{len}", if *scalable { "nx" } else { "" });
                ty = *elem;
                continue;
            }
            TypeKind::Half => "f16",
            TypeKind::BFloat => "bf16",
            TypeKind::Float => "f32",
            TypeKind::Double => "f64",
            TypeKind::Fp128 => "f128",
            TypeKind::X86Fp80 => "f80",
            TypeKind::PpcFp128 => "ppcf128",
            _ => return None,
        };
        *out += text;
        return Some(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        for (_, names) in SPECS {
            assert!(names.is_sorted(), "{names:?}");
        }
    }

    #[test]
    fn suffixes() {
        let context = Context::new();
        let vector =
            context.type_of_kind(&TypeKind::Vector { elem: Type::PTR3, len: 2, scalable: true });
        let name = |name, ret, params: &[Type]| remangled(&context, name, ret, params);
        assert_eq!(name("amdgcn.readlane", Type::I32, &[]).as_deref(), Some("amdgcn.readlane.i32"));
        assert_eq!(name("ctpop.i8", vector, &[]).as_deref(), Some("ctpop.nxv2p3"));
        assert_eq!(name("amdgcn.permlane16.var", Type::I32, &[]), None);
        assert_eq!(name("amdgcn.s.barrier", Type::VOID, &[]), None);
        let copy = [Type::PTR, Type::PTR1, Type::I64, Type::I1];
        let copied = name("memcpy.p0i8.p1i8.i64", Type::VOID, &copy);
        assert_eq!(copied.as_deref(), Some("memcpy.p0.p1.i64"));
    }
}
