//! Proposes changes of the source that may correct a finding.
//!
//! [`proposals`] makes them from the places of a finding and the text of its file. This module does
//! not decide whether a proposal is right. `phalanx check` compiles the changed file, and the
//! proposal becomes the fix of a [`Diagnostic`] if the finding is gone and no other has appeared.
//!
//! ```text
//! PHX050   a barrier between the two accesses
//! PHX051   `__syncwarp()` between them
//! PHX001   the barrier behind the `if` that it ends
//! PHX003   the barrier before the `return` behind which it stands
//! PHX006   another mask
//! PHX012   rows of a tile that are one element longer
//! ```
//!
//! O(length of the file) for each finding.

mod barriers;
mod lines;
mod operands;
mod statements;

use std::ops::Range;

use phalanx_analysis::check::Rule;
use serde::Serialize;

use super::{Diagnostic, LinedText, Location, Place, SourceFile, Sources};
pub use lines::{ChangedLines, changed_lines};
use statements::Tokens;

/// A change that corrects a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fix {
    /// What it does, in a sentence.
    pub message: String,
    /// Changes of one file, from its beginning to its end.
    pub edits: Vec<Edit>,
}

/// Text in place of a piece of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edit {
    /// The name of the file, as the compiler was told.
    pub file: String,
    /// The folder in which the compiler ran.
    #[serde(skip)]
    pub folder: String,
    /// The checksum of the file that was compiled.
    #[serde(skip)]
    pub checksum: String,
    /// Where the piece begins. Columns count bytes.
    pub start: Place,
    /// Where it ends: the column behind it.
    pub end: Place,
    /// What is there instead.
    pub text: String,
}

impl Edit {
    /// The file that it changes.
    #[must_use]
    pub fn source(&self) -> SourceFile {
        SourceFile {
            file: self.file.clone(),
            folder: self.folder.clone(),
            checksum: self.checksum.clone(),
            ..SourceFile::default()
        }
    }
}

/// Text in place of some bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    range: Range<usize>,
    text: String,
}

/// The language in which a missing call is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// `__syncthreads();`
    Cuda,
    /// `barrier(CLK_LOCAL_MEM_FENCE);`
    OpenCl,
}

impl Words {
    fn barrier(self) -> &'static str {
        match self {
            Words::Cuda => "__syncthreads();",
            Words::OpenCl => "barrier(CLK_LOCAL_MEM_FENCE);",
        }
    }

    fn wave_barrier(self) -> &'static str {
        match self {
            Words::Cuda => "__syncwarp();",
            Words::OpenCl => "sub_group_barrier(CLK_LOCAL_MEM_FENCE);",
        }
    }
}

/// Changes that may correct a finding, the simplest first.
#[must_use]
pub fn proposals(diagnostic: &Diagnostic, words: Words, sources: &dyn Sources) -> Vec<Fix> {
    let Some(rule) = Rule::from_name(diagnostic.code) else { return Vec::new() };
    let Some(place) = diagnostic.location.source.as_ref() else { return Vec::new() };
    let other = diagnostic.reasons.iter().find(|reason| reason.kind == "other");
    let (place, other) = match other {
        Some(other) => match in_one_function(&diagnostic.location, &other.location) {
            Some((place, other)) => (place, other),
            None => return Vec::new(),
        },
        None => (place, place),
    };
    let Some(text) = sources.text(place) else { return Vec::new() };
    let (Some(at), Some(other)) = (offset(&text, place), offset(&text, other)) else {
        return Vec::new();
    };
    let code = Tokens::new(text.bytes());
    let name = |call: &str| call.trim_end_matches(';').replace("CLK_LOCAL_MEM_FENCE", "");
    let missing = |call: &'static str| {
        let ways = barriers::between(&code, [at, other], call);
        (format!("put `{}` between the accesses", name(call)), ways)
    };
    let (message, ways) = match rule {
        Rule::WorkgroupRace | Rule::WrittenTooSoon => missing(words.barrier()),
        Rule::WaveSynchronous => missing(words.wave_barrier()),
        Rule::DivergentBarrier => {
            ("move the barrier out of the branch".to_owned(), barriers::out_of_branch(&code, at))
        }
        Rule::BarrierAfterExit => {
            ("move the barrier before the return".to_owned(), barriers::before_return(&code, at))
        }
        Rule::MissingMembers | Rule::NotInMask | Rule::SourceNotInMask => {
            ("name other lanes in the mask".to_owned(), operands::masks(&code, at))
        }
        Rule::BankConflict => (
            "make rows of the tile one element longer".to_owned(),
            operands::longer_rows(&code, at),
        ),
        _ => return Vec::new(),
    };
    let fix = |changes: Vec<Change>| Fix {
        message: message.clone(),
        edits: changes.into_iter().map(|change| edit(&text, place, change)).collect(),
    };
    ways.into_iter().map(fix).collect()
}

