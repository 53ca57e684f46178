//! The exit statuses of the program, for scripts and CI.

/// Exit statuses, as `--help` states them.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Status {
    /// Nothing to report.
    Fine = 0,
    /// The tool found what it looks for.
    Findings = 1,
    /// Bad usage or bad input.
    Bad = 2,
}
