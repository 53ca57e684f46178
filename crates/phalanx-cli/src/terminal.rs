//! Colours and progress.

use std::{
    io::{IsTerminal as _, Write as _},
    time::Duration,
};

use anstream::{AutoStream, ColorChoice as Choice};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::ColorChoice;

const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const WARNING: Style = AnsiColor::BrightYellow.on_default().bold();

/// Modules with fewer functions than this are done before a bar could be read.
const PROGRESS_FROM: usize = 64;

/// How to write to people.
pub(crate) struct Terminal {
    choice: Choice,
}

impl Terminal {
    pub(crate) fn new(color: ColorChoice) -> Self {
        let choice = match color {
            // `Auto` looks at the stream, NO_COLOR, CLICOLOR and TERM.
            ColorChoice::Auto => Choice::Auto,
            ColorChoice::Always => Choice::Always,
            ColorChoice::Never => Choice::Never,
        };
        Terminal { choice }
    }

    /// Writes styled text to standard output.
    pub(crate) fn out(&self, text: &str) -> std::io::Result<()> {
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.choice);
        stream.write_all(text.as_bytes())?;
        stream.flush()
    }

    /// Writes styled text to standard error that was asked for.
    pub(crate) fn tell(&self, text: &str) -> std::io::Result<()> {
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice);
        stream.write_all(text.as_bytes())
    }

    /// Writes styled text to standard error; nothing can be done when that fails.
    pub(crate) fn err(&self, text: &str) {
        let _ = self.tell(text);
    }

    /// Writes an error message to standard error.
    pub(crate) fn error(&self, message: &str) {
        self.err(&format!("{ERROR}error:{ERROR:#} {message}\n"));
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&self, message: &str) {
        self.err(&format!("{WARNING}warning:{WARNING:#} {message}\n"));
    }

    /// A bar on standard error for long work, or a silent one.
    pub(crate) fn progress(&self, what: &str, steps: usize) -> ProgressBar {
        if steps < PROGRESS_FROM || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(
            Some(steps as u64),
            ProgressDrawTarget::stderr_with_hz(10),
        );
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} functions, {eta} left")
        {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}
