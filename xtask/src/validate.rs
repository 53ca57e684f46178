//! `cargo xtask validate`: asks Alive2 whether passes refine, for all inputs, what one thread does.
//!
//! Pairs of a module before and after passes are written to a folder: random programs of one
//! thread, and the files of the test suite with the functions that have no convergent operations
//! ([`phalanx_fuzz::refine::pairs`]). Then `alive-tv` is asked about each pair.
//!
//! ```text
//! $ cargo xtask validate --programs 100
//! 131 pairs of functions: 122 correct, 0 refuted, 7 timeouts, 2 not proved, 0 unsupported
//! ```
//!
//! A refuted pair is a finding, and the exit status is not zero. A pair that takes too long, or
//! uses something that Alive2 does not model, is counted separately. If `alive-tv` is not found,
//! the pairs are written, and a message says that they were not checked.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

use anyhow::{Context as _, bail};
use phalanx_fuzz::refine::pairs::{self, Pair};
use rayon::prelude::*;

/// The pipelines for files of the test suite.
const PIPELINES: &[&str] = &[
    "simplifycfg,instsimplify,early-cse,licm,dce",
    "jump-threading,simplifycfg,dce",
    "linearize",
    "loop-unroll,instsimplify,simplifycfg",
];

/// What to ask about.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many random programs.
    #[arg(long, default_value_t = 100, value_name = "N")]
    programs: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Seconds that a question to the solver may take.
    #[arg(long, default_value_t = 10, value_name = "S")]
    seconds: u64,
    /// The validator.
    #[arg(long, default_value = "alive-tv", value_name = "PROGRAM")]
    alive: PathBuf,
    /// Where pairs go.
    #[arg(long, default_value = "target/validate", value_name = "FOLDER")]
    keep: PathBuf,
}

/// The validator's verdicts on functions.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Verdicts {
    correct: u64,
    refuted: u64,
    timeouts: u64,
    unproved: u64,
    unsupported: u64,
}

impl Verdicts {
    /// Reads the summary at the end of the output of `alive-tv`; none when there is no summary.
    fn read(output: &str) -> Option<Verdicts> {
        let summary = output.rsplit_once("Summary:")?.1;
        let count = |what: &str| -> Option<u64> {
            let mut lines = summary.lines().filter_map(|line| line.trim().split_once(' '));
            lines.find(|(_, rest)| *rest == what)?.0.parse().ok()
        };
        let failed = count("failed-to-prove transformations")?;
        let timeouts = output.lines().filter(|line| line.trim() == "ERROR: Timeout").count() as u64;
        Some(Verdicts {
            correct: count("correct transformations")?,
            refuted: count("incorrect transformations")?,
            timeouts: timeouts.min(failed),
            unproved: failed.saturating_sub(timeouts),
            unsupported: count("Alive2 errors")?,
        })
    }

    fn add(&mut self, other: Verdicts) {
        self.correct += other.correct;
        self.refuted += other.refuted;
        self.timeouts += other.timeouts;
        self.unproved += other.unproved;
        self.unsupported += other.unsupported;
    }
}

/// Writes all pairs and asks about them.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut all: Vec<Pair> = (options.seed..options.seed + options.programs)
        .into_par_iter()
        .filter_map(pairs::random)
        .collect();
    all.extend(shipped()?);
    fs::create_dir_all(&options.keep)?;
    for pair in &all {
        let [before, after] = places(&options.keep, pair);
        fs::write(before, format!("; {}\n{}", pair.pipeline, pair.before))?;
        fs::write(after, format!("; {}\n{}", pair.pipeline, pair.after))?;
    }
    println!("{} pairs of modules are in {}", all.len(), options.keep.display());
    let is_there = Command::new(&options.alive)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_there {
        println!("skipped: {} not found", options.alive.display());
        println!("NOTHING WAS VALIDATED; docs/testing.md says how alive-tv is built");
        return Ok(());
    }
    let (total, unanswered) = (Mutex::new(Verdicts::default()), Mutex::new(0));
    all.par_iter().try_for_each(|pair| -> anyhow::Result<()> {
        let output = ask(options, pair)?;
        let Some(verdicts) = Verdicts::read(&output) else {
            if let Ok(mut count) = unanswered.lock() {
                *count += 1;
            }
            println!("{}: no answer", pair.name);
            return Ok(());
        };
        if verdicts.refuted > 0 {
            let [before, after] = places(&options.keep, pair);
            let (name, pipeline) = (&pair.name, &pair.pipeline);
            println!("REFUTED {name}: {pipeline}: {} {}", before.display(), after.display());
            fs::write(options.keep.join(format!("{name}.refuted.txt")), &output)?;
        }
        if let Ok(mut total) = total.lock() {
            total.add(verdicts);
        }
        Ok(())
    })?;
    let total = total.into_inner().unwrap_or_default();
    let Verdicts { correct, refuted, timeouts, unproved, unsupported } = total;
    let all = correct + refuted + timeouts + unproved + unsupported;
    println!(
        "{all} pairs of functions: {correct} correct, {refuted} refuted, {timeouts} timeouts, \
         {unproved} not proved, {unsupported} unsupported; {} pairs of modules without an answer",
        unanswered.into_inner().unwrap_or_default()
    );
    match refuted {
        0 => Ok(()),
        refuted => bail!("{refuted} pairs are refuted"),
    }
}

fn places(folder: &Path, pair: &Pair) -> [PathBuf; 2] {
    ["before", "after"].map(|side| folder.join(format!("{}.{side}.ll", pair.name)))
}

/// The files of the test suite, through each pipeline.
fn shipped() -> anyhow::Result<Vec<Pair>> {
    let mut all = Vec::new();
    for path in phalanx_test_suite::shipped()? {
        let text = fs::read_to_string(&path)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        for (number, pipeline) in PIPELINES.iter().enumerate() {
            let pair = pairs::of_text(&format!("{stem}_{number}"), &text, pipeline);
            all.extend(
                pair.map_err(anyhow::Error::msg).with_context(|| stem.clone().into_owned())?,
            );
        }
    }
    Ok(all)
}

/// The validator's output about a pair.
fn ask(options: &Options, pair: &Pair) -> anyhow::Result<String> {
    let mut command = Command::new(&options.alive);
    command.args(places(&options.keep, pair));
    command.arg(format!("--smt-to={}", options.seconds * 1000));
    // Loops of random programs have at most three rounds.
    command.args(["--src-unroll=4", "--tgt-unroll=4", "--disable-undef-input"]);
    command.args(pair.functions.iter().map(|name| format!("--func={name}")));
    let output = command.stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let text = "ERROR: Timeout\nERROR: Couldn't prove the correctness\n\nSummary:
  3 correct transformations\n  1 incorrect transformations
  2 failed-to-prove transformations\n  4 Alive2 errors\n";
        let expected =
            Verdicts { correct: 3, refuted: 1, timeouts: 1, unproved: 1, unsupported: 4 };
        assert_eq!(Verdicts::read(text), Some(expected));
        assert_eq!(Verdicts::read("Could not read bitcode"), None);
    }
}
