//! Spelling of names and strings.
//!
//! A name stands bare when it begins with no digit and holds only letters, digits, `-`, `.` and
//! `_`. (The reader takes `$` bare as well, LLVM's writer quotes it.) Any other name is quoted, and
//! inside quotes every byte that is not printable ASCII, and the quote itself, is `\XX`; a
//! backslash is doubled.

use super::Writer;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Whether a byte may occur in a name without quotes.
fn is_bare_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

fn is_bare(name: &[u8]) -> bool {
    !name.is_empty() && !name[0].is_ascii_digit() && name.iter().all(|&byte| is_bare_byte(byte))
}

/// Appends `bytes` with LLVM's escapes, without quotes around.
pub(super) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b' '..=b'~' if byte != b'"' => out.push(byte),
            _ => out.extend_from_slice(&[
                b'\\',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]),
        }
    }
}

/// Appends a name, quoted when it must be, without its sigil.
pub(super) fn name(name: &[u8], out: &mut Vec<u8>) {
    if is_bare(name) {
        out.extend_from_slice(name);
    } else {
        out.push(b'"');
        escape(name, out);
        out.push(b'"');
    }
}

/// Appends a number in decimal.
pub(super) fn decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends the lowest `digits` hexadecimal digits of a number, upper case.
pub(super) fn hex(number: u128, digits: u32, out: &mut Vec<u8>) {
    for digit in (0..digits).rev() {
        out.push(HEX[(number >> (4 * digit) & 15) as usize]);
    }
}

impl Writer<'_> {
    /// Bytes as they are.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Text as it is.
    pub(super) fn str(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// A number in decimal.
    pub(super) fn number(&mut self, number: u64) {
        decimal(number, self.out);
    }

    /// A signed number in decimal.
    pub(super) fn signed(&mut self, number: i64) {
        if number < 0 {
            self.out.push(b'-');
        }
        decimal(number.unsigned_abs(), self.out);
    }

    /// `"bytes"` with escapes.
    pub(super) fn quoted_bytes(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        escape(bytes, self.out);
        self.out.push(b'"');
    }

    /// A name after its sigil, quoted when it must be.
    pub(super) fn name(&mut self, sigil: u8, name_bytes: &[u8]) {
        self.out.push(sigil);
        name(name_bytes, self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        name(bytes, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn bare_names() {
        for bare in ["a", "a.b", "_Z3fooi", "-x-", "_", ".L1"] {
            assert_eq!(spelled(bare.as_bytes()), bare);
        }
    }

    #[test]
    fn quoted_names() {
        assert_eq!(spelled(b""), r#""""#);
        assert_eq!(spelled(b"x$y"), r#""x$y""#);
        assert_eq!(spelled(b"1"), r#""1""#);
        assert_eq!(spelled(b"a b"), r#""a b""#);
        assert_eq!(spelled(b"q\"\\\n\xff"), r#""q\22\\\0A\FF""#);
    }

    #[test]
    fn decimals() {
        for number in [0, 7, 10, 99, 100, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    #[test]
    fn hexadecimals() {
        let mut out = Vec::new();
        hex(0x0abc, 4, &mut out);
        assert_eq!(out, b"0ABC");
    }
}
