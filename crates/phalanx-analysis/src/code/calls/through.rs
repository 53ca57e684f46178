//! What a function does to the memory that its arguments point to, as plain data.
//!
//! ```text
//! define void @f(ptr %p, i32 %v) {  ; part: bytes 0 to 4 of %p, content: %v, is_certain
//!   store i32 %v, ptr %p
//! ```

use super::Outcome;

/// The number of parts that are told apart in a function.
pub const PARTS: usize = 32;

/// What an [`Outcome`] of [`Through`] may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// An argument.
    Argument(u32),
    /// Anything that is loaded through an argument.
    Loaded(u32),
    /// What a part holds when the function is called, by number of the part.
    Content(u32),
}

/// A range of bytes of the memory that an argument points to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The argument.
    pub parameter: u32,
    /// The bytes, counted from the pointer; `None` means any bytes.
    pub range: Option<(i64, i64)>,
    /// Whether what the part holds at the call matters for the result, or for what parts hold
    /// afterwards.
    pub is_read: bool,
    /// What the part holds afterwards, as an outcome over [`Through::inputs`]; none if it is not
    /// written.
    pub content: Option<Outcome>,
    /// Whether the call replaces the whole part on every path.
    pub is_certain: bool,
}

/// What a function does to the memory that its arguments point to. See the page of
/// [`summary::through`](crate::summary::through).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Through {
    /// The inputs of the outcomes, in the order of [`Outcome::arguments`].
    pub inputs: Box<[Input]>,
    /// The parts, in order of argument and range.
    pub parts: Box<[Part]>,
    /// The result, if tracked arguments are addresses of private objects; of a structure, the
    /// result as a whole. None if [`Summary::result`](crate::Summary::result) says the same.
    pub result: Option<Outcome>,
    pub(crate) followed: Box<[bool]>,
}

impl Through {
    /// Whether what the function does through an argument is known.
    #[must_use]
    pub fn is_followed(&self, position: usize) -> bool {
        self.followed.get(position) == Some(&true)
    }

    /// The parts of the memory that an argument points to.
    pub fn parts_of(&self, position: u32) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.parameter == position)
    }
}

/// Whether two ranges have a byte in common; a range that is not known meets all.
pub(crate) fn meet(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> bool {
    a.zip(b).is_none_or(|((first, end), (at, last))| at < end && first < last)
}
