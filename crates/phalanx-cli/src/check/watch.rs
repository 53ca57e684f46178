//! `--watch`: checks again whenever a file changes, and says how long that took.
//!
//! Modification times are looked at a few times a second: that works on every file system, and editors that replace files are no special case. A
//! module is read again into its session, so functions that did not change keep their facts and only the others are checked again.

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use phalanx::{ModuleId, Session};

use super::Check;
use crate::{args::CheckFormat, input, status::Status};

/// Between two looks at the files.
const PAUSE: Duration = Duration::from_millis(150);

struct Watched<'a> {
    path: &'a Path,
    /// What was there at the last look; none before the first.
    seen: Option<Option<(SystemTime, u64)>>,
    /// It was missing the last time, where a look had found it before.
    is_missing: bool,
    session: Session,
    module: Option<ModuleId>,
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
    let new = |path| Watched {
        path,
        seen: None,
        is_missing: false,
        session: Session::new(),
        module: None,
    };
    let mut watched: Vec<Watched<'_>> = check.args.files.iter().map(|path| new(path)).collect();
    let mut rounds = 0;
    loop {
        for one in &mut watched {
            let seen =
                std::fs::metadata(one.path).ok().and_then(|m| Some((m.modified().ok()?, m.len())));
            let was_missing = std::mem::replace(&mut one.is_missing, seen.is_none());
            // For a moment a file is missing that an editor replaces.
            let is_replaced = seen.is_none() && !was_missing && one.seen.is_some();
            if is_replaced || one.seen == Some(seen) {
                continue;
            }
            one.seen = Some(seen);
            one.look(check)?;
            rounds += 1;
            if check.args.watch_rounds.is_some_and(|limit| rounds >= limit) {
                return Ok(Status::Fine);
            }
        }
        std::thread::sleep(PAUSE);
    }
}

impl Watched<'_> {
    fn look(&mut self, check: &Check<'_>) -> anyhow::Result<()> {
        let start = Instant::now();
        check.reader.forget();
        let source = match check.reader.read(self.path) {
            Ok(source) => source,
            Err(error) => {
                check.terminal.err(&input::said(&error));
                check.terminal.error(&format!("{error:#}; waiting for it to change"));
                return Ok(());
            }
        };
        check.files.forget();
        let read = start.elapsed();
        let mut again = String::new();
        match self.module {
            None => match check.read(&mut self.session, &source) {
                Ok(module) => self.module = Some(module),
                Err(error) => {
                    check.terminal.err(&format!("{error}"));
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
                    check.terminal.err(&error.render(&source.module, &source.text));
                    return Ok(());
                }
            },
        }
        let Some(module) = self.module else { return Ok(()) };
        let parsed = start.elapsed();
        let (found, judged) = check.examine(&self.session, module, (&source, &check.files))?;
        let found = check.keep(found);
        let checked = start.elapsed();
        let mut text = String::new();
        check.write(&source, &found, &mut text)?;
        phalanx::report::check::write_judged(&found, &judged, &source.name, &mut text)?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        text += &format!(
            "{}: {again}read in {:.2} ms, checked in {:.2} ms\n\n",
            source.name,
            ms(parsed.saturating_sub(read)),
            ms(checked.saturating_sub(parsed)),
        );
        check.terminal.out(&text)?;
        Ok(())
    }
}
