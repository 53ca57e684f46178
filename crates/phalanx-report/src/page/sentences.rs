//! Summarises a function in three sentences: what differs and why, where threads separate, and
//! memory and findings.
//!
//! ```text
//! 9 of 14 values differ between threads of a wave; 9 depend on `threadIdx.x`.
//! 1 of 2 branches parts threads of a wave; threads leave its loop in different rounds.
//! In 1 of 3 accesses of memory lanes of a wave reach far apart; `phalanx check` finds 1 error and no
//! warning; 2 operations were not judged, see the head.
//! ```

use rustc_hash::FxHashMap;

use super::model::Row;
use crate::analyze::FunctionReport;
use crate::check::Diagnostic;

/// Lanes reach far apart if they touch at least this many times the 128-byte segments that their
/// bytes would fill. One more segment does not count, since an unaligned base needs it.
const FAR: u32 = 2;

/// The sentences about a function.
pub(super) fn sentences(
    report: &FunctionReport,
    rows: &[Row],
    (findings, not_judged): (&[Diagnostic], usize),
    sources: &[(&'static str, &'static str)],
) -> Vec<String> {
    vec![values(report, rows, sources), branches(report), memory(report, findings, not_judged)]
}

fn values(
    report: &FunctionReport,
    rows: &[Row],
    sources: &[(&'static str, &'static str)],
) -> String {
    let (some, all) = (report.summary.divergent_values, report.summary.values);
    if some == 0 {
        return "Every value is the same for all threads of a wave.".to_owned();
    }
    let mut count: FxHashMap<usize, usize> = FxHashMap::default();
    let divergent = rows.iter().filter(|row| matches!(row.kind, "i" | "a") && row.level == 3);
    for source in divergent.flat_map(|row| &row.sources) {
        *count.entry(*source).or_default() += 1;
    }
    // The source of the most values; of several, the first.
    let most = count.into_iter().max_by_key(|&(source, count)| (count, usize::MAX - source));
    let why = most.map_or(String::new(), |(source, count)| {
        format!("; {count} {} on {}", verb(count, "depends", "depend"), sources[source].1)
    });
    let differ = verb(some, "differs", "differ");
    format!("{some} of {all} values {differ} between threads of a wave{why}.")
}

fn branches(report: &FunctionReport) -> String {
    let summary = &report.summary;
    let branches = match (summary.branches, summary.divergent_branches) {
        (0, _) => "There is no branch".to_owned(),
        (_, 0) => "No branch parts threads of a wave".to_owned(),
        (all, some) => {
            let part = verb(some, "parts", "part");
            format!("{some} of {} {part} threads of a wave", counted(all, "branch", "branches"))
        }
    };
    let loops = match (summary.cycles, summary.divergent_cycles) {
        (0, _) => return format!("{branches}; there is no loop."),
        (1, 0) => "all threads leave the loop in the same round".to_owned(),
        (_, 0) => "all threads leave each loop in the same round".to_owned(),
        (1, _) => "threads leave the loop in different rounds".to_owned(),
        (all, some) if all == some => "threads leave each loop in different rounds".to_owned(),
        (all, some) => format!("threads leave {some} of {all} loops in different rounds"),
    };
    format!("{branches}; {loops}.")
}

fn memory(report: &FunctionReport, findings: &[Diagnostic], not_judged: usize) -> String {
    let accesses = report.accesses.as_deref().unwrap_or_default();
    let far = accesses.iter().filter(|access| {
        let needed = access.bytes.unwrap_or(0).div_ceil(128).max(1);
        let is_far = |segments| segments >= FAR * needed && segments > needed + 1;
        match access.bank_degree {
            Some(degree) => degree > 1,
            None => access.pattern == "gather" || access.segments.is_some_and(is_far),
        }
    });
    let (far, all) = (far.count(), accesses.len());
    let memory = match all {
        0 => "No access of memory".to_owned(),
        _ => format!(
            "In {far} of {} lanes of a wave reach far apart, or for one bank",
            counted(all, "access of memory", "accesses of memory")
        ),
    };
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let errors = counted(count("error"), "error", "errors");
    let warnings = counted(count("warning"), "warning", "warnings");
    let left_out = match not_judged {
        0 => String::new(),
        some => format!("; {} not judged, see the head", were(some)),
    };
    format!("{memory}; `phalanx check` finds {errors} and {warnings}{left_out}.")
}

fn were(count: usize) -> String {
    format!("{count} {}", verb(count, "operation was", "operations were"))
}

pub(super) const fn verb<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {one}"),
        _ => format!("{count} {}", verb(count, one, many)),
    }
}
