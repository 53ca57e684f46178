//! Compares two versions of a module on one page: which lines correspond, and which of them now
//! differ between other threads than before.
//!
//! ```text
//! before                              now
//! %i = phi i32 ...   uniform    ---   %i = phi i32 ...   uniform
//! %x = mul i32 %i, 3 uniform    ---   %x = mul i32 %i, 3 differs     changed
//! call void @f()                                                     gone
//!                                     %y = shl i32 %x, 1             new
//! ```
//!
//! Functions correspond by name. Lines correspond by a longest common subsequence, ignoring names
//! of values and numbers of metadata, since transforms change these everywhere. If that would take
//! more than [`CELLS`] steps, each line is matched with the next equal one.
//!
//! **Cost.** O(lines) where little has changed, and O(lines before * lines now) of what is between
//! the first and the last change.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::model::{FunctionPage, Page, Row};
use super::sentences::{counted, verb};

/// The largest table of a longest common subsequence.
const CELLS: usize = 4_000_000;

/// The earlier version of a function.
#[derive(Clone, Debug, Serialize)]
pub struct Earlier {
    /// Its lines; without chains of causes.
    pub rows: Vec<Row>,
    /// Corresponding lines: numbers of an old and a new line, both in ascending order.
    pub pairs: Vec<(usize, usize)>,
}

impl Page {
    /// Shows an earlier version beside this one.
    pub fn set_earlier(&mut self, earlier: Page) {
        let mut by_name: FxHashMap<String, FunctionPage> =
            earlier.functions.into_iter().map(|one| (one.symbol.clone(), one)).collect();
        for function in &mut self.functions {
            let before = by_name.remove(&function.symbol);
            function.sentences.push(match &before {
                Some(before) => sentence(&earlier.file, &before.rows, &function.rows),
                None => format!("{} has no function of this name.", earlier.file),
            });
            function.earlier = before.map(|before| {
                let pairs = partners(&before.rows, &function.rows);
                let mut rows = before.rows;
                for row in &mut rows {
                    row.chain.clear();
                    // Each version numbers the files of the program on its own.
                    row.place = None;
                }
                Earlier { rows, pairs }
            });
        }
        self.against = Some(earlier.file);
    }
}

/// What has changed, in a sentence.
fn sentence(file: &str, before: &[Row], now: &[Row]) -> String {
    let pairs = partners(before, now);
    let of = |test: fn(u8, u8) -> bool| {
        pairs.iter().filter(|&&(a, b)| test(before[a].level, now[b].level)).count()
    };
    let (more, fewer) = (of(|a, b| a < b), of(|a, b| a > b));
    let (new, gone) = (now.len() - pairs.len(), before.len() - pairs.len());
    let divergence = match (more, fewer) {
        (0, 0) => "no line differs between other threads than before".to_owned(),
        _ => {
            let (lines, differ) = (counted(more, "line", "lines"), verb(more, "differs", "differ"));
            format!("{lines} {differ} between threads that agreed, {fewer} the other way round")
        }
    };
    let lines = |count, what: &str| {
        // Grammar: no line is, one line is, two lines are.
        let are = if count < 2 { "is" } else { "are" };
        format!("{} {are} {what}", counted(count, "line", "lines"))
    };
    format!("Against {file}: {divergence}; {}, {}.", lines(new, "new"), lines(gone, "gone"))
}

/// Pairs of corresponding lines of two versions.
fn partners(before: &[Row], now: &[Row]) -> Vec<(usize, usize)> {
    let keys = |rows: &[Row]| rows.iter().map(key).collect::<Vec<_>>();
    let (old, new) = (keys(before), keys(now));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let (from_old, from_new) = (old.iter().rev(), new.iter().rev());
    let end = from_old.zip(from_new).take(rest).take_while(|(a, b)| a == b).count();
    let mut pairs: Vec<_> = (0..start).map(|at| (at, at)).collect();
    let (a, b) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let between = match a.len().saturating_mul(b.len()) <= CELLS {
        true => longest(a, b),
        false => next_equal(a, b),
    };
    pairs.extend(between.into_iter().map(|(a, b)| (a + start, b + start)));
    pairs.extend((1..=end).rev().map(|at| (old.len() - at, new.len() - at)));
    pairs
}

