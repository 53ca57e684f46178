//! Integer constants: signed decimal of any width.

use super::names::decimal;
use crate::radix::{BINARY, BINARY_BITS, DECIMAL, DECIMAL_DIGITS, convert};

/// Appends the two's complement number of `bits` bits in little-endian `words`, as LLVM writes it:
/// signed, but `true` and `false` for one bit.
pub(super) fn integer(bits: u32, words: &[u64], out: &mut Vec<u8>) {
    if bits == 1 {
        let text: &[u8] = if words[0] & 1 == 1 { b"true" } else { b"false" };
        return out.extend_from_slice(text);
    }
    if let (&[word], 1..=64) = (words, bits) {
        let unused = 64 - bits;
        let value = (word << unused) as i64 >> unused;
        if value < 0 {
            out.push(b'-');
        }
        return decimal(value.unsigned_abs(), out);
    }
    let mut words = words.to_vec();
    let top = bits.saturating_sub(1);
    let negative = words.get(top as usize / 64).is_some_and(|word| word >> (top % 64) & 1 == 1);
    if negative {
        out.push(b'-');
        negate(&mut words, bits);
    }
    wide_decimal(&words, out);
}

/// Two's complement of the low `bits` bits.
fn negate(words: &mut [u64], bits: u32) {
    let mut carry = true;
    for word in words.iter_mut() {
        (*word, carry) = (!*word).overflowing_add(u64::from(carry));
    }
    if let (Some(last), 1..) = (words.get_mut(bits as usize / 64), bits % 64) {
        *last &= (1 << (bits % 64)) - 1;
    }
}

/// Appends a natural number in decimal.
fn wide_decimal(words: &[u64], out: &mut Vec<u8>) {
    let mut digits = convert(&sevens(words), BINARY, DECIMAL, usize::MAX);
    decimal(digits.pop().unwrap_or(0), out);
    for digit in digits.into_iter().rev() {
        let start = out.len();
        decimal(digit, out);
        let zeroes = DECIMAL_DIGITS - (out.len() - start);
        out.splice(start..start, std::iter::repeat_n(b'0', zeroes));
    }
}

/// Words of eight bytes as digits of seven.
fn sevens(words: &[u64]) -> Vec<u64> {
    let mut digits = Vec::with_capacity(words.len() * 64 / BINARY_BITS + 1);
    let (mut rest, mut bits) = (0_u128, 0);
    for &word in words {
        rest |= u128::from(word) << bits;
        bits += 64;
        while bits >= BINARY_BITS {
            digits.push(rest as u64 % BINARY);
            rest >>= BINARY_BITS;
            bits -= BINARY_BITS;
        }
    }
    digits.push(rest as u64);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bits: u32, words: &[u64], text: &str) {
        let mut out = Vec::new();
        integer(bits, words, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn narrow() {
        check(1, &[1], "true");
        check(1, &[0], "false");
        check(2, &[3], "-1");
        check(8, &[0x80], "-128");
        check(8, &[0x7f], "127");
        check(64, &[u64::MAX], "-1");
        check(64, &[1 << 63], "-9223372036854775808");
    }

    #[test]
    fn wide() {
        check(128, &[5, 0], "5");
        check(128, &[0, 0], "0");
        check(128, &[u64::MAX, u64::MAX], "-1");
        check(128, &[0, 1 << 63], "-170141183460469231731687303715884105728");
        check(65, &[0, 1], "-18446744073709551616");
        check(65, &[u64::MAX, 0], "18446744073709551615");
        check(192, &[0, 0, 1], "340282366920938463463374607431768211456");
        check(
            256,
            &[0, 0, 0, 1 << 62],
            "28948022309329048855892746252171976963317496166410141009864396001978282409984",
        );
    }

    #[test]
    fn wide_agrees_with_i128() {
        let mut state = 1_u128;
        for _ in 0..2000 {
            state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
            let value = (state as i128) >> (state >> 121);
            check(128, &[value as u64, (value >> 64) as u64], &value.to_string());
        }
    }
}
