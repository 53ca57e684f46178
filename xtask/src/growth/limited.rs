//! A process with limits of time and memory, and what it used.
//!
//! The kernel reports in `/proc` what a process uses: its memory while it lives, its user time
//! until it is waited for. The process is polled every few milliseconds, so memory that is
//! allocated right before the end may be missed. Without `/proc`, nothing is measured.

use std::{
    fs,
    io::Read as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;

/// The limits that end a process.
#[derive(Copy, Clone)]
pub(super) struct Limits {
    pub(super) user: Duration,
    pub(super) bytes: u64,
}

/// The result of a run.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Ended,
    /// The task refuses the input.
    Refused,
    /// A panic or a signal.
    Died,
    OverTime,
    OverMemory,
}

impl Outcome {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Outcome::Ended => "",
            Outcome::Refused => "refused",
            Outcome::Died => "died",
            Outcome::OverTime => "over the limit of time",
            Outcome::OverMemory => "over the limit of memory",
        }
    }
}

/// What a process used.
pub(super) struct Used {
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
    pub(super) megabytes: f64,
    /// Seconds of parts, where the process prints them.
    pub(super) parts: Vec<(String, f64)>,
}

/// Runs a program. `parts`: each line that it prints is a name and a number of seconds.
pub(super) fn run(command: &mut Command, limits: Limits, parts: bool) -> anyhow::Result<Used> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(if parts { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut seen = Seen::default();
    let stopped = watch(&mut child, limits, &mut seen)?;
    let status = child.wait()?;
    let outcome = stopped.unwrap_or(match status.code() {
        Some(0 | 1) => Outcome::Ended,
        Some(2) => Outcome::Refused,
        _ => Outcome::Died,
    });
    let mut printed = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut printed)?;
    }
    let part = |line: &str| {
        let (name, seconds) = line.rsplit_once(' ')?;
        Some((name.to_owned(), seconds.parse().ok()?))
    };
    Ok(Used {
        outcome,
        seconds: seen.user.as_secs_f64(),
        megabytes: seen.peak as f64 / f64::from(1 << 20),
        parts: printed.lines().filter_map(part).collect(),
    })
}

#[derive(Default)]
struct Seen {
    user: Duration,
    /// Bytes.
    peak: u64,
}

/// Polls a process until it has ended, or ends it and returns the reason.
fn watch(child: &mut Child, limits: Limits, seen: &mut Seen) -> anyhow::Result<Option<Outcome>> {
    let started = Instant::now();
    loop {
        let has_ended = match state(child.id()) {
            Some((state, user)) => {
                seen.user = user;
                state == 'Z'
            }
            None => child.try_wait()?.is_some(),
        };
        if has_ended {
            return Ok(None);
        }
        seen.peak = peak(child.id()).unwrap_or(0).max(seen.peak);
        // A process that waits uses no user time.
        let over = if seen.user > limits.user || started.elapsed() > 10 * limits.user {
            Some(Outcome::OverTime)
        } else {
            (seen.peak > limits.bytes).then_some(Outcome::OverMemory)
        };
        if over.is_some() {
            child.kill()?;
            return Ok(over);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The state and the user time of a process: fields 3 and 14 of its `stat`, in hundredths of a
/// second. The name before them may have blanks and parentheses.
fn state(id: u32) -> Option<(char, Duration)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields = stat.rsplit_once(')')?.1;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let ticks: u64 = fields.nth(10)?.parse().ok()?;
    Some((state, Duration::from_millis(10 * ticks)))
}

/// The most memory that a process had at once.
fn peak(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes << 10)
}