/// The text of a line without names of values and numbers of metadata; a label is compared by its
/// name.
fn key(row: &Row) -> String {
    if row.kind == "b" {
        return row.text.clone();
    }
    let mut out = row.kind.to_owned();
    let mut rest = row.text.as_str();
    while let Some(at) = rest.find(['%', '!']) {
        out.push_str(&rest[..=at]);
        let is_name = |c: char| c.is_alphanumeric() || "._$-".contains(c);
        let (mark, behind) = rest[at..].split_at(1);
        // The kind of metadata counts, its number does not.
        let is_kind = mark == "!" && !behind.starts_with(|c: char| c.is_ascii_digit());
        rest = match is_kind {
            true => behind,
            false => behind.trim_start_matches(is_name),
        };
    }
    out + rest
}

/// A longest common subsequence.
fn longest(a: &[String], b: &[String]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    // The length of the longest common subsequence from each pair of positions on.
    let mut length = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            length[i * width + j] = match a[i] == b[j] {
                true => length[(i + 1) * width + j + 1] + 1,
                false => length[(i + 1) * width + j].max(length[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if length[(i + 1) * width + j] >= length[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Matches each line with the next equal one, behind the match of the line before.
fn next_equal(a: &[String], b: &[String]) -> Vec<(usize, usize)> {
    let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (at, key) in b.iter().enumerate() {
        places.entry(key).or_default().push(at);
    }
    let (mut from, mut pairs) = (0, Vec::new());
    for (at, key) in a.iter().enumerate() {
        let Some(found) = places.get(key.as_str()) else { continue };
        let next = found.partition_point(|&place| place < from);
        if let Some(&place) = found.get(next) {
            pairs.push((at, place));
            from = place + 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[(&str, u8)]) -> Vec<Row> {
        let row = |&(text, level): &(&str, u8)| Row {
            kind: if text.ends_with(':') { "b" } else { "i" },
            text: text.to_owned(),
            level,
            ..Row::default()
        };
        lines.iter().map(row).collect()
    }

    #[test]
    fn names_and_numbers_do_not_count() {
        let before =
            rows(&[("a:", 0), ("%1 = add i32 %0, 1, !dbg !7", 0), ("ret void, !dbg !8", 0)]);
        let now =
            rows(&[("a:", 0), ("%x.y = add i32 %n, 1, !dbg !9", 3), ("ret void, !dbg !1", 0)]);
        assert_eq!(partners(&before, &now), [(0, 0), (1, 1), (2, 2)]);
        let words = "Against k.ll: 1 line differs between threads that agreed, 0 the other way \
                     round; no line is new, no line is gone.";
        assert_eq!(sentence("k.ll", &before, &now), words);
    }

    #[test]
    fn other_labels_and_other_metadata_count() {
        let before = rows(&[("a:", 0), ("%1 = load i32, ptr %0, !range !1", 0)]);
        let now = rows(&[("b:", 0), ("%1 = load i32, ptr %0, !tbaa !1", 0)]);
        assert_eq!(partners(&before, &now), []);
    }

    /// Both algorithms give pairs of equal lines in order, and the first gives a longest sequence.
    #[test]
    fn partners_are_equal_and_in_order() {
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        for (a, b, most) in [("abcde", "xbxdx", 2), ("abab", "baba", 3), ("", "ab", 0)] {
            let (a, b) = (letters(a), letters(b));
            for pairs in [longest(&a, &b), next_equal(&a, &b)] {
                assert!(pairs.iter().all(|&(i, j)| a[i] == b[j]));
                assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
                assert!(pairs.len() <= most);
            }
            assert_eq!(longest(&a, &b).len(), most);
        }
    }
}
