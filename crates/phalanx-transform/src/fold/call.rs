//! Constant folding of calls of numeric intrinsics.
//!
//! Functions whose results are inexact (`sin`, `exp`) are not folded, since targets differ. `sqrt`,
//! `fma` and roundings to integers are exact everywhere. A call with operand bundles, or one that
//! depends on the rounding mode, is not folded.

use phalanx_ir::{Const, Context, InstId, Type, TypeKind, attributes::AttrKind};
use phalanx_target::intrinsics::Family;

use super::{
    by_lanes, lanes, lanes_of,
    numbers::{
        Float, float, float_const, float_or_nan, int_bits, int_const, is_double, mask, number,
        rounded, signed,
    },
};
use crate::code::Code;

/// The constant result of a call. `operands` are those of the instruction: the arguments come
/// first.
pub(super) fn fold(code: &Code<'_>, call: InstId, operands: &[Const]) -> Option<Const> {
    let intrinsic = code.intrinsic(call).filter(|found| found.family == Family::Generic)?;
    let info = code.body.call_info(call);
    let is_strict = code.context.function_attrs(info.attributes).has(AttrKind::StrictFp);
    if is_strict || !info.bundles.is_empty() {
        return None;
    }
    let context = code.context;
    let args = operands.get(..info.args as usize)?;
    let ty = code.body.inst(call).ty;
    let base = intrinsic.base;
    if let Some(how) = base.strip_prefix("vector.reduce.") {
        return reduce(context, ty, how, args);
    }
    if base.ends_with(".with.overflow") {
        return overflowing(context, ty, base, args);
    }
    let &first = args.first()?;
    match lanes(context, ty) {
        None => function(context, base, ty, args),
        Some((count, _)) if lanes(context, context.const_data(first).ty) == lanes(context, ty) => {
            // A flag argument applies to all lanes.
            let of_lanes =
                args.iter().filter(|&&a| lanes(context, context.const_data(a).ty).is_some());
            let of_lanes: Vec<Const> = of_lanes.copied().collect();
            let rest = args.get(of_lanes.len()..)?.to_vec();
            by_lanes(context, ty, count, &of_lanes, |ty, lane| {
                function(context, base, ty, &[lane, &rest].concat())
            })
        }
        Some(_) => None,
    }
}

/// Of scalars.
fn function(context: &Context, base: &str, ty: Type, args: &[Const]) -> Option<Const> {
    let of = context.const_data(*args.first()?).ty;
    match int_bits(context, of) {
        Some(bits) => integer(context, base, ty, bits, args),
        None => real(context, base, ty, args),
    }
}

/// Of integers of `bits` bits.
fn integer(context: &Context, base: &str, ty: Type, bits: u32, args: &[Const]) -> Option<Const> {
    let arg = |at: usize| number(context, *args.get(at)?);
    let all = mask(bits);
    let least = 1u128 << (bits - 1);
    let a = arg(0)?;
    let poison = || Some(context.const_poison(ty));
    let result = match (base, args.len()) {
        ("ctpop", 1) => a.count_ones().into(),
        ("bitreverse", 1) => a.reverse_bits() >> (128 - bits),
        ("bswap", 1) => a.swap_bytes() >> (128 - bits),
        ("abs", 2) if a == least && arg(1)? == 1 => return poison(),
        ("abs", 2) => signed(a, bits).unsigned_abs(),
        ("ctlz" | "cttz", 2) if a == 0 && arg(1)? == 1 => return poison(),
        ("ctlz", 2) => (a.leading_zeros() - (128 - bits)).into(),
        ("cttz", 2) => a.trailing_zeros().min(bits).into(),
        ("fshl" | "fshr", 3) => {
            let (b, by) = (arg(1)?, (arg(2)? % u128::from(bits)) as u32);
            match (base, by) {
                ("fshl", 0) => a,
                ("fshl", by) => a << by | b >> (bits - by),
                (_, 0) => b,
                (_, by) => a << (bits - by) | b >> by,
            }
        }
        (_, 2) => return of_two(context, base, ty, bits, a, arg(1)?),
        _ => return None,
    };
    Some(int_const(context, ty, int_bits(context, ty)?, result & all))
}

