//! Integers and floating-point numbers.
//!
//! A literal has no type of its own. An integer is cut or extended to the width it is used at, as
//! LLVM does. A decimal or plain hexadecimal floating-point literal is a `double` first; it is good
//! for a narrower type only when that type holds exactly this number. `0xH`, `0xR`, `0xK`, `0xL`
//! and `0xM` are the bits of `half`, `bfloat`, `x86_fp80`, `fp128` and `ppc_fp128`.

use phalanx_ir::{Type, constant::Int};

use super::Parser;
use crate::{
    error::{PResult, Span},
    lexer::{Token, TokenKind, hex_digit},
    radix::{BINARY, BINARY_BITS, DECIMAL, DECIMAL_DIGITS, convert},
};

/// An integer literal, of any length.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct IntLiteral<'a> {
    /// Digits without sign and prefix.
    digits: &'a [u8],
    form: Form,
    /// Where it is written.
    pub(crate) span: Span,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Form {
    Decimal {
        negative: bool,
    },
    /// `u0x`, or `s0x`: there the highest bit that is set is the sign.
    Hex {
        signed: bool,
    },
}

impl<'a> IntLiteral<'a> {
    /// Reads an [`TokenKind::Int`] or [`TokenKind::HexInt`].
    pub(crate) fn new(token: Token, text: &'a [u8]) -> Self {
        let (digits, form) = match (token.kind, text) {
            (TokenKind::HexInt, [first, _, _, digits @ ..]) => {
                (digits, Form::Hex { signed: *first == b's' })
            }
            (_, [b'-', digits @ ..]) => (digits, Form::Decimal { negative: true }),
            _ => (text, Form::Decimal { negative: false }),
        };
        IntLiteral { digits, form, span: token.span() }
    }

    /// Whether it is one of LLVM's signed literals: written with `-` or `s0x`.
    pub(crate) fn is_signed(&self) -> bool {
        matches!(self.form, Form::Decimal { negative: true } | Form::Hex { signed: true })
    }

    /// The magnitude, when it fits.
    fn small(&self) -> Option<u64> {
        let radix = if matches!(self.form, Form::Hex { .. }) { 16 } else { 10u64 };
        self.digits.iter().try_fold(0u64, |value, &digit| {
            value.checked_mul(radix)?.checked_add(u64::from(hex_digit(digit)))
        })
    }

    /// The value as an unsigned number of 64 bits.
    pub(crate) fn to_u64(self) -> Option<u64> {
        let value = self.small()?;
        (!self.is_signed() || value == 0).then_some(value)
    }

    /// The value as a signed number of 64 bits.
    pub(crate) fn to_i64(self) -> Option<i64> {
        let value = self.small()?;
        match self.form {
            Form::Decimal { negative: true } => 0i64.checked_sub_unsigned(value),
            Form::Hex { signed: true } if value != 0 => {
                Some((value | u64::MAX << (63 - value.leading_zeros())) as i64)
            }
            _ => i64::try_from(value).ok(),
        }
    }

    /// The value at a width: cut, or extended by its sign.
    pub(crate) fn to_int(self, bits: u32) -> Int {
        if let Some(value) = self.to_i64()
            && (bits <= 64 || value >= 0)
        {
            return Int::from_u64(bits, value as u64);
        }
        let mut words = vec![0u64; bits.div_ceil(64).max(1) as usize];
        match self.form {
            Form::Decimal { negative } => {
                self.decimal_words(&mut words);
                if negative {
                    let mut carry = true;
                    for word in &mut words {
                        (*word, carry) = (!*word).overflowing_add(u64::from(carry));
                    }
                }
            }
            Form::Hex { signed } => {
                for (at, &digit) in self.digits.iter().rev().enumerate() {
                    if let Some(word) = words.get_mut(at / 16) {
                        *word |= u64::from(hex_digit(digit)) << (at % 16 * 4);
                    }
                }
                if signed {
                    self.extend_from_highest_bit(&mut words);
                }
            }
        }
        if !bits.is_multiple_of(64) {
            words[bits as usize / 64] &= (1 << (bits % 64)) - 1;
        }
        match words[..] {
            [word] => Int::Small(word),
            _ => Int::Big(words.into()),
        }
    }

