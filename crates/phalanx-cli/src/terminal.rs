//! Colours and progress.

use std::{
    io::{IsTerminal as _, Write as _},
    time::Duration,
};

use anstream::{AutoStream, ColorChoice as Choice, adapter::strip_str};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::ColorChoice;

const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const NOTE: Style = AnsiColor::BrightCyan.on_default().bold();
const WARNING: Style = AnsiColor::BrightYellow.on_default().bold();

/// Modules with fewer functions are done before a progress bar could be read.
const PROGRESS_FROM: usize = 64;

/// An error message as a line.
pub(crate) fn error_line(message: &str) -> String {
    format!("{ERROR}error:{ERROR:#} {message}\n")
}

/// Whether a byte controls the terminal, such as the first byte of each style.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}

/// How to write to the terminal.
#[derive(Clone, Copy)]
pub(crate) struct Terminal {
    choice: Choice,
    shows_progress: bool,
}

impl Terminal {
    pub(crate) fn new(color: ColorChoice) -> Self {
        let choice = match color {
            // `Auto` looks at the stream, NO_COLOR, CLICOLOR and TERM.
            ColorChoice::Auto => Choice::Auto,
            ColorChoice::Always => Choice::Always,
            ColorChoice::Never => Choice::Never,
        };
        Terminal { choice, shows_progress: true }
    }

    /// Writes styled text to standard output in one call. A stream that strips styles itself would
    /// make a separate write for each piece between two styles or line ends.
    pub(crate) fn out(&self, text: &str) -> std::io::Result<()> {
        let stdout = std::io::stdout().lock();
        let choice = match self.choice {
            Choice::Auto => AutoStream::choice(&stdout),
            choice => choice,
        };
        let stripped = match choice {
            Choice::Never if text.bytes().any(is_control) => Some(strip_str(text).to_string()),
            _ => None,
        };
        let text = stripped.as_deref().unwrap_or(text);
        let choice = if choice == Choice::Never { Choice::AlwaysAnsi } else { choice };
        let mut stream = AutoStream::new(stdout, choice);
        stream.write_all(text.as_bytes())?;
        stream.flush()
    }

    /// Writes requested styled text to standard error.
    pub(crate) fn tell(&self, text: &str) -> std::io::Result<()> {
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice);
        stream.write_all(text.as_bytes())
    }

    /// Writes styled text to standard error; a failure is ignored.
    pub(crate) fn err(&self, text: &str) {
        let _ = self.tell(text);
    }

    /// Writes an error message to standard error.
    pub(crate) fn error(&self, message: &str) {
        self.err(&error_line(message));
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&self, message: &str) {
        self.err(&format!("{WARNING}warning:{WARNING:#} {message}\n"));
    }

    /// Writes a remark to standard error.
    pub(crate) fn note(&self, message: &str) {
        self.err(&format!("{NOTE}note:{NOTE:#} {message}\n"));
    }

    /// The same without progress bars: for work that is a step of other work.
    pub(crate) fn without_progress(&self) -> Terminal {
        Terminal { shows_progress: false, ..*self }
    }

    /// A bar on standard error for long work on functions, or a silent one.
    pub(crate) fn progress(&self, what: &str, steps: usize) -> ProgressBar {
        match steps < PROGRESS_FROM {
            true => ProgressBar::hidden(),
            false => self.bar(what, "functions", steps),
        }
    }

    /// A bar on standard error, with the rate and the remaining time.
    pub(crate) fn bar(&self, what: &str, of: &str, steps: usize) -> ProgressBar {
        if !self.shows_progress || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(
            Some(steps as u64),
            ProgressDrawTarget::stderr_with_hz(10),
        );
        if let Ok(style) = ProgressStyle::with_template(&format!(
            "{{msg}} {{bar:40}} {{pos}}/{{len}} {of}, {{per_sec}}, {{eta}} left"
        )) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}
