//! Floating-point arithmetic in the formats of the machine.
//!
//! `half` and `bfloat` are computed in single precision and rounded again. With 24 bits of
//! precision that gives the correctly rounded sum, difference, product, quotient and square root of
//! numbers of up to 11 bits.

use phalanx_ir::{
    Opcode,
    inst::{FloatPredicate, RmwOp},
};

use crate::shape::FloatKind;

/// A number as `f64`. Exact.
pub(crate) fn to_f64(kind: FloatKind, bits: u128) -> f64 {
    match kind {
        FloatKind::Half => half_to_f32(bits as u16).into(),
        FloatKind::BFloat => f32::from_bits((bits as u32) << 16).into(),
        FloatKind::Single => f32::from_bits(bits as u32).into(),
        FloatKind::Double => f64::from_bits(bits as u64),
    }
}

/// The bits of a number, rounded to nearest even.
pub(crate) fn from_f64(kind: FloatKind, value: f64) -> u128 {
    match kind {
        FloatKind::Half => round(value, 10, 15).into(),
        FloatKind::BFloat => round(value, 7, 127).into(),
        FloatKind::Single => (value as f32).to_bits().into(),
        FloatKind::Double => value.to_bits().into(),
    }
}

fn half_to_f32(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => {
            f32::from_bits(u32::from(bits >> 15) << 31 | 0x7f80_0000 | u32::from(bits & 1023) << 13)
        }
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// The 16 bits of a format with `digits` of fraction and this bias, from a double: one rounding, to
/// nearest even.
fn round(value: f64, digits: u32, bias: i32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 63) as u16) << 15;
    let top = (1u16 << (15 - digits)) - 1;
    if value.is_nan() {
        let fraction = (bits >> (52 - digits)) as u16 & ((1 << digits) - 1);
        return sign | top << digits | fraction | 1 << (digits - 1);
    }
    if value.is_infinite() {
        return sign | top << digits;
    }
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    if value == 0.0 || exponent < -bias - digits as i32 - 1 {
        return sign;
    }
    let fraction = bits & ((1 << 52) - 1) | 1 << 52;
    // Below the smallest normal number, fewer digits are left.
    let lost = (52 - digits) as i32 + (1 - bias - exponent).max(0);
    let (kept, rest) = (fraction >> lost, fraction & ((1u64 << lost) - 1));
    let half = 1u64 << (lost - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    let kept = kept + u64::from(up);
    // A carry out of the fraction runs into the exponent, which is right.
    let biased = (exponent + bias).max(1) as u64;
    let whole = (biased << digits) + kept - (1 << digits);
    if whole >= u64::from(top) << digits { sign | top << digits } else { sign | whole as u16 }
}

/// The bits of a result. The standard leaves open which NaN an operation gives, and host machines
/// differ. Here it is the first NaN operand, made quiet; or else the positive quiet NaN without
/// payload.
pub(crate) fn result(kind: FloatKind, value: f64, operands: &[u128]) -> u128 {
    if !value.is_nan() {
        return from_f64(kind, value);
    }
    match operands.iter().find(|&&bits| to_f64(kind, bits).is_nan()) {
        Some(&nan) => nan | kind.quiet(),
        None => from_f64(kind, f64::from_bits(0x7ff8 << 48)),
    }
}

/// The result of an operation with two operands.
pub(crate) fn binary(opcode: Opcode, kind: FloatKind, a: u128, b: u128) -> Option<u128> {
    let operands = [a, b];
    if kind == FloatKind::Double {
        let (a, b) = (f64::from_bits(a as u64), f64::from_bits(b as u64));
        let result = match opcode {
            Opcode::FAdd => a + b,
            Opcode::FSub => a - b,
            Opcode::FMul => a * b,
            Opcode::FDiv => a / b,
            Opcode::FRem => a % b,
            _ => return None,
        };
        return Some(self::result(kind, result, &operands));
    }
    let (a, b) = (to_f64(kind, a) as f32, to_f64(kind, b) as f32);
    let result = match opcode {
        Opcode::FAdd => a + b,
        Opcode::FSub => a - b,
        Opcode::FMul => a * b,
        Opcode::FDiv => a / b,
        Opcode::FRem => a % b,
        _ => return None,
    };
    Some(self::result(kind, result.into(), &operands))
}

/// Whether a comparison holds.
pub(crate) fn compare(predicate: FloatPredicate, a: f64, b: f64) -> bool {
    use FloatPredicate as P;
    let unordered = a.is_nan() || b.is_nan();
    match predicate {
        P::False => false,
        P::True => true,
        P::Ord => !unordered,
        P::Uno => unordered,
        P::Oeq => a == b,
        P::Ogt => a > b,
        P::Oge => a >= b,
        P::Olt => a < b,
        P::Ole => a <= b,
        P::One => !unordered && a != b,
        P::Ueq => unordered || a == b,
        P::Ugt => unordered || a > b,
        P::Uge => unordered || a >= b,
        P::Ult => unordered || a < b,
        P::Ule => unordered || a <= b,
        P::Une => unordered || a != b,
    }
}

