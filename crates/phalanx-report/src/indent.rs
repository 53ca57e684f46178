//! Spaces before what is nested.

/// What is deeper is indented as much as this: no screen is as wide, and the text would grow with
/// the square of the depth.
pub(crate) const DEEPEST: usize = 32;

/// Two spaces per level.
pub(crate) fn indentation(depth: usize) -> String {
    "  ".repeat(depth.min(DEEPEST))
}
