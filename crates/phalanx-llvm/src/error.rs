//! Errors of the parser, with their places.

use std::fmt;

/// A run of bytes of the source: `start..end`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end`.
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// From the start of this to the end of the other.
    #[must_use]
    pub const fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end }
    }
}

/// A further remark on an error, perhaps about another place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The place it is about, if any.
    pub span: Option<Span>,
    /// The remark.
    pub message: String,
}

/// Why a text was refused.
///
/// Places are byte offsets; [`ParseError::line_col`] turns them into what people read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The offending text.
    pub span: Span,
    /// What is wrong, one line, without a final stop.
    pub message: String,
    /// A few words for the marked text itself.
    pub label: Option<String>,
    /// Further remarks.
    pub notes: Vec<Note>,
}

impl ParseError {
    /// An error about a place.
    pub fn new(span: Span, message: impl Into<String>) -> ParseError {
        ParseError { span, message: one_line(message.into()), label: None, notes: Vec::new() }
    }

    /// With a few words for the marked text.
    #[must_use]
    pub fn with_label(mut self: Box<Self>, label: impl Into<String>) -> Box<Self> {
        self.label = Some(label.into());
        self
    }

    /// With a further remark.
    #[must_use]
    pub fn with_note(
        mut self: Box<Self>,
        span: Option<Span>,
        message: impl Into<String>,
    ) -> Box<Self> {
        self.notes.push(Note { span, message: message.into() });
        self
    }

    /// Line and column of the error, both from 1; the column counts bytes. O(length of the source).
    pub fn line_col(&self, source: &[u8]) -> (usize, usize) {
        line_col(source, self.span.start)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

/// Line and column of an offset, both from 1; the column counts bytes. O(offset).
pub fn line_col(source: &[u8], offset: u32) -> (usize, usize) {
    let before = &source[..source.len().min(offset as usize)];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    (line, before.len() - start + 1)
}

/// Longest message; a longer quotation of the text would not help the reader.
const LONGEST: usize = 300;

/// The message on one line and of bearable length, whatever it quotes.
fn one_line(message: String) -> String {
    if message.len() <= LONGEST && !message.contains(char::is_control) {
        return message;
    }
    let mut out = String::with_capacity(LONGEST);
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let pieces: Vec<String> = message.chars().map(escaped).collect();
    let length: usize = pieces.iter().map(String::len).sum();
    if length <= LONGEST {
        return pieces.concat();
    }
    // The start of a message says what it is about, the end what is wrong, so a long quotation is
    // cut in the middle.
    let keep = LONGEST / 2;
    let (mut start, mut is_cut) = (0, false);
    for piece in &pieces {
        let from = start;
        start += piece.len();
        if start <= keep {
            out.push_str(piece);
        } else if from >= length - keep {
            if !is_cut {
                out.push_str(" ... ");
                is_cut = true;
            }
            out.push_str(piece);
        }
    }
    out
}

/// What the functions of the parser return; the error is boxed to keep the good path small.
pub(crate) type PResult<T> = Result<T, Box<ParseError>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_short_line() {
        let span = Span { start: 0, end: 0 };
        let text = |message: &str| ParseError::new(span, message).message;
        assert_eq!(text("expected `,`"), "expected `,`");
        assert_eq!(text("a\nb\u{1}"), "a\\nb\\u{1}");
        let long = text(&format!("part `{}`: bad size", "x\n".repeat(1000)));
        assert!(long.len() <= LONGEST + 10, "{long}");
        assert!(long.starts_with("part `x\\nx") && long.ends_with("x\\n`: bad size"), "{long}");
        assert!(long.contains(" ... "), "{long}");
    }
}
