//! `cargo xtask edits`: facts of edited functions held against those of new databases, over many random transactions.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use anyhow::bail;
use phalanx_fuzz::edits::{self, Tally};
use rayon::prelude::*;

/// How many functions, and which.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many random functions; each goes through 24 transactions.
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    functions: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// Runs all functions on all processors and prints what was done.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let started = Instant::now();
    let done = AtomicU64::new(0);
    let (tally, wrong) = (options.seed..options.seed + options.functions)
        .into_par_iter()
        .map(|seed| {
            let result = catch_unwind(AssertUnwindSafe(|| edits::run_random(seed)));
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_multiple_of(5_000) {
                eprintln!("edits: {count} functions, {:.0} s", started.elapsed().as_secs_f64());
            }
            match result {
                Ok(tally) => (tally, Vec::new()),
                Err(_) => (Tally::default(), vec![seed]),
            }
        })
        .reduce(Default::default, |mut all, part| {
            all.0.merge(part.0);
            all.1.extend(part.1);
            all
        });
    println!("{tally}");
    println!("seconds                 {:>12.0}", started.elapsed().as_secs_f64());
    if !wrong.is_empty() {
        bail!("{} functions went wrong, of seeds {wrong:?}", wrong.len());
    }
    Ok(())
}