/// What an atomic operation leaves in memory.
pub(crate) fn atomic(op: RmwOp, kind: FloatKind, old: u128, operand: u128) -> Option<u128> {
    let (a, b) = (to_f64(kind, old), to_f64(kind, operand));
    Some(match op {
        RmwOp::FAdd => return binary(Opcode::FAdd, kind, old, operand),
        RmwOp::FSub => return binary(Opcode::FSub, kind, old, operand),
        RmwOp::FMax => result(kind, max_num(a, b), &[old, operand]),
        RmwOp::FMin => result(kind, min_num(a, b), &[old, operand]),
        RmwOp::FMaximum => result(kind, maximum(a, b), &[old, operand]),
        RmwOp::FMinimum => result(kind, minimum(a, b), &[old, operand]),
        _ => return None,
    })
}

/// `llvm.maxnum`: a number rather than NaN.
pub(crate) fn max_num(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a > b || a == b && a.is_sign_positive() {
        a
    } else {
        b
    }
}

/// `llvm.minnum`: a number rather than NaN.
pub(crate) fn min_num(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        b
    } else if b.is_nan() || a < b || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}

/// `llvm.maximum`: NaN rather than a number.
pub(crate) fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { max_num(a, b) }
}

/// `llvm.minimum`: NaN rather than a number.
pub(crate) fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { min_num(a, b) }
}

/// A number times a power of two, rounded once.
pub(crate) fn scale(mut value: f64, power: i128) -> f64 {
    let mut power = power.clamp(-4000, 4000) as i32;
    while power > 1023 {
        value *= 2f64.powi(1023);
        power -= 1023;
    }
    // Steps are limited so that no digits are lost before the last one.
    while power < -1022 {
        value *= 2f64.powi(-1022 + 53);
        power += 1022 - 53;
    }
    value * 2f64.powi(power)
}

/// The class of a number, as the bit that `llvm.is.fpclass` has for it.
pub(crate) fn class(kind: FloatKind, bits: u128) -> u32 {
    let value = to_f64(kind, bits);
    if value.is_nan() {
        return if bits & kind.quiet() == 0 { 1 << 0 } else { 1 << 1 };
    }
    let least_normal = match kind {
        FloatKind::Half => 2f64.powi(-14),
        FloatKind::BFloat | FloatKind::Single => 2f64.powi(-126),
        FloatKind::Double => f64::MIN_POSITIVE,
    };
    // From minus infinity to minus zero, and the other way round from plus zero on.
    let size = match value.abs() {
        size if size.is_infinite() => 0,
        size if size >= least_normal => 1,
        size if size > 0.0 => 2,
        _ => 3,
    };
    if value.is_sign_negative() { 1 << (2 + size) } else { 1 << (9 - size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_bfloat_go_there_and_back() {
        for bits in 0..=u16::MAX {
            for kind in [FloatKind::Half, FloatKind::BFloat] {
                let value = to_f64(kind, bits.into());
                if !value.is_nan() {
                    assert_eq!(from_f64(kind, value), bits.into(), "{kind:?} {bits:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn nan_is_the_same_on_every_machine() {
        let add = |a, b| binary(Opcode::FAdd, FloatKind::Single, a, b).unwrap();
        let (infinity, one) = (f32::INFINITY.to_bits().into(), 1f32.to_bits().into());
        assert_eq!(add(infinity, f32::NEG_INFINITY.to_bits().into()), 0x7fc0_0000);
        // A signalling one becomes quiet; the first one counts.
        assert_eq!(add(one, 0xff80_0001), 0xffc0_0001);
        assert_eq!(add(0x7fc0_0002, 0xffc0_0003), 0x7fc0_0002);
        assert_eq!(binary(Opcode::FMul, FloatKind::Half, 0x7c00, 0x8000), Some(0x7e00));
    }

    #[test]
    fn classes() {
        let of = |kind, all: &[u128]| all.iter().map(|&bits| class(kind, bits)).collect::<Vec<_>>();
        let half = [0x7c01, 0xfe00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00];
        assert_eq!(of(FloatKind::Half, &half), (0..10).map(|bit| 1 << bit).collect::<Vec<_>>());
        assert_eq!(of(FloatKind::Double, &[1, 1 << 52]), [1 << 7, 1 << 8]);
    }

    #[test]
    fn scaling_rounds_once() {
        assert_eq!(scale(1.5, 1), 3.0);
        assert_eq!(scale(1.0, -1074), f64::from_bits(1));
        assert_eq!(scale(f64::MAX, -2098), f64::from_bits(1));
        assert_eq!(scale(f64::from_bits(1), 2097), 2f64.powi(1023));
        // A little more than halfway between two subnormal numbers; an intermediate rounding would
        // lose that.
        assert_eq!(scale(1.5 + f64::EPSILON, -1074), f64::from_bits(2));
        assert_eq!(scale(1.0, i128::MAX), f64::INFINITY);
    }

    #[test]
    fn rounding() {
        let half = |value| from_f64(FloatKind::Half, value);
        assert_eq!(half(1.0), 0x3c00);
        assert_eq!(half(65504.0), 0x7bff);
        assert_eq!(half(65519.9), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(2f64.powi(-24)), 1);
        assert_eq!(half(2f64.powi(-25)), 0);
        assert_eq!(half(2f64.powi(-25) * 1.001), 1);
        assert_eq!(half(-0.0), 0x8000);
        assert_eq!(from_f64(FloatKind::BFloat, 1.0 + 1.0 / 256.0), 0x3f80);
        assert_eq!(from_f64(FloatKind::BFloat, 1.0 + 3.0 / 256.0), 0x3f82);
    }
}