fn of_two(context: &Context, base: &str, ty: Type, bits: u32, a: u128, b: u128) -> Option<Const> {
    let all = mask(bits);
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let (least, greatest) = (signed(1 << (bits - 1), bits), signed(all >> 1, bits));
    // If the exact result does not fit in 128 bits, the sign of the first operand says in which
    // direction.
    let limited = |exact: Option<i128>| {
        let side = if sa < 0 { least } else { greatest };
        exact.unwrap_or(side).clamp(least, greatest) as u128
    };
    let sign = |order: std::cmp::Ordering| order as i8 as i128 as u128;
    let result = match base {
        "umin" => a.min(b),
        "umax" => a.max(b),
        "smin" => sa.min(sb) as u128,
        "smax" => sa.max(sb) as u128,
        "uadd.sat" => a.checked_add(b).map_or(all, |sum| sum.min(all)),
        "usub.sat" => a.saturating_sub(b),
        "sadd.sat" => limited(sa.checked_add(sb)),
        "ssub.sat" => limited(sa.checked_sub(sb)),
        "ushl.sat" | "sshl.sat" if b >= u128::from(bits) => return Some(context.const_poison(ty)),
        "ushl.sat" => {
            let shifted = a << b & all;
            if shifted >> b == a { shifted } else { all }
        }
        "sshl.sat" => {
            let shifted = signed(a << b & all, bits);
            let side = if sa < 0 { least } else { greatest };
            (if shifted >> b == sa { shifted } else { side }) as u128
        }
        "ucmp" => sign(a.cmp(&b)),
        "scmp" => sign(sa.cmp(&sb)),
        _ => return None,
    };
    Some(int_const(context, ty, int_bits(context, ty)?, result))
}

/// The result and the overflow bit, of scalars or lane by lane.
fn overflowing(context: &Context, ty: Type, base: &str, args: &[Const]) -> Option<Const> {
    let TypeKind::Struct { fields, .. } = context.type_kind(ty) else { return None };
    let (&[value, flag], &[a, b]) = (&**fields, args) else { return None };
    let parts = |wants_flag: bool| {
        let part = |ty: Type, args: &[Const]| {
            let bits = int_bits(context, context.const_data(args[0]).ty)?;
            let (a, b) = (number(context, args[0])?, number(context, args[1])?);
            let (result, is_exact) = exact(base, bits, a, b)?;
            Some(match wants_flag {
                true => context.const_bool(!is_exact),
                false => int_const(context, ty, bits, result),
            })
        };
        let ty = if wants_flag { flag } else { value };
        match lanes(context, ty) {
            None => part(ty, &[a, b]),
            Some((count, _)) => by_lanes(context, ty, count, &[a, b], part),
        }
    };
    let both = [parts(false)?, parts(true)?];
    Some(context.constant(ty, phalanx_ir::ConstKind::Aggregate(both.into())))
}

/// The low bits of a result, and whether the result overflows.
fn exact(base: &str, bits: u32, a: u128, b: u128) -> Option<(u128, bool)> {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let is_unsigned = |exact: Option<u128>| exact.is_some_and(|value| value <= mask(bits));
    let is_signed = |exact: Option<i128>| {
        exact.is_some_and(|value| signed(value as u128 & mask(bits), bits) == value)
    };
    Some(match base {
        "uadd.with.overflow" => (a.wrapping_add(b), is_unsigned(a.checked_add(b))),
        "sadd.with.overflow" => (a.wrapping_add(b), is_signed(sa.checked_add(sb))),
        "usub.with.overflow" => (a.wrapping_sub(b), a >= b),
        "ssub.with.overflow" => (a.wrapping_sub(b), is_signed(sa.checked_sub(sb))),
        "umul.with.overflow" => (a.wrapping_mul(b), is_unsigned(a.checked_mul(b))),
        "smul.with.overflow" => (a.wrapping_mul(b), is_signed(sa.checked_mul(sb))),
        _ => return None,
    })
}

