//! Reads files for tests: errors name the file.
#![allow(clippy::disallowed_methods, reason = "this is where tests read files")]

use std::{fs, ops::Range, path::Path};

/// The content of a file.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The content of a text file.
///
/// # Panics
/// When it cannot be read or is no text.
#[must_use]
pub fn text(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks that the table of a page whose first row begins with `start` equals `table`. With
/// `UPDATE_EXPECT=1` in the environment, writes the table into the page instead.
///
/// A table ends at the next empty line; all text up to there is compared.
///
/// # Panics
/// When the page has no such table or a different one, or cannot be read or written.
pub fn check_table(page: impl AsRef<Path>, start: &str, table: &str) {
    let path = page.as_ref();
    let page = text(path);
    let known = table_of(&page, start);
    let known = known.unwrap_or_else(|| panic!("{}: no table begins with {start}", path.display()));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let page = format!("{}{table}{}", &page[..known.start], &page[known.end..]);
        fs::write(path, page).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    } else {
        assert_eq!(&page[known], table, "run with UPDATE_EXPECT=1 to update {}", path.display());
    }
}

/// The byte range of the table.
fn table_of(page: &str, start: &str) -> Option<Range<usize>> {
    let start = match page.starts_with(start) {
        true => 0,
        false => page.find(&format!("\n{start}"))? + 1,
    };
    let end = page[start..].find("\n\n").map_or(page.len(), |end| start + end + 1);
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "Text.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nMore: | c |.\n\n| c |\n|---|\n";

    #[test]
    fn a_table_goes_to_the_next_empty_line() {
        let of = |start| table_of(PAGE, start).map(|range| &PAGE[range]);
        assert_eq!(of("| a |"), Some("| a | b |\n|---|---|\n| 1 | 2 |\n"));
        assert_eq!(of("| c |"), Some("| c |\n|---|\n"));
        assert_eq!(of("| b |"), None);
    }

    #[test]
    #[should_panic(expected = "run with UPDATE_EXPECT=1")]
    fn another_table_is_noticed() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
        // With `UPDATE_EXPECT` set, `check_table` would overwrite the page.
        assert!(std::env::var_os("UPDATE_EXPECT").is_none(), "run with UPDATE_EXPECT=1");
        check_table(page, "| edit |", "| edit |\n");
    }
}
