//! `--watch`: checks again whenever a file changes, and prints new and gone findings and the time
//! taken.
//!
//! Modification times are polled a few times a second: that works on every file system, and with
//! editors that replace files. For a source, all files that the compiler read are watched, headers
//! included. A module is read again into its session, so functions that did not change keep their
//! facts and only the others are checked again.
//!
//! On a terminal each check clears the screen and shows all files as they are now:
//!
//! ```text
//! 14:03:12 UTC, check 4: kernel.cu changed; 1 finding is new, 2 are gone
//!
//! error[PHX001]: ...
//! ```

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use phalanx::{ModuleId, Session, report::check::Diagnostic};

use super::Check;
use crate::{args::CheckFormat, input, status::Status};

/// The time between two polls.
const PAUSE: Duration = Duration::from_millis(150);

/// When a file changed last, and its size; none if it is missing.
type Stamp = Option<(SystemTime, u64)>;

struct Watched<'a> {
    path: &'a Path,
    /// Other files that the compiler read.
    reads: Vec<PathBuf>,
    /// The stamps at the last poll; none before the first.
    seen: Option<Vec<Stamp>>,
    /// Whether the file was missing at the last poll.
    is_missing: bool,
    session: Session,
    module: Option<ModuleId>,
    /// What was found, by code and message.
    found: Vec<(&'static str, String)>,
    /// The printed text.
    text: String,
}

