//! Floating-point constants as LLVM spells them.
//!
//! `float` and `double` are written with six significant digits and an exponent (`1.250000e+00`)
//! when reading that back as a `double` gives exactly the value, and else as the bits of the
//! `double` in hexadecimal (`0x3FF3C0CA40000000`); infinities and NaNs always as bits.
//! [`digits_end_early`] tells where LLVM's six digits are not the nearest ones. The other formats
//! are a letter and all their bits:
//!
//! | type | form |
//! |---|---|
//! | `half` | `0xH` and 4 digits |
//! | `bfloat` | `0xR` and 4 digits |
//! | `x86_fp80` | `0xK` and 20 digits, sign and exponent first |
//! | `fp128` | `0xL` and 32 digits, the low half first |
//! | `ppc_fp128` | `0xM` and 32 digits, the low half first |

use std::io::Write as _;

use phalanx_ir::TypeKind;

use super::names::hex;

/// Appends the constant of a floating-point type with these bits.
pub(super) fn float(kind: &TypeKind, bits: u128, out: &mut Vec<u8>) {
    match kind {
        TypeKind::Float => double(widen(bits as u32), out),
        TypeKind::Half => tagged(b"0xH", bits, 4, out),
        TypeKind::BFloat => tagged(b"0xR", bits, 4, out),
        TypeKind::X86Fp80 => tagged(b"0xK", bits, 20, out),
        TypeKind::Fp128 => tagged(b"0xL", bits.rotate_left(64), 32, out),
        TypeKind::PpcFp128 => tagged(b"0xM", bits.rotate_left(64), 32, out),
        _ => double(bits as u64, out),
    }
}

fn tagged(tag: &[u8], bits: u128, digits: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(tag);
    hex(bits, digits, out);
}

/// The bits of the `double` with the value of a `float`; payloads of NaNs keep their place and
/// quietness.
fn widen(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        u64::from(bits >> 31) << 63 | 0x7ff << 52 | u64::from(bits & 0x7f_ffff) << 29
    } else {
        f64::from(value).to_bits()
    }
}

fn double(bits: u64, out: &mut Vec<u8>) {
    let value = f64::from_bits(bits);
    if value.is_finite() && decimal(value, out) {
        return;
    }
    out.extend_from_slice(b"0x");
    let digits = (64 - bits.leading_zeros()).div_ceil(4);
    hex(u128::from(bits), digits, out);
}

/// Six significant digits.
#[derive(Copy, Clone)]
struct Decimal {
    negative: bool,
    digits: u32,
    /// The exponent of the first digit.
    exponent: i32,
}

impl Decimal {
    /// The first six digits of a number in Rust's scientific notation.
    fn first_six(text: &str) -> Option<Decimal> {
        let (mantissa, exponent) = text.split_once('e')?;
        let negative = mantissa.starts_with('-');
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).take(6);
        let digits = digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        Some(Decimal { negative, digits, exponent: exponent.parse().ok()? })
    }

    fn value(self) -> Option<f64> {
        let Decimal { negative, digits, exponent } = self;
        let sign = if negative { "-" } else { "" };
        format!("{sign}{digits}e{}", exponent - 5).parse().ok()
    }

    /// `-1.234560e+07`: six decimals, the last of them 0, and at least two digits of exponent.
    fn write(self, out: &mut Vec<u8>) {
        let Decimal { negative, digits, exponent } = self;
        let sign = if negative { "-" } else { "" };
        let (first, rest) = (digits / 100_000, digits % 100_000);
        // Writing to a vector does not fail.
        let _ = write!(out, "{sign}{first}.{rest:05}0e{exponent:+03}");
    }
}

/// Appends a number in decimal if that says it exactly.
fn decimal(value: f64, out: &mut Vec<u8>) -> bool {
    let is_exact =
        |decimal: &Decimal| decimal.value().is_some_and(|v| v.to_bits() == value.to_bits());
    let nearest = Decimal::first_six(&format!("{value:.5e}")).filter(is_exact);
    // If the nearest six digits do not say it, no others do.
    let Some(nearest) = nearest else { return false };
    let cut = Decimal::first_six(&format!("{value:.40e}"));
    let written = match cut {
        Some(cut) if cut.digits != nearest.digits && digits_end_early(value, cut.exponent) => {
            Some(cut).filter(is_exact)
        }
        _ => Some(nearest),
    };
    if let Some(written) = written {
        written.write(out);
    }
    written.is_some()
}

