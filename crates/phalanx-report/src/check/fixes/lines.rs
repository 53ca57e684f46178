//! Shows a fix as removed and added lines.
//!
//! ```text
//! before line 4:   + __syncthreads();
//! line 9:          - __shared__ float tile[32][32];
//!                  + __shared__ float tile[32][33];
//! ```
//!
//! O(length of the file) for each edit.

use serde::Serialize;

use super::{Edit, Fix, applied, bytes_of};

/// Successive lines, and their replacement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ChangedLines {
    /// The first removed line; if none is removed, the line before which the new ones are inserted.
    pub line: u32,
    /// The removed lines.
    pub old: Vec<String>,
    /// The added lines.
    pub new: Vec<String>,
}

/// The lines of a text that a fix changes, from the first to the last. None if an edit is not in
/// the text.
#[must_use]
pub fn changed_lines(fix: &Fix, text: &[u8]) -> Option<Vec<ChangedLines>> {
    let mut edits: Vec<&Edit> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| (edit.start.line, edit.start.column));
    let mut all = Vec::new();
    // Edits that share a line are one change.
    for together in edits.chunk_by(|a, b| b.start.line <= a.end.line) {
        let last = together.iter().map(|edit| edit.end.line).max()?;
        all.push(change(text, together, last)?);
    }
    Some(all)
}

/// The change by edits that begin in the line of the first one and end in line `last`.
fn change(text: &[u8], edits: &[&Edit], last: u32) -> Option<ChangedLines> {
    let first = edits.first()?.start.line;
    let range = bytes_of(text, edits.first()?)?;
    let start = text[..range.start].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let lines = (last - first) as usize + 1;
    let piece: Vec<u8> = text[start..].split_inclusive(|&b| b == b'\n').take(lines).fold(
        Vec::new(),
        |mut piece, line| {
            piece.extend_from_slice(line);
            piece
        },
    );
    let moved = |edit: &&Edit| {
        let mut edit = (*edit).clone();
        edit.start.line -= first - 1;
        edit.end.line -= first - 1;
        edit
    };
    let moved: Vec<Edit> = edits.iter().map(moved).collect();
    let lines_of = |text: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
    };
    let (mut old, mut new) = (lines_of(&piece), lines_of(&applied(&piece, &moved)?));
    while old.last().is_some() && old.last() == new.last() {
        (_, _) = (old.pop(), new.pop());
    }
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    (_, _) = (old.drain(..same), new.drain(..same));
    Some(ChangedLines { line: first + same as u32, old, new })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::lines::Place;

    fn edit(start: (u32, u32), end: (u32, u32), text: &str) -> Edit {
        let place = |(line, column)| Place { line, column };
        Edit {
            file: "k.cu".to_owned(),
            folder: String::new(),
            checksum: String::new(),
            start: place(start),
            end: place(end),
            text: text.to_owned(),
        }
    }

    #[track_caller]
    fn check(edits: Vec<Edit>, expected: &Expect) {
        let text = b"a[t] = 1;\n  b[t] = a[u];\n}\nlast";
        let fix = Fix { message: String::new(), edits };
        let mut out = String::new();
        for ChangedLines { line, old, new } in changed_lines(&fix, text).expect("they are in it") {
            out += &format!("{line}:\n");
            out.extend(old.iter().map(|line| format!("- {line}\n")));
            out.extend(new.iter().map(|line| format!("+ {line}\n")));
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn a_line_more() {
        check(
            vec![edit((2, 1), (2, 1), "  __syncthreads();\n")],
            &expect![[r"
                2:
                +   __syncthreads();
            "]],
        );
    }

    #[test]
    fn another_operand_and_a_line_that_goes() {
        check(
            vec![edit((3, 1), (4, 1), ""), edit((1, 8), (1, 9), "2")],
            &expect![[r"
                1:
                - a[t] = 1;
                + a[t] = 2;
                3:
                - }
            "]],
        );
    }

    #[test]
    fn two_edits_of_a_line_and_one_at_the_end() {
        check(
            vec![
                edit((2, 5), (2, 6), "i"),
                edit((2, 12), (2, 13), "j"),
                edit((4, 5), (4, 5), ";\n"),
            ],
            &expect![[r"
                2:
                -   b[t] = a[u];
                +   b[i] = a[j];
                4:
                - last
                + last;
            "]],
        );
    }

    #[test]
    fn an_edit_of_another_text() {
        let fix = Fix { message: String::new(), edits: vec![edit((9, 1), (9, 1), "x")] };
        assert_eq!(changed_lines(&fix, b"a\n"), None);
    }
}