/// The lines of two places in the innermost function that contains both.
fn in_one_function<'l>(
    one: &'l Location,
    other: &'l Location,
) -> Option<(&'l SourceFile, &'l SourceFile)> {
    let (one, other): (Vec<_>, Vec<_>) = (one.frames().collect(), other.frames().collect());
    let shared = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let at = |frames: &[&'l SourceFile]| {
        frames.get(frames.len().saturating_sub(shared).max(1).checked_sub(1)?).copied()
    };
    let (one, other) = (at(&one)?, at(&other)?);
    let is_one = one.file == other.file && one.folder == other.folder;
    (is_one && one.function == other.function).then_some((one, other))
}

/// The byte offset of a place in its file.
fn offset(text: &LinedText<'_>, place: &SourceFile) -> Option<usize> {
    let line = text.line(place.line)?;
    let start = line.as_ptr() as usize - text.bytes().as_ptr() as usize;
    let column = place.column.checked_sub(1)? as usize;
    (column < line.len()).then_some(start + column)
}

fn edit(text: &LinedText<'_>, file: &SourceFile, change: Change) -> Edit {
    let place = |offset: usize| {
        let before = &text.bytes()[..offset];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Place { line: number(line), column: number(offset - start + 1) }
    };
    Edit {
        file: file.file.clone(),
        folder: file.folder.clone(),
        checksum: file.checksum.clone(),
        start: place(change.range.start),
        end: place(change.range.end),
        text: change.text,
    }
}

/// The bytes of a text that an edit replaces; none if it has no such place.
pub(super) fn bytes_of(text: &[u8], edit: &Edit) -> Option<Range<usize>> {
    let offset = |place: Place| {
        let line = place.line.checked_sub(1)? as usize;
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let start = [0].into_iter().chain(ends.map(|(at, _)| at + 1)).nth(line)?;
        let at = start + place.column.checked_sub(1)? as usize;
        (at <= text.len()).then_some(at)
    };
    let range = offset(edit.start)?..offset(edit.end)?;
    (range.start <= range.end).then_some(range)
}

/// A text with some edits applied; none if they overlap or are not in it. Where several insert at
/// one place, equal text is inserted once; different texts are inserted in their order.
#[must_use]
pub fn applied<'e>(text: &[u8], edits: impl IntoIterator<Item = &'e Edit>) -> Option<Vec<u8>> {
    let edits = edits.into_iter().map(|edit| Some((bytes_of(text, edit)?, edit.text.as_bytes())));
    let mut edits: Vec<(Range<usize>, &[u8])> = edits.collect::<Option<_>>()?;
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits.dedup();
    let (mut out, mut done) = (Vec::new(), 0);
    for (range, new) in edits {
        out.extend_from_slice(text.get(done..range.start)?);
        out.extend_from_slice(new);
        done = range.end;
    }
    out.extend_from_slice(text.get(done..)?);
    Some(out)
}
