//! What can be wrong with a text, and where.

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
        ParseError { span, message: message.into(), label: None, notes: Vec::new() }
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

/// What the functions of the parser return; the error is boxed to keep the good path small.
pub(crate) type PResult<T> = Result<T, Box<ParseError>>;