    /// The lowest words of the decimal digits, as a natural number.
    fn decimal_words(&self, words: &mut [u64]) {
        let number =
            |digits: &[u8]| digits.iter().fold(0, |value, &d| value * 10 + u64::from(d - b'0'));
        let digits: Vec<u64> = self.digits.rchunks(DECIMAL_DIGITS).map(number).collect();
        let limit = (words.len() * 64).div_ceil(BINARY_BITS);
        let sevens = convert(&digits, DECIMAL, BINARY, limit);
        let (mut rest, mut bits, mut at) = (0_u128, 0, 0);
        for seven in sevens.into_iter().chain([0, 0]) {
            rest |= u128::from(seven) << bits;
            bits += BINARY_BITS;
            if bits >= 64 && at < words.len() {
                words[at] = rest as u64;
                rest >>= 64;
                bits -= 64;
                at += 1;
            }
        }
    }

    fn extend_from_highest_bit(&self, words: &mut [u64]) {
        let zeros = self.digits.iter().take_while(|&&digit| digit == b'0').count();
        let Some(&first) = self.digits.get(zeros) else { return };
        let active =
            (self.digits.len() - zeros) * 4 - (hex_digit(first).leading_zeros() as usize - 4);
        for (at, word) in words.iter_mut().enumerate().skip(active / 64) {
            *word |= if at == active / 64 { u64::MAX << (active % 64) } else { u64::MAX };
        }
    }
}

/// Significand and exponent widths of an IEEE format narrower than `double`.
const HALF: (u32, u32) = (10, 5);
const BFLOAT: (u32, u32) = (7, 8);
const FLOAT: (u32, u32) = (23, 8);

