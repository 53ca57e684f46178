//! `cargo xtask refine`: the refinement law on many random programs, over all passes and all pairs
//! of passes.
//!
//! A program goes through every pipeline of one or two passes and is launched before and after
//! ([`phalanx_fuzz::refine`]). If a pipeline makes it less defined, the program is reduced and
//! written to a folder, with the finding at its top, so that `phalanx opt` can reproduce it:
//!
//! ```text
//! $ cargo xtask refine --programs 60
//! 60 programs (0 undefined), 25200 program-pipeline runs, ...
//! ```
//!
//! Programs are derived from their seeds, so a run with the same numbers finds the same.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::bail;
use phalanx_fuzz::refine::{Finding, Law, Tally, random, reduced};
use rayon::prelude::*;

/// How many programs, and which.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many random programs.
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    programs: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Launches of each program, before and after each pipeline.
    #[arg(long, default_value_t = 3, value_name = "N")]
    launches: u64,
    /// So many random pipelines of three to seven passes for each program, instead of all pairs.
    #[arg(long, value_name = "N")]
    chains: Option<u32>,
    /// Begin no program after so long: `60s`, `5m`, `1h`.
    #[arg(long, value_parser = crate::fuzz::duration)]
    time: Option<Duration>,
    /// Where programs go that became worse, made small.
    #[arg(long, default_value = "target/refine", value_name = "FOLDER")]
    keep: PathBuf,
}

/// Runs all programs on all processors and prints what was done.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let started = Instant::now();
    let (done, worse) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut law = Law::standard(options.launches);
    if let Some(count) = options.chains {
        law = law.with_chains(count);
    }
    let tally = (options.seed..options.seed + options.programs)
        .into_par_iter()
        .map(|seed| {
            if options.time.is_some_and(|time| started.elapsed() > time) {
                return Tally::default();
            }
            let Ok((tally, findings)) = catch_unwind(AssertUnwindSafe(|| law.run(seed))) else {
                worse.fetch_add(1, Ordering::Relaxed);
                println!("seed {seed}: panics");
                return Tally::default();
            };
            worse.fetch_add(findings.len() as u64, Ordering::Relaxed);
            if let Some(finding) = findings.first() {
                keep(options, &law, seed, finding);
            }
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_multiple_of(100) {
                eprintln!("refine: {count} programs, {:.0} s", started.elapsed().as_secs_f64());
            }
            tally
        })
        .reduce(Tally::default, |mut all, part| {
            all.merge(part);
            all
        });
    println!("{tally}");
    println!("{:.0} s", started.elapsed().as_secs_f64());
    match worse.into_inner() {
        0 => Ok(()),
        worse => bail!("{worse} results are worse than their originals"),
    }
}

/// Reduces a finding, writes it and prints its place.
fn keep(options: &Options, law: &Law, seed: u64, finding: &Finding) {
    let shows = |text: &str| {
        let now = law.shows(text, &finding.pipeline, seed);
        // A byte that is wrong does not become a fault.
        now.is_some_and(|now| now.is_byte() == finding.is_byte())
    };
    let small = reduced(&random(seed), &shows);
    let now = law.shows(&small, &finding.pipeline, seed).unwrap_or_else(|| finding.clone());
    let path = options.keep.join(format!("seed_{seed}.ll"));
    println!("seed {seed}: {}: {}, see {}", finding.pipeline, now.what, path.display());
    let after: String = now.after.lines().map(|line| format!("; {line}\n")).collect();
    let text = format!("; {}: {}\n{}\n; becomes\n{after}", now.pipeline, now.what, now.before);
    if let Err(error) = fs::create_dir_all(&options.keep).and_then(|()| fs::write(&path, text)) {
        println!("cannot write {}: {error}", path.display());
    }
}
