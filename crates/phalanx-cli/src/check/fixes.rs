//! Fixes: proposals that are tried, and `--fix`, which writes them.
//!
//! A proposal changes the text of the source. The changed text is compiled in place of the file and
//! checked. The proposal is kept if the finding is gone, no rule finds more than before, and no
//! more is left unjudged. The next proposal is tried on top of the kept ones, so all fixes of a
//! file fit together.
//!
//! ```text
//! k.cu: PHX050 at 4:24      try a barrier before line 4: compiles, nothing found: kept
//! ```
//!
//! Only the file of a unit is changed: a header may belong to other units, which are not compiled
//! here. One compilation for each proposal, at most [`TRIALS`] for a unit.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::Context as _;
use phalanx::report::check::{
    Diagnostic, Edit, Fix, Judged, Sources as _, Words, applied, proposals,
};
use phalanx_source::Language;

use super::{Check, Checked};
use crate::{
    files::{Files, FilesOf},
    input::{Origin, Reader, Source},
};

/// How many proposals are compiled for a unit.
const TRIALS: usize = 16;

/// How many findings each rule has in each function, and how many of these are errors.
type Counts = BTreeMap<Key, (usize, usize)>;

/// A rule's code and the function's name in the module.
type Key = (String, String);

fn counts(found: &[Diagnostic]) -> Counts {
    let mut counts = Counts::default();
    for one in found.iter().filter(|one| one.suppression.is_none()) {
        let (all, errors) = counts.entry((one.code.to_owned(), one.symbol.clone())).or_default();
        *all += 1;
        *errors += usize::from(one.level == "error");
    }
    counts
}

/// How many places are left unjudged.
fn unjudged(judged: &Judged) -> usize {
    judged.not_judged.iter().map(|one| one.places).sum()
}

/// The file of a unit, which fixes change.
struct Target<'s> {
    origin: &'s Origin,
    path: PathBuf,
    text: Vec<u8>,
}

impl<'s> Target<'s> {
    fn of(source: &'s Source) -> Option<Target<'s>> {
        let origin = source.compiled.as_ref()?;
        let path = std::fs::canonicalize(origin.unit.path()).ok()?;
        let text = std::fs::read(&path).ok()?;
        Some(Target { origin, path, text })
    }

    fn has(&self, edit: &Edit) -> bool {
        path_of(edit).is_some_and(|path| path == self.path)
    }
}

/// The full name of a file that is to be changed.
fn path_of(edit: &Edit) -> Option<PathBuf> {
    std::fs::canonicalize(PathBuf::from(&edit.folder).join(&edit.file)).ok()
}

/// The context in which the proposals for a unit are tried.
pub(crate) struct Trials<'a> {
    /// Compiles sources.
    pub(crate) reader: &'a Reader,
    /// Checks a module, with these files as its sources.
    pub(crate) found: &'a Found<'a>,
}

/// Returns the findings in a module, and what was judged.
type Found<'a> = dyn Fn(&Source, &Files) -> anyhow::Result<(Vec<Diagnostic>, Judged)> + 'a;

impl Trials<'_> {
    /// Adds working fixes to findings in a source.
    pub(crate) fn add_fixes(
        &self,
        (source, files): (&Source, &FilesOf<'_>),
        found: &mut [Diagnostic],
        judged: &Judged,
    ) {
        let Some(target) = Target::of(source) else { return };
        let words = match target.origin.unit.language {
            Language::OpenCl => Words::OpenCl,
            Language::Cuda | Language::Hip => Words::Cuda,
        };
        let mut best = counts(found);
        let mut kept: Vec<Edit> = Vec::new();
        let mut left = TRIALS;
        for one in found.iter_mut().filter(|one| one.suppression.is_none()) {
            let key = (one.code.to_owned(), one.symbol.clone());
            for fix in proposals(one, words, files) {
                let Some(less) = left.checked_sub(1) else { return };
                if !fix.edits.iter().all(|edit| target.has(edit)) {
                    break;
                }
                left = less;
                let edits = kept.iter().chain(&fix.edits);
                let Some(text) = applied(&target.text, edits) else { continue };
                if let Some(counts) = self.tried(&target, text, (&best, &key), judged) {
                    best = counts;
                    kept.extend(fix.edits.iter().cloned());
                    one.fix = Some(fix);
                    break;
                }
            }
        }
    }

    /// The findings in a changed source, if there are fewer of one rule in one function, and no
    /// more of any other.
    fn tried(
        &self,
        target: &Target<'_>,
        text: Vec<u8>,
        (before, key): (&Counts, &Key),
        judged: &Judged,
    ) -> Option<Counts> {
        let source = self.reader.changed(&target.origin.unit, &text).ok()?;
        let files = Files::with_changed(target.path.clone(), text);
        let (found, now_judged) = (self.found)(&source, &files).ok()?;
        let now = counts(&found);
        let of = |counts: &Counts, key: &Key| counts.get(key).copied().unwrap_or((0, 0));
        let is_less = of(&now, key).0 < of(before, key).0;
        let is_no_more = now.iter().all(|(key, &(all, errors))| {
            let (all_before, errors_before) = of(before, key);
            all <= all_before && errors <= errors_before
        });
        let is_judged =
            unjudged(&now_judged) <= unjudged(judged) && now_judged.kernels == judged.kernels;
        (is_less && is_no_more && is_judged).then_some(now)
    }
}

impl Check<'_> {
    /// Writes the fixes of findings to files, and prints them. Returns true if a file was changed.
    pub(super) fn write_fixes(&self, all: &[Checked]) -> anyhow::Result<bool> {
        let mut files: BTreeMap<PathBuf, (Vec<u8>, Vec<Edit>, String)> = BTreeMap::new();
        for checked in all {
            let sources = self.files_of(&checked.source);
            let told = checked.found.iter().filter(|one| one.suppression.is_none());
            for (one, fix) in told.filter_map(|one| Some((one, one.fix.as_ref()?))) {
                let Some(edit) = fix.edits.first() else { continue };
                let (Some(path), Some(text)) = (path_of(edit), sources.text(&edit.source())) else {
                    self.terminal.note(&format!("{}: changed meanwhile, not fixed", edit.file));
                    continue;
                };
                let entry = files.entry(path);
                let (_, edits, said) =
                    entry.or_insert_with(|| (text.bytes().to_vec(), Vec::new(), String::new()));
                // One file may belong to several units.
                if fix.edits.iter().all(|edit| edits.contains(edit)) {
                    continue;
                }
                edits.extend(fix.edits.iter().cloned());
                *said += &said_of(one, fix);
            }
        }
        let mut is_changed = false;
        for (path, (text, edits, said)) in files {
            let Some(new) = applied(&text, &edits) else {
                let what = "fixes of one file contradict each other, nothing is changed";
                self.terminal.note(&format!("{}: {what}", path.display()));
                continue;
            };
            let write = || format!("cannot write {}", path.display());
            std::fs::write(&path, new).with_context(write)?;
            self.terminal.err(&said);
            is_changed = true;
        }
        Ok(is_changed)
    }
}

/// `fixed k.cu:4:3: put `__syncthreads()` between the accesses [PHX050]`
fn said_of(one: &Diagnostic, fix: &Fix) -> String {
    let place = fix.edits.first().map(|edit| (&edit.file, edit.start));
    let Some((file, at)) = place else { return String::new() };
    format!("fixed {file}:{}:{}: {} [{}]\n", at.line, at.column, fix.message, one.code)
}