impl<'a> Watched<'a> {
    fn new(path: &'a Path) -> Watched<'a> {
        Watched {
            path,
            reads: Vec::new(),
            seen: None,
            is_missing: false,
            session: Session::new(),
            module: None,
            found: Vec::new(),
            text: String::new(),
        }
    }

    /// Whether the file has to be checked again.
    fn has_changed(&mut self) -> bool {
        let all = std::iter::once(self.path).chain(self.reads.iter().map(PathBuf::as_path));
        let seen: Vec<Stamp> = all.map(stamp).collect();
        let is_missing = seen[0].is_none();
        let was_missing = std::mem::replace(&mut self.is_missing, is_missing);
        // While an editor replaces a file, it is missing for a moment.
        let is_replaced = is_missing && !was_missing && self.seen.is_some();
        !is_replaced && self.seen.as_ref() != Some(&seen)
    }

    /// Records the current stamps.
    fn note(&mut self) {
        let all = std::iter::once(self.path).chain(self.reads.iter().map(PathBuf::as_path));
        self.seen = Some(all.map(stamp).collect());
    }

    /// Records stamps of files that were not known before the check. A change of the file itself
    /// since the check began is noticed by the next poll.
    fn note_reads(&mut self, before: &[PathBuf]) {
        if self.reads != before {
            let first = self.seen.as_ref().and_then(|seen| seen.first().copied());
            self.note();
            if let (Some(first), Some(seen)) = (first, &mut self.seen) {
                seen[0] = first;
            }
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    std::fs::metadata(path).ok().and_then(|m| Some((m.modified().ok()?, m.len())))
}

/// Runs until it is interrupted, or as often as `--watch-rounds` says.
pub(super) fn run(check: &Check<'_>) -> anyhow::Result<Status> {
    if check.args.files.iter().any(|path| input::is_stdin(path)) {
        anyhow::bail!("--watch needs files: standard input does not change");
    }
    let format = match check.args.format {
        CheckFormat::Text => None,
        CheckFormat::Line => Some("line"),
        CheckFormat::Github => Some("github"),
        CheckFormat::Json => Some("json"),
        CheckFormat::Sarif => Some("sarif"),
    };
    if let Some(format) = format {
        anyhow::bail!("--watch cannot be used with --format {format}: it tells people");
    }
    let is_terminal = std::io::stdout().is_terminal();
    let mut watched: Vec<Watched<'_>> = check.args.files.iter().map(|p| Watched::new(p)).collect();
    let mut rounds = 0;
    loop {
        for at in 0..watched.len() {
            let one = &mut watched[at];
            if !one.has_changed() {
                continue;
            }
            // Later changes count as changes again.
            one.note();
            let (before, reads) = (std::mem::take(&mut one.found), one.reads.clone());
            one.look(check)?;
            one.note_reads(&reads);
            rounds += 1;
            let head = head(rounds, &before, one);
            match is_terminal {
                true => {
                    let texts: Vec<&str> = watched.iter().map(|one| &*one.text).collect();
                    check.terminal.out(&format!("{CLEAR}{head}{}", texts.concat()))?;
                }
                false => check.terminal.out(&format!("{head}{}", one.text))?,
            }
            if check.args.watch_rounds.is_some_and(|limit| rounds >= limit) {
                return Ok(Status::Fine);
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Clears the screen and what was scrolled off it, and puts the cursor at its top.
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

/// The time and number of this check, and how the findings changed.
fn head(round: usize, before: &[(&'static str, String)], one: &Watched<'_>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let [hour, minute, second] = [now / 3600 % 24, now / 60 % 60, now % 60];
    let time = format!("{hour:02}:{minute:02}:{second:02} UTC, check {round}");
    let name = one.path.display();
    if round == 1 {
        return format!("{time}: {name}\n\n");
    }
    let changes = match (unmatched(&one.found, before), unmatched(before, &one.found)) {
        (0, 0) => "the same findings".to_owned(),
        (new, 0) => counted(new, "new"),
        (0, gone) => counted(gone, "gone"),
        (new, gone) => {
            format!("{}, {gone} {} gone", counted(new, "new"), if gone == 1 { "is" } else { "are" })
        }
    };
    format!("{time}: {name} changed; {changes}\n\n")
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 finding is {what}"),
        _ => format!("{count} findings are {what}"),
    }
}

/// How many of `some` have no partner among `others`.
fn unmatched(some: &[(&'static str, String)], others: &[(&'static str, String)]) -> usize {
    let mut rest: Vec<_> = others.iter().collect();
    let mut count = 0;
    for one in some {
        match rest.iter().position(|&other| other == one) {
            Some(at) => drop(rest.swap_remove(at)),
            None => count += 1,
        }
    }
    count
}

impl Watched<'_> {
    /// Checks the file as it is now. If it cannot be read, the error is shown in place of findings.
    fn look(&mut self, check: &Check<'_>) -> anyhow::Result<()> {
        self.text.clear();
        let start = Instant::now();
        check.reader.forget();
        let source = match check.reader.read(self.path) {
            Ok(source) => source,
            Err(error) => {
                self.text = input::said(&error);
                let message = format!("{error:#}; waiting for it to change");
                self.text += &crate::terminal::error_line(&message);
                return Ok(());
            }
        };
        let reads = source.compiled.iter().flat_map(|origin| &origin.reads);
        self.reads = reads.map(|(path, _)| path.clone()).collect();
        check.files.forget();
        let read = start.elapsed();
        let mut again = String::new();
        match self.module {
            None => match check.read(&mut self.session, &source) {
                Ok(module) => self.module = Some(module),
                Err(error) => {
                    self.text = error.to_string();
                    return Ok(());
                }
            },
            Some(module) => match self.session.reread(module, &source.text) {
                Ok(report) => {
                    check.state(&mut self.session, module)?;
                    let changed = report.changed.len() + report.added.len();
                    again = format!("{changed} functions changed, {} did not; ", report.unchanged);
                }
                Err(error) => {
                    self.text = error.render(&source.module, &source.text);
                    return Ok(());
                }
            },
        }
        let Some(module) = self.module else { return Ok(()) };
        let parsed = start.elapsed();
        let (found, judged) = check.examine(&self.session, module, (&source, &check.files))?;
        let found = check.keep(found);
        let checked = start.elapsed();
        let key = |finding: &Diagnostic| (finding.code, finding.message.clone());
        self.found = found.iter().map(key).collect();
        check.write(&source, &found, &mut self.text)?;
        phalanx::report::check::write_judged(&found, &judged, &source.name, &mut self.text)?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        self.text += &format!(
            "{}: {again}read in {:.2} ms, checked in {:.2} ms\n\n",
            source.name,
            ms(parsed.saturating_sub(read)),
            ms(checked.saturating_sub(parsed)),
        );
        Ok(())
    }
}
