//! Spaces before what is nested.

/// Deeper levels are indented no further: otherwise the text would grow with the square of the
/// depth, and no screen is that wide.
pub(crate) const DEEPEST: usize = 32;

/// Two spaces per level.
pub(crate) fn indentation(depth: usize) -> String {
    "  ".repeat(depth.min(DEEPEST))
}