/// Combines all integer lanes of a vector into one.
fn reduce(context: &Context, ty: Type, how: &str, args: &[Const]) -> Option<Const> {
    let &[vector] = args else { return None };
    let bits = int_bits(context, ty)?;
    let lanes: Option<Vec<u128>> =
        lanes_of(context, vector)?.into_iter().map(|lane| number(context, lane)).collect();
    let combine = |a: u128, b: u128| {
        let (sa, sb) = (signed(a, bits), signed(b, bits));
        Some(
            mask(bits)
                & match how {
                    "add" => a.wrapping_add(b),
                    "mul" => a.wrapping_mul(b),
                    "and" => a & b,
                    "or" => a | b,
                    "xor" => a ^ b,
                    "umin" => a.min(b),
                    "umax" => a.max(b),
                    "smin" => sa.min(sb) as u128,
                    "smax" => sa.max(sb) as u128,
                    _ => return None,
                },
        )
    };
    let mut lanes = lanes?.into_iter();
    let first = lanes.next()?;
    let result = lanes.try_fold(first, combine)?;
    // A single lane never reaches `combine` above, so this call rejects unknown names.
    combine(first, first)?;
    Some(int_const(context, ty, bits, result))
}

/// Of floating-point numbers.
fn real(context: &Context, base: &str, ty: Type, args: &[Const]) -> Option<Const> {
    let arg = |at: usize| float(context, *args.get(at)?);
    let result = |value: f64| float_const(context, ty, value);
    match (base, args.len()) {
        ("fptosi.sat" | "fptoui.sat", 1) => return saturated(context, base, ty, args[0]),
        ("minnum" | "maxnum" | "minimumnum" | "maximumnum", 2) => {
            // The operand that is a number rather than NaN. The sign of a zero result is
            // unspecified for the first two.
            return match [0, 1].map(|at| float_or_nan(context, args[at])) {
                [Some(Float::Nan), Some(Float::Plain(_))] => Some(args[1]),
                [Some(Float::Plain(_)), Some(Float::Nan)] => Some(args[0]),
                _ => extreme(context, ty, base.starts_with("min"), args),
            };
        }
        ("minimum" | "maximum", 2) => return extreme(context, ty, base == "minimum", args),
        _ => {}
    }
    let a = arg(0)?;
    match (base, args.len()) {
        ("fabs", 1) => result(a.abs()),
        ("floor", 1) => result(a.floor()),
        ("ceil", 1) => result(a.ceil()),
        ("trunc", 1) => result(a.trunc()),
        ("round", 1) => result(a.round()),
        ("roundeven" | "rint" | "nearbyint", 1) => result(a.round_ties_even()),
        ("canonicalize", 1) => Some(args[0]),
        ("sqrt", 1) if is_double(context, ty) => result(a.sqrt()),
        ("sqrt", 1) => result(f64::from((a as f32).sqrt())),
        ("copysign", 2) => result(a.copysign(arg(1)?)),
        ("fma" | "fmuladd", 3) if is_double(context, ty) => result(a.mul_add(arg(1)?, arg(2)?)),
        ("fma" | "fmuladd", 3) if ty == Type::FLOAT => {
            result(f64::from((a as f32).mul_add(arg(1)? as f32, arg(2)? as f32)))
        }
        _ => None,
    }
}

/// The lesser or greater of two numbers; of two zeros, the one with or without the sign.
fn extreme(context: &Context, ty: Type, is_least: bool, args: &[Const]) -> Option<Const> {
    let (a, b) = (float(context, args[0])?, float(context, args[1])?);
    let is_first = match a.partial_cmp(&b)? {
        std::cmp::Ordering::Less => is_least,
        std::cmp::Ordering::Greater => !is_least,
        std::cmp::Ordering::Equal => a.is_sign_negative() == is_least,
    };
    float_const(context, ty, if is_first { a } else { b })
}

/// The nearest representable integer after rounding towards zero; 0 for NaN.
fn saturated(context: &Context, base: &str, ty: Type, arg: Const) -> Option<Const> {
    let bits = int_bits(context, ty).filter(|&bits| bits <= 64)?;
    let is_signed = base == "fptosi.sat";
    let value = match float_or_nan(context, arg)? {
        Float::Nan => 0.0,
        Float::Plain(value) => value.trunc(),
    };
    let all = mask(bits);
    let (least, greatest) =
        if is_signed { (-((all >> 1) as i128) - 1, all >> 1) } else { (0, all) };
    if value <= least as f64 {
        return Some(int_const(context, ty, bits, least as u128));
    }
    if value >= greatest as f64 {
        return Some(int_const(context, ty, bits, greatest));
    }
    rounded(context, ty, value, is_signed)
}
