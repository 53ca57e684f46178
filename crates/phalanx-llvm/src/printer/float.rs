//! Floating-point constants as LLVM spells them.
//!
//! `float` and `double` are written with six significant digits and an exponent (`1.250000e+00`) when reading that
//! back as a `double` gives exactly the value, and else as the bits of the `double` in hexadecimal (`0x3FF3C0CA40000000`);
//! infinities and NaNs always as bits. The other formats are a letter and all their bits:
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

/// The bits of the `double` with the value of a `float`; payloads of NaNs keep their place and quietness.
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
    if value.is_finite() {
        let start = out.len();
        scientific(value, out);
        let text = std::str::from_utf8(&out[start..]).unwrap_or_default();
        if text.parse().is_ok_and(|read: f64| read.to_bits() == bits) {
            return;
        }
        out.truncate(start);
    }
    out.extend_from_slice(b"0x");
    let digits = (64 - bits.leading_zeros()).div_ceil(4);
    hex(u128::from(bits), digits, out);
}

/// Six significant digits, a sixth decimal that is 0, and an exponent with a sign and at least two digits.
fn scientific(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    // Writing to a vector does not fail.
    let _ = write!(out, "{value:.5e}");
    let Some(e) = out[start..].iter().position(|&byte| byte == b'e') else { return };
    let exponent = out.split_off(start + e + 1);
    out.pop();
    out.extend_from_slice(b"0e");
    let (sign, digits) = match exponent.split_first() {
        Some((b'-', digits)) => (b'-', digits),
        _ => (b'+', &exponent[..]),
    };
    out.push(sign);
    if digits.len() < 2 {
        out.push(b'0');
    }
    out.extend_from_slice(digits);
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
