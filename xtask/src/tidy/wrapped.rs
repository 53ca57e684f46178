//! Prose within 100 columns: comments of Rust files, and paragraphs of Markdown.
//!
//! A line is too long if it could be broken at a blank outside of code spans. Code blocks, tables,
//! headings and HTML may have any length.
//!
//! ```text
//! /// A line that goes on and on, of which ...    too long: there is a blank before column 100
//! /// `let a = a_call_that_is_long(.., .., ..)`   stays: a code span is not broken
//! ```

use std::path::Path;

/// Where a line ends.
const COLUMNS: usize = 100;

/// Lines of a file that are too long.
pub(super) fn check(path: &Path, content: &str, findings: &mut Vec<String>) {
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let mut fence: Option<String> = None;
    for (number, line) in content.lines().enumerate() {
        let Some((start, prose)) = prose(line, is_rust) else {
            fence = None;
            continue;
        };
        let text = prose.trim_start();
        let ticks: String = text.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if text == open.as_str() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None if line.chars().count() > COLUMNS && is_breakable(start, prose) => {
                findings.push(format!("{}:{}: over {COLUMNS} columns", path.display(), number + 1));
            }
            None => {}
        }
    }
}

/// Where prose begins in a line, and the prose; nothing where a Rust line has none.
fn prose(line: &str, is_rust: bool) -> Option<(usize, &str)> {
    if !is_rust {
        return Some((0, line));
    }
    let text = line.trim_start();
    let marks = ["///", "//!", "//"].into_iter().find(|marks| text.starts_with(marks))?;
    let start = line.len() - text.len() + marks.len();
    Some((start, &line[start..]))
}

/// Whether prose that begins at a column has a blank before the limit at which it can be broken.
fn is_breakable(start: usize, prose: &str) -> bool {
    let text = prose.trim_start();
    if ["|", "#", "<", ">", "["].iter().any(|mark| text.starts_with(mark)) {
        return false;
    }
    // What makes a line an item of a list.
    let is_mark = |c: char| "-*.".contains(c) || c.is_ascii_digit();
    let body = text.trim_start_matches(is_mark).trim_start();
    let before = start + prose.chars().count() - body.chars().count();
    let mut is_code = false;
    body.chars().take(COLUMNS.saturating_sub(before)).any(|c| {
        is_code ^= c == '`';
        c == ' ' && !is_code
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(name: &str, text: &str, expected: &[usize]) {
        let mut findings = Vec::new();
        check(Path::new(name), text, &mut findings);
        let lines: Vec<String> =
            expected.iter().map(|line| format!("{name}:{line}: over 100 columns")).collect();
        assert_eq!(findings, lines);
    }

    #[test]
    fn comments() {
        let words = "word ".repeat(22);
        let span = format!("`{}`", "a + ".repeat(30));
        check_text("a.rs", &format!("/// {words}\n// {span}\nlet a = \"{words}\";\n"), &[1]);
        check_text("a.rs", &format!("//! ```text\n//! {words}\n//! ```\n//! {words}\n"), &[4]);
    }

    #[test]
    fn markdown() {
        let words = "word ".repeat(22);
        let link = format!("- [{}](b.md)", "a".repeat(110));
        check_text(
            "a.md",
            &format!("{words}\n| {words} |\n# {words}\n{link}\n- {words}\n"),
            &[1, 5],
        );
    }
}