/// The bits of a `double` in a narrower format, if that holds exactly this number (of a NaN: all
/// its payload).
fn narrow(bits: u64, (significand, exponent): (u32, u32)) -> Option<u64> {
    let sign = bits >> 63 << (significand + exponent);
    let from_exponent = (bits >> 52 & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    let shift = 52 - significand;
    let (max_exponent, bias) = ((1i64 << exponent) - 1, (1i64 << (exponent - 1)) - 1);
    if from_exponent == 0x7ff {
        let kept = fraction >> shift;
        return (kept << shift == fraction)
            .then_some(sign | (max_exponent as u64) << significand | kept);
    }
    if from_exponent == 0 && fraction == 0 {
        return Some(sign);
    }
    if from_exponent == 0 {
        // Denormal doubles are far below what the narrower formats hold.
        return None;
    }
    let to_exponent = from_exponent - 1023 + bias;
    if to_exponent >= max_exponent {
        return None;
    }
    let (shift, implicit, to_exponent) = match to_exponent {
        1.. => (shift, 0, to_exponent as u64),
        // Denormal in the narrower format: the leading one becomes explicit.
        _ => (shift + (1 - to_exponent) as u32, 1u64 << 52, 0),
    };
    let whole = fraction | implicit;
    if shift > 53 || whole & ((1 << shift) - 1) != 0 {
        return None;
    }
    Some(sign | to_exponent << significand | whole >> shift)
}

/// Hexadecimal digits as a number; what does not fit is lost at the top.
fn hex(digits: &[u8]) -> u64 {
    digits.iter().fold(0u64, |value, &digit| value << 4 | u64::from(hex_digit(digit)))
}

impl<'a> Parser<'a> {
    /// The integer literal that a token is.
    pub(crate) fn int_of(&self, token: Token) -> IntLiteral<'a> {
        IntLiteral::new(token, self.text(token))
    }

    /// Expects an integer literal.
    pub(crate) fn int_literal(&mut self) -> PResult<IntLiteral<'a>> {
        if !matches!(self.kind(), TokenKind::Int | TokenKind::HexInt) {
            return Err(self.unexpected("an integer"));
        }
        let token = self.bump();
        Ok(self.int_of(token))
    }

    /// Expects an unsigned integer of 32 bits.
    pub(crate) fn expect_u32(&mut self) -> PResult<u32> {
        let literal = self.int_literal()?;
        let small = literal.to_u64().and_then(|value| u32::try_from(value).ok());
        small.ok_or_else(|| self.out_of_range(literal, "an unsigned integer of 32 bits"))
    }

    /// Expects an unsigned integer of 64 bits.
    pub(crate) fn expect_u64(&mut self) -> PResult<u64> {
        let literal = self.int_literal()?;
        literal.to_u64().ok_or_else(|| self.out_of_range(literal, "an unsigned integer of 64 bits"))
    }

    /// Expects a signed integer of 64 bits.
    pub(crate) fn expect_i64(&mut self) -> PResult<i64> {
        let literal = self.int_literal()?;
        literal.to_i64().ok_or_else(|| self.out_of_range(literal, "a signed integer of 64 bits"))
    }

    #[cold]
    fn out_of_range(&self, literal: IntLiteral<'a>, expected: &str) -> Box<crate::ParseError> {
        let text = &self.source[literal.span.start as usize..literal.span.end as usize];
        let text = String::from_utf8_lossy(&text[..text.len().min(60)]);
        self.error(literal.span, format!("expected {expected}, found `{text}`"))
    }

    /// The bits that a floating-point literal has in a type.
    pub(crate) fn float_bits(&self, token: Token, ty: Type) -> PResult<u128> {
        let text = self.text(token);
        let (own_type, bits) = match (token.kind, text) {
            (TokenKind::HexFloat, [_, _, letter @ b'K'..=b'M', digits @ ..]) => {
                // x86_fp80 begins with up to 4 digits of sign and exponent; the others with the 16
                // of their low word, or without any where there are fewer: those are the high
                // word's.
                let first = match letter {
                    b'K' => digits.len().min(4),
                    _ if digits.len() < 16 => 0,
                    _ => 16,
                };
                // As LLVM does, what follows the last digit that counts is passed over.
                let (first, rest) = digits.split_at(first);
                let rest = &rest[..rest.len().min(16)];
                let (first, rest) = (u128::from(hex(first)), u128::from(hex(rest)));
                match letter {
                    b'K' => (Type::X86_FP80, first << 64 | rest),
                    b'L' => (Type::FP128, rest << 64 | first),
                    _ => (Type::PPC_FP128, rest << 64 | first),
                }
            }
            (TokenKind::HexFloat, [_, _, letter @ (b'H' | b'R'), digits @ ..]) => {
                let bits = hex(digits);
                let own_type = if *letter == b'H' { Type::HALF } else { Type::BFLOAT };
                if bits > 0xffff || digits.len() > 16 {
                    let message = format!(
                        "this constant is too large for {}: at most 16 bits",
                        self.type_name(own_type)
                    );
                    return Err(self.error(token.span(), message));
                }
                (own_type, u128::from(bits))
            }
            (TokenKind::HexFloat, [_, _, digits @ ..]) => {
                // LLVM takes a number that grows beyond its bits for 0, if it sees that.
                let next = |value: u64, &digit: &u8| {
                    let next = value.wrapping_shl(4).wrapping_add(hex_digit(digit).into());
                    (next >= value).then_some(next)
                };
                let bits = digits.iter().try_fold(0, next).unwrap_or(0);
                (Type::DOUBLE, bits.into())
            }
            _ => {
                let number =
                    std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
                let number = number
                    .ok_or_else(|| self.error(token.span(), "this is no floating-point number"))?;
                (Type::DOUBLE, u128::from(number.to_bits()))
            }
        };
        if own_type == ty {
            return Ok(bits);
        }
        let format = match ty {
            Type::HALF => Some(HALF),
            Type::BFLOAT => Some(BFLOAT),
            Type::FLOAT => Some(FLOAT),
            _ => None,
        };
        if own_type == Type::DOUBLE
            && let Some(format) = format
        {
            return narrow(bits as u64, format).map(u128::from).ok_or_else(|| {
                let name = self.type_name(ty);
                self.error(token.span(), format!("floating-point constant invalid for type: `{name}` cannot hold exactly this number"))
            });
        }
        let (expected, found) = (self.type_name(ty), self.type_name(own_type));
        Err(self.error(
            token.span(),
            format!("expected a constant of type `{expected}`, found one of type `{found}`"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::keyword::Keyword;

    fn literal(text: &str) -> IntLiteral<'_> {
        let kind = if text.contains('x') { TokenKind::HexInt } else { TokenKind::Int };
        let token =
            Token { start: 0, end: text.len() as u32, number: 0, keyword: Keyword::None, kind };
        IntLiteral::new(token, text.as_bytes())
    }

    #[test]
    fn integers_are_cut_and_extended() {
        assert_eq!(literal("300").to_int(8), Int::Small(44));
        assert_eq!(literal("-129").to_int(8), Int::Small(127));
        assert_eq!(literal("-1").to_int(65), Int::Big([u64::MAX, 1].into()));
        assert_eq!(literal("18446744073709551616").to_int(128), Int::Big([0, 1].into()));
        assert_eq!(literal("18446744073709551617").to_int(32), Int::Small(1));
        assert_eq!(literal("-18446744073709551616").to_int(128), Int::Big([0, u64::MAX].into()));
        assert_eq!(literal("u0x1FF").to_int(8), Int::Small(0xff));
        assert_eq!(literal("s0x8").to_int(8), Int::Small(0xf8));
        assert_eq!(literal("s0x0").to_int(8), Int::Small(0));
        assert_eq!(
            literal("s0x80000000000000000").to_int(128),
            Int::Big([0, u64::MAX << 3].into())
        );
        assert_eq!(literal("u0x80000000000000000").to_int(128), Int::Big([0, 8].into()));
        assert_eq!(literal("5").to_int(1), Int::Small(1));
    }

    #[test]
    fn integers_as_numbers() {
        assert_eq!(literal("18446744073709551615").to_u64(), Some(u64::MAX));
        assert_eq!(literal("18446744073709551616").to_u64(), None);
        assert_eq!(literal("-1").to_u64(), None);
        assert_eq!(literal("-9223372036854775808").to_i64(), Some(i64::MIN));
        assert_eq!(literal("-9223372036854775809").to_i64(), None);
        assert_eq!(literal("s0xC").to_i64(), Some(-4));
    }

    #[test]
    fn narrowing_agrees_with_the_hardware() {
        for bits in (0..=u32::MAX).step_by(65_521) {
            let value = f32::from_bits(bits);
            if value.is_nan() {
                continue;
            }
            assert_eq!(
                narrow(f64::from(value).to_bits(), FLOAT),
                Some(u64::from(bits)),
                "{bits:#x}"
            );
            let between = f64::from(value) + f64::from(value) * 1e-12;
            if between.is_finite() && between != f64::from(value) {
                assert_eq!(narrow(between.to_bits(), FLOAT), None, "{between:e}");
            }
        }
    }

    #[test]
    fn narrowing_to_half() {
        // Every half is its fields times a power of two.
        for bits in 0u64..0x7c00 {
            let (exponent, fraction) = (bits >> 10, bits & 0x3ff);
            let value = match exponent {
                0 => fraction as f64 * 2f64.powi(-24),
                _ => (1024 + fraction) as f64 * 2f64.powi(exponent as i32 - 25),
            };
            assert_eq!(narrow(value.to_bits(), HALF), Some(bits));
            assert_eq!(narrow((-value).to_bits(), HALF), Some(bits | 0x8000));
        }
        assert_eq!(narrow(65_536f64.to_bits(), HALF), None);
        assert_eq!(narrow(1.1f64.to_bits(), HALF), None);
        assert_eq!(narrow(f64::INFINITY.to_bits(), HALF), Some(0x7c00));
        assert_eq!(narrow(0x7ff0_0400_0000_0000, HALF), Some(0x7c01));
        assert_eq!(narrow(0x7ff0_0000_0000_0001, HALF), None);
    }
}
