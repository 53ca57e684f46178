//! The times of analyses in `opt-22`, by its own timers: the baseline of benches.

use std::time::Duration;

use crate::llvm_tools::Program;

/// The time of recomputing each analysis, in user and system time: the least of three runs.
///
/// The text is read, and the analyses run `rounds` times in one pipeline, with all of them
/// invalidated in between. Times are those of one round, in the order of `analyses`, which are
/// pairs of a name in pipelines and a name in timing reports. The time of reading comes first. The
/// attribute `optnone`, which makes the pass manager skip functions, is removed.
///
/// # Panics
/// If `opt` does not run, or does not accept the text.
#[must_use]
pub fn recomputation(
    opt: &Program,
    text: &[u8],
    kept: &[&str],
    analyses: &[(&str, &str)],
    rounds: u32,
) -> Vec<Duration> {
    let text = String::from_utf8_lossy(text).replace(" optnone", "");
    let kept: String = kept.iter().map(|name| format!("require<{name}>,")).collect();
    let each = |name: &str| analyses.iter().map(|a| format!("{name}<{}>", a.0)).collect::<Vec<_>>();
    let round = [each("require"), each("invalidate")].concat().join(",");
    let all = vec![round; rounds as usize].join(",");
    let passes = format!("-passes=function({kept}{all})");
    let run = || {
        let arguments = ["-disable-output", "-time-passes", &passes, "-"];
        let outcome = opt.run(arguments, text.as_bytes()).expect("opt runs");
        assert!(outcome.success(), "opt: {}", outcome.summary());
        let report = outcome.errors();
        let mut times = vec![timer(&report, "Parse IR")];
        times.extend(analyses.iter().map(|a| timer(&report, a.1) / rounds));
        times
    };
    let least = |a: Vec<Duration>, b: Vec<Duration>| {
        a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect::<Vec<_>>()
    };
    (0..3).map(|_| run()).reduce(least).unwrap_or_default()
}

/// The total time of one run of passes over a module, in user and system time: the least of three
/// runs; none if `opt` fails or exceeds its time limit.
///
/// `rows` are the names of the passes in timing reports. The attribute `optnone`, which makes the
/// pass manager skip functions, is removed.
///
/// # Panics
/// If `opt` does not run.
#[must_use]
pub fn passes(opt: &Program, text: &[u8], passes: &str, rows: &[&str]) -> Option<Duration> {
    let text = String::from_utf8_lossy(text).replace(" optnone", "");
    let passes = format!("-passes={passes}");
    let mut least: Option<Duration> = None;
    for _ in 0..3 {
        let arguments = ["-disable-output", "-time-passes", &passes, "-"];
        let outcome = opt.run(arguments, text.as_bytes()).expect("opt runs");
        if !outcome.success() {
            return None;
        }
        let report = outcome.errors();
        let sum = rows.iter().map(|row| timer(&report, row)).sum();
        least = Some(least.map_or(sum, |least| least.min(sum)));
    }
    least
}

/// User and system time of a row of a timing report.
fn timer(report: &str, name: &str) -> Duration {
    let row =
        report.lines().find_map(|line| line.trim_end().strip_suffix(name)).unwrap_or_default();
    let times: Vec<f64> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // The last two columns are user plus system time, and wall time. A column of zeros is left out,
    // and so is the sum of a very short row.
    let seconds = times.len().checked_sub(2).map_or(0.0, |at| times[at]);
    Duration::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_its_name() {
        let report = "\
   ---User Time---   --System Time--   --User+System--   ---Wall Time---  --- Name ---
   0.0106 ( 53.3%)   0.0003 ( 33.3%)   0.0109 ( 52.4%)   0.0110 ( 52.0%)  CycleAnalysis
   0.0093 ( 46.7%)   0.0006 ( 66.7%)   0.0099 ( 47.6%)   0.0101 ( 48.0%)  DominatorTreeAnalysis
";
        // Percentages are in brackets, so they do not parse as numbers.
        assert_eq!(timer(report, "CycleAnalysis"), Duration::from_secs_f64(0.0109));
        assert_eq!(timer(report, "RegionAnalysis"), Duration::ZERO);
    }
}