/// Whether LLVM keeps six digits of a number by cutting off the others, rather than by rounding.
///
/// LLVM takes the digits from the integer *N = |value| / 10^e* where *e* is the largest exponent
/// that gives an integer if the value is not one itself (then *N* is the value). Of its *b* bits
/// about twenty are wanted, so *⌊(b − 20) · 59 / 196⌋* decimal digits are cut off at once, and what
/// is left is rounded to six digits. Where no more than six are left there is nothing to round:
/// 0.7, which is held as 0.69999999999999996, comes out as 0.699999, which does not say the value,
/// and so it is written in hexadecimal. `exponent` is that of the first digit.
fn digits_end_early(value: f64, exponent: i32) -> bool {
    let bits = value.abs().to_bits();
    let (mut mantissa, mut power) = match (bits >> 52) as i32 {
        0 => (bits, -1074),
        biased => (bits & ((1 << 52) - 1) | 1 << 52, biased - 1075),
    };
    if mantissa == 0 {
        return false;
    }
    power += mantissa.trailing_zeros() as i32;
    mantissa >>= mantissa.trailing_zeros();
    let mantissa_bits = (64 - mantissa.leading_zeros()) as i32;
    let (digits, bits) = if power >= 0 {
        (exponent + 1, mantissa_bits + power)
    } else {
        (exponent + 1 - power, bits_with_fives(mantissa, -power))
    };
    let cut_off = (bits - 20).max(0) * 59 / 196;
    digits - cut_off <= 6
}

/// Number of bits of `number * 5^power`.
fn bits_with_fives(number: u64, power: i32) -> i32 {
    let mut words = vec![number];
    for _ in 0..power {
        let mut carry = 0;
        for word in &mut words {
            let product = u128::from(*word) * 5 + carry;
            *word = product as u64;
            carry = product >> 64;
        }
        if carry > 0 {
            words.push(carry as u64);
        }
    }
    let top = words.last().map_or(0, |word| 64 - word.leading_zeros());
    top as i32 + 64 * (words.len() as i32 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(kind: &TypeKind, bits: u128) -> String {
        let mut out = Vec::new();
        float(kind, bits, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[track_caller]
    fn check_double(value: f64, text: &str) {
        assert_eq!(spelled(&TypeKind::Double, value.to_bits().into()), text);
    }

    #[track_caller]
    fn check_float(value: f32, text: &str) {
        assert_eq!(spelled(&TypeKind::Float, value.to_bits().into()), text);
    }

    #[test]
    fn doubles() {
        check_double(0.0, "0.000000e+00");
        check_double(-0.0, "-0.000000e+00");
        check_double(1.25, "1.250000e+00");
        check_double(1.5e-7, "1.500000e-07");
        check_double(1e100, "1.000000e+100");
        check_double(-123456.0, "-1.234560e+05");
        check_double(1.234567, "0x3FF3C0C9539B8887");
        check_double(0.1, "1.000000e-01");
        check_double(0.7, "0x3FE6666666666666");
        check_double(0.9, "9.000000e-01");
        check_double(1.0 / 3.0, "0x3FD5555555555555");
        check_double(f64::from_bits(1), "4.940660e-324");
        check_double(5.0e-320, "4.999940e-320");
        check_double(f64::INFINITY, "0x7FF0000000000000");
        check_double(f64::NEG_INFINITY, "0xFFF0000000000000");
    }

    #[test]
    fn floats() {
        check_float(1.25, "1.250000e+00");
        check_float(0.1, "0x3FB99999A0000000");
        check_float(f32::INFINITY, "0x7FF0000000000000");
        check_float(f32::from_bits(1), "0x36A0000000000000");
        check_float(f32::from_bits(0x7fa0_0000), "0x7FF4000000000000");
        check_float(f32::from_bits(0xffc0_0001), "0xFFF8000020000000");
    }

    #[test]
    fn other_formats() {
        assert_eq!(spelled(&TypeKind::Half, 0x3c00), "0xH3C00");
        assert_eq!(spelled(&TypeKind::BFloat, 0x80), "0xR0080");
        let pi = 0x4000_c8f5_c28f_5c28_f800;
        assert_eq!(spelled(&TypeKind::X86Fp80, pi), "0xK4000C8F5C28F5C28F800");
        let one = 0x3fff_0000_0000_0000_u128 << 64;
        assert_eq!(spelled(&TypeKind::Fp128, one), "0xL00000000000000003FFF000000000000");
        assert_eq!(spelled(&TypeKind::PpcFp128, 7), "0xM00000000000000070000000000000000");
    }
}
