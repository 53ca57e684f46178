//! What a function does through its arguments, as plain data.

use super::Outcome;

/// So many parts are told apart in a function.
pub const PARTS: usize = 32;

/// What an [`Outcome`] of [`Through`] may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// An argument.
    Argument(u32),
    /// Whatever is loaded through an argument.
    Loaded(u32),
    /// What is in a part when the function is called, by number of the part.
    Content(u32),
}

/// Some bytes of what an argument points to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The argument.
    pub parameter: u32,
    /// The bytes, counted from the pointer; any, if that is not known.
    pub range: Option<(i64, i64)>,
    /// Whether what is there when the function is called matters for a result or for what it
    /// leaves.
    pub is_read: bool,
    /// What is there afterwards, of the inputs of [`Through::inputs`]; none if it is not written.
    pub content: Option<Outcome>,
    /// Whether all of it is surely replaced.
    pub is_certain: bool,
}

/// What a function does with what its arguments point to. See the page of
/// [`summary::through`](crate::summary::through).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Through {
    /// What outcomes depend on: what each of [`Outcome::arguments`] stands for.
    pub inputs: Box<[Input]>,
    /// By argument and range.
    pub parts: Box<[Part]>,
    /// The result, where arguments that are followed are addresses of private objects, of a
    /// structure all of it; none where that is told by [`Summary::result`](crate::Summary::result)
    /// as well.
    pub result: Option<Outcome>,
    pub(crate) followed: Box<[bool]>,
}

impl Through {
    /// Whether it is known what the function does through an argument.
    #[must_use]
    pub fn is_followed(&self, position: usize) -> bool {
        self.followed.get(position) == Some(&true)
    }

    /// The parts of what an argument points to.
    pub fn parts_of(&self, position: u32) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.parameter == position)
    }
}

/// Whether two ranges have a byte in common; one that is not known has with all.
pub(crate) fn meet(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> bool {
    a.zip(b).is_none_or(|((first, end), (at, last))| at < end && first < last)
}
