//! A text with a table of its lines, which finds a line without scanning the text.
//!
//! ```
//! let text = phalanx_report::source::LinedText::new(b"a\nbc\r\n".to_vec());
//! assert_eq!(text.line(2), Some(&b"bc"[..]));
//! assert_eq!(text.line(4), None);
//! ```
//!
//! The first access to a line builds the table: O(length) once, then O(1).

use std::{borrow::Cow, sync::OnceLock};

/// A text by its lines.
#[derive(Debug, Default)]
pub struct LinedText<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where each line begins.
    starts: OnceLock<Vec<usize>>,
}

impl<'a> LinedText<'a> {
    /// A text, owned or not.
    pub fn new(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        LinedText { bytes: bytes.into(), starts: OnceLock::new() }
    }

    /// The text as a whole.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A line, from 1, without its end.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&[u8]> {
        let at = number.checked_sub(1)? as usize;
        let starts = self.starts.get_or_init(|| {
            let ends = self.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect()
        });
        let start = *starts.get(at)?;
        let end = starts.get(at + 1).map_or(self.bytes.len(), |next| next - 1);
        let line = self.bytes.get(start..end)?;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The word at a column of a line (both from 1), if it is called there: the name of a function
    /// as it is written, without template arguments.
    #[must_use]
    pub fn called_at(&self, line: u32, column: u32) -> Option<&str> {
        let rest = self.line(line)?.get(column.checked_sub(1)? as usize..)?;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b':';
        let length = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let mut after = after.trim_ascii_start();
        if after.starts_with(b"<") {
            let end = after.iter().position(|&byte| byte == b'>')?;
            after = after[end + 1..].trim_ascii_start();
        }
        let is_name = !word.first()?.is_ascii_digit() && after.starts_with(b"(");
        let word = std::str::from_utf8(word).ok()?;
        let keyword = matches!(word, "if" | "while" | "for" | "switch" | "return" | "sizeof");
        (is_name && !keyword).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_is_called_in_them() {
        let text =
            LinedText::new(&b"  x += __shfl_down_sync(m, x, 1);\n\nT v = load<T> (p);\nif (a)"[..]);
        assert_eq!(text.line(0), None);
        assert_eq!(text.line(2), Some(&b""[..]));
        assert_eq!(text.called_at(1, 8), Some("__shfl_down_sync"));
        assert_eq!(text.called_at(1, 3), None);
        assert_eq!(text.called_at(3, 7), Some("load"));
        assert_eq!(text.called_at(4, 1), None);
        assert_eq!(text.called_at(9, 1), None);
    }
}
