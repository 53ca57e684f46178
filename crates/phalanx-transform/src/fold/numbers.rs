//! Conversion between constants and numbers.
//!
//! Floating-point numbers are passed as `f64`, which represents every number of the formats handled
//! here. Subnormal numbers and NaN are refused, since targets treat their bits differently. So are
//! results that became zero by underflow, since some targets flush earlier.

use half::{bf16, f16};
use phalanx_ir::{Const, ConstKind, Context, Type, TypeKind, constant::Int};

pub(super) fn number(context: &Context, constant: Const) -> Option<u128> {
    match &context.const_data(constant).kind {
        ConstKind::Int(Int::Small(value)) => Some(u128::from(*value)),
        ConstKind::Int(Int::Big(words)) => match **words {
            [low, high] => Some(u128::from(high) << 64 | u128::from(low)),
            _ => None,
        },
        _ => None,
    }
}

/// The width of an integer type that fits a number.
pub(super) fn int_bits(context: &Context, ty: Type) -> Option<u32> {
    match *context.type_kind(ty) {
        TypeKind::Int(bits @ 1..=128) => Some(bits),
        _ => None,
    }
}

pub(super) fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

pub(super) fn signed(value: u128, bits: u32) -> i128 {
    ((value << (128 - bits)) as i128) >> (128 - bits)
}

/// The low bits of a number as an integer of a type.
pub(super) fn int_const(context: &Context, ty: Type, bits: u32, value: u128) -> Const {
    let value = value & mask(bits);
    let int = match bits {
        0..=64 => Int::from_u64(bits, value as u64),
        _ => Int::Big([value as u64, (value >> 64) as u64].into()),
    };
    context.constant(ty, ConstKind::Int(int))
}

/// The integer that a truncated number is; poison where it does not fit.
pub(super) fn rounded(context: &Context, ty: Type, value: f64, is_signed: bool) -> Option<Const> {
    let bits = int_bits(context, ty).filter(|&bits| bits <= 64)?;
    let whole = value.trunc();
    let (low, high) = range(bits, is_signed);
    if whole < low || whole >= high {
        return Some(context.const_poison(ty));
    }
    let value = if is_signed { whole as i128 as u128 } else { whole as u128 };
    Some(int_const(context, ty, bits, value))
}

/// The least integer, and the first that is too large.
fn range(bits: u32, is_signed: bool) -> (f64, f64) {
    match is_signed {
        false => (0.0, 2f64.powi(bits as i32)),
        true => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1)),
    }
}

/// A floating-point constant.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Float {
    /// A number that every target treats alike.
    Plain(f64),
    /// Not a number.
    Nan,
}

/// A floating-point constant that every target treats alike, as long as the bits of a NaN do not
/// matter.
pub(super) fn float_or_nan(context: &Context, constant: Const) -> Option<Float> {
    let data = context.const_data(constant);
    let ConstKind::Float(bits) = data.kind else { return None };
    let (value, is_subnormal) = match *context.type_kind(data.ty) {
        TypeKind::Half => {
            let value = f16::from_bits(bits as u16);
            (value.to_f64(), value.classify() == std::num::FpCategory::Subnormal)
        }
        TypeKind::BFloat => {
            let value = bf16::from_bits(bits as u16);
            (value.to_f64(), value.classify() == std::num::FpCategory::Subnormal)
        }
        TypeKind::Float => {
            let value = f32::from_bits(bits as u32);
            (value.into(), value.is_subnormal())
        }
        TypeKind::Double => {
            let value = f64::from_bits(bits as u64);
            (value, value.is_subnormal())
        }
        _ => return None,
    };
    match value.is_nan() {
        true => Some(Float::Nan),
        false => (!is_subnormal).then_some(Float::Plain(value)),
    }
}

/// A number that every target treats alike.
pub(super) fn float(context: &Context, constant: Const) -> Option<f64> {
    match float_or_nan(context, constant)? {
        Float::Plain(value) => Some(value),
        Float::Nan => None,
    }
}

/// A number in the format of a type, rounded to nearest; none where targets differ.
pub(super) fn float_const(context: &Context, ty: Type, value: f64) -> Option<Const> {
    let bits = match *context.type_kind(ty) {
        TypeKind::Half => u128::from(f16::from_f32(to_odd(value)).to_bits()),
        TypeKind::BFloat => u128::from(bf16::from_f32(to_odd(value)).to_bits()),
        TypeKind::Float => u128::from((value as f32).to_bits()),
        TypeKind::Double => u128::from(value.to_bits()),
        _ => return None,
    };
    let constant = context.constant(ty, ConstKind::Float(bits));
    // Some targets flush an underflowed result to zero.
    let result = float(context, constant)?;
    (result != 0.0 || value == 0.0).then_some(constant)
}

/// Rounds a number to `float` by round-to-odd, so that a second rounding to a shorter format is
/// correct: an inexact result has an odd last digit, so it is never halfway between two numbers of
/// the shorter format. (`f16::from_f64` and `bf16::from_f64` do not look at the last 32 bits.)
fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let exact = f64::from(nearest);
    if exact == value || value.is_nan() {
        return nearest;
    }
    let bits = nearest.to_bits();
    let towards_zero = if exact.abs() > value.abs() { bits - 1 } else { bits };
    f32::from_bits(towards_zero | 1)
}

/// Whether arithmetic of a format is done in `f64`. The other formats are `f32`, or have less than
/// half of its digits.
pub(super) fn is_double(context: &Context, ty: Type) -> bool {
    matches!(context.type_kind(ty), TypeKind::Double)
}
