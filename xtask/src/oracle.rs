//! `cargo xtask oracle`: claims of uniformity held against execution, on many random programs.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use anyhow::bail;
use phalanx_fuzz::oracle::{Effort, Tally, check_random};
use rayon::prelude::*;

/// How many programs, and which.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many random functions.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    functions: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Launches per function and hierarchy.
    #[arg(long, default_value_t = 2, value_name = "N")]
    launches: u32,
    /// Where programs go that refute a claim, made small.
    #[arg(long, default_value = "test-suite/regressions", value_name = "FOLDER")]
    keep: PathBuf,
}

/// Runs all programs on all processors and prints what was checked.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let effort = Effort { launches: options.launches, ..Effort::default() };
    let started = Instant::now();
    let done = AtomicU64::new(0);
    let tally = (options.seed..options.seed + options.functions)
        .into_par_iter()
        .map(|seed| {
            let (tally, small) = check_random(seed, effort);
            if let Some(text) = small {
                let path = options.keep.join(format!("seed_{seed}.ll"));
                let reasons: String = tally.unsound.iter().map(|r| format!("; {r}\n")).collect();
                let written = fs::create_dir_all(&options.keep)
                    .and_then(|()| fs::write(&path, format!("{reasons}{text}")));
                println!("unsound: seed {seed}, see {}", path.display());
                if let Err(error) = written {
                    println!("cannot write {}: {error}", path.display());
                }
            }
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_multiple_of(50_000) {
                eprintln!("oracle: {count} functions, {:.0} s", started.elapsed().as_secs_f64());
            }
            tally
        })
        .reduce(Tally::default, |mut all, part| {
            all.merge(part);
            all
        });
    println!("{tally}");
    println!("seconds                 {:>12.0}", started.elapsed().as_secs_f64());
    for reason in tally.unsound.iter().take(20) {
        println!("  {reason}");
    }
    if !tally.unsound.is_empty() {
        bail!("{} unsound claims", tally.unsound.len());
    }
    Ok(())
}
