//! Floating-point arithmetic in the formats of the machine.
//!
//! `half` and `bfloat` are computed in single precision and rounded once more: with 24 bits of precision that gives the
//! correctly rounded sum, difference, product, quotient and square root of numbers of up to 11 bits.

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

/// The 16 bits of a format with `digits` of fraction and this bias, from a double: one rounding, to nearest even.
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

/// The result of an operation with two operands.
pub(crate) fn binary(opcode: Opcode, kind: FloatKind, a: u128, b: u128) -> Option<u128> {
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
        return Some(result.to_bits().into());
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
    Some(from_f64(kind, result.into()))
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
        RmwOp::FMax => from_f64(kind, max_num(a, b)),
        RmwOp::FMin => from_f64(kind, min_num(a, b)),
        RmwOp::FMaximum => from_f64(kind, maximum(a, b)),
        RmwOp::FMinimum => from_f64(kind, minimum(a, b)),
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
