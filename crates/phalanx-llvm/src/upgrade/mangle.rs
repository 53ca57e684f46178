//! Names of overloaded intrinsics.
//!
//! The name of an overloaded intrinsic ends with its types, `llvm.umax.v2i32`. Older compilers
//! omitted or spelled some types differently. People do the same if an intrinsic is not declared.

use std::fmt::Write as _;

use phalanx_ir::{
    Context, Function, StructName, Type, TypeKind,
    intrinsics::{Lookup, lookup},
};

/// Names that are longer than this are not made: types nest, and a small text can be a giant name.
const LONGEST: usize = 1 << 16;

/// Today's name of an overloaded intrinsic that has this name, both without `llvm.`, and this
/// result and these parameters; None when it is none, or when the types have no place in names.
pub(crate) fn remangled(
    context: &Context,
    name: &str,
    ret: Type,
    params: &[Type],
    vararg: bool,
) -> Option<String> {
    let Lookup::Known(base, signature) = lookup(format!("llvm.{name}").as_bytes()) else {
        return None;
    };
    if !signature.is_overloaded() {
        return None;
    }
    let mut mangled = base.to_owned();
    for ty in signature.overloads(context, ret, params, vararg).ok()? {
        mangled.push('.');
        suffix(context, ty, &mut mangled)?;
    }
    Some(mangled)
}

/// Today's name of an overloaded intrinsic that is called by this name, both with `llvm.`, with
/// this function type.
pub(crate) fn mangled(context: &Context, name: &[u8], ty: Type) -> Option<Vec<u8>> {
    let name = std::str::from_utf8(name.strip_prefix(b"llvm.")?).ok()?;
    let (ret, params, vararg) = Function::split_type(context, ty)?;
    let name = remangled(context, name, ret, params, vararg)?;
    Some(format!("llvm.{name}").into_bytes())
}

/// Whether the intrinsic of this name can have this function type.
pub(crate) fn is_intrinsic_type(context: &Context, name: &[u8], ty: Type) -> bool {
    let (Some(signature), Some((ret, params, vararg))) =
        (lookup(name).signature(), Function::split_type(context, ty))
    else {
        return false;
    };
    signature.overloads(context, ret, params, vararg).is_ok()
}

/// What is still to be written of a type.
enum Piece {
    Type(Type),
    Text(&'static str),
    /// A parameter of a target type.
    Number(u32),
}

/// Appends the suffix of a type.
fn suffix(context: &Context, ty: Type, out: &mut String) -> Option<()> {
    let mut pieces = vec![Piece::Type(ty)];
    while let Some(piece) = pieces.pop() {
        if out.len() > LONGEST || pieces.len() > LONGEST {
            return None;
        }
        let ty = match piece {
            Piece::Text(text) => {
                *out += text;
                continue;
            }
            Piece::Number(number) => {
                let _ = write!(out, "_{number}");
                continue;
            }
            Piece::Type(ty) => ty,
        };
        // Writing to a string never fails.
        let _ = match context.type_kind(ty) {
            TypeKind::Int(bits) => write!(out, "i{bits}"),
            TypeKind::Ptr(space) => write!(out, "p{space}"),
            TypeKind::Vector { elem, len, scalable } => {
                pieces.push(Piece::Type(*elem));
                write!(out, "{}v{len}", if *scalable { "nx" } else { "" })
            }
            TypeKind::Array { elem, len } => {
                pieces.push(Piece::Type(*elem));
                write!(out, "a{len}")
            }
            TypeKind::Struct { fields, .. } => {
                pieces.push(Piece::Text("s"));
                pieces.extend(fields.iter().rev().copied().map(Piece::Type));
                out.write_str("sl_")
            }
            TypeKind::Named(StructName::Named(name)) => {
                write!(out, "s_{}s", context.text(*name))
            }
            TypeKind::Function { ret, params, vararg } => {
                pieces.push(Piece::Text(if *vararg { "varargf" } else { "f" }));
                pieces.extend(params.iter().rev().copied().map(Piece::Type));
                pieces.push(Piece::Type(*ret));
                out.write_str("f_")
            }
            TypeKind::Target { name, types, ints } => {
                pieces.push(Piece::Text("t"));
                for &int in ints.iter().rev() {
                    pieces.push(Piece::Number(int));
                }
                for &ty in types.iter().rev() {
                    pieces.push(Piece::Type(ty));
                    pieces.push(Piece::Text("_"));
                }
                write!(out, "t{}", context.text(*name))
            }
            kind => out.write_str(simple(kind)?),
        };
    }
    Some(())
}

/// The suffix of a type that has nothing in it.
fn simple(kind: &TypeKind) -> Option<&'static str> {
    Some(match kind {
        TypeKind::Void => "isVoid",
        TypeKind::Metadata => "Metadata",
        TypeKind::Half => "f16",
        TypeKind::BFloat => "bf16",
        TypeKind::Float => "f32",
        TypeKind::Double => "f64",
        TypeKind::Fp128 => "f128",
        TypeKind::X86Fp80 => "f80",
        TypeKind::PpcFp128 => "ppcf128",
        TypeKind::X86Amx => "x86amx",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_today() {
        let context = Context::new();
        let vector =
            context.type_of_kind(&TypeKind::Vector { elem: Type::I8, len: 2, scalable: true });
        let name = |name, ret, params: &[Type]| remangled(&context, name, ret, params, false);
        let read = name("amdgcn.readlane", Type::I32, &[Type::I32, Type::I32]);
        assert_eq!(read.as_deref(), Some("amdgcn.readlane.i32"));
        assert_eq!(name("ctpop.i8", vector, &[vector]).as_deref(), Some("ctpop.nxv2i8"));
        assert_eq!(name("ctpop.i8", vector, &[]), None);
        assert_eq!(name("amdgcn.s.barrier", Type::VOID, &[]), None);
        let copy = [Type::PTR, Type::PTR1, Type::I64, Type::I1];
        let copied = name("memcpy.p0i8.p1i8.i64", Type::VOID, &copy);
        assert_eq!(copied.as_deref(), Some("memcpy.p0.p1.i64"));
    }

    #[test]
    fn suffixes_of_what_nests() {
        let context = Context::new();
        let of = |kind: TypeKind| context.type_of_kind(&kind);
        let array = of(TypeKind::Array { elem: Type::PTR3, len: 4 });
        let fields = [array, Type::FLOAT].into();
        let inner = of(TypeKind::Struct { packed: false, fields });
        let name = StructName::Named(context.symbol(b"struct.S"));
        let fields = [inner, of(TypeKind::Named(name))].into();
        let outer = of(TypeKind::Struct { packed: true, fields });
        let params = [outer, Type::I1].into();
        let function = of(TypeKind::Function { ret: Type::VOID, params, vararg: true });
        let mut out = String::new();
        assert_eq!(suffix(&context, function, &mut out), Some(()));
        assert_eq!(out, "f_isVoidsl_sl_a4p3f32ss_struct.Sssi1varargf");
        assert_eq!(suffix(&context, Type::TOKEN, &mut out), None);
    }

    #[test]
    fn a_giant_name_is_not_made() {
        let context = Context::new();
        let mut ty = Type::I8;
        for _ in 0..64 {
            ty = context.type_of_kind(&TypeKind::Struct { packed: false, fields: [ty, ty].into() });
        }
        assert_eq!(suffix(&context, ty, &mut String::new()), None);
    }
}
