//! `cargo xtask edits`: compares facts of edited functions with those of new databases, over many
//! random transactions.
//!
//! The functions are random ones, or with `--kernels` our kernels, each way to compile them in
//! turn, and giants of them.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use anyhow::{Context as _, bail};
use phalanx_fuzz::edits::{self, Tally};
use phalanx_test_suite::{
    giants::{NAME, giant},
    kernels::Manifest,
};
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
    /// Kernels as clang compiles them, and giants of all of one target and level, instead of random
    /// functions.
    #[arg(long)]
    kernels: bool,
    /// Other threads ask about random functions, and are stopped by the edits.
    #[arg(long, conflicts_with = "kernels")]
    in_company: bool,
}

/// The functions that are edited for a seed.
enum Subjects {
    Random,
    /// Random functions, while other threads ask queries.
    InCompany,
    /// Texts, and the name of the function if it is one.
    Kernels(Vec<(Vec<u8>, Option<&'static str>)>),
}

impl Subjects {
    fn kernels() -> anyhow::Result<Subjects> {
        let manifest = Manifest::read()?;
        let folder = std::path::absolute(Path::new("target").join("kernels"))?;
        let compiler = manifest.compiler().context("clang-22 compiles the kernels")?;
        let mut texts = Vec::new();
        for variant in &manifest.variants() {
            texts.push((fs::read(manifest.compile(&compiler, variant, &folder)?)?, None));
        }
        for target in ["amdgcn", "nvptx"] {
            for level in ["-O0", "-O1", "-O2"] {
                let made = giant(&manifest, (target, level), 1, &folder)?;
                texts.push((fs::read(made.context("LLVM 22 inlines giants")?)?, Some(NAME)));
            }
        }
        Ok(Subjects::Kernels(texts))
    }

    fn run(&self, seed: u64) -> Tally {
        match self {
            Subjects::Random => edits::run_random(seed),
            Subjects::InCompany => edits::run_in_company(seed),
            Subjects::Kernels(texts) => {
                let (text, name) = &texts[(seed % texts.len() as u64) as usize];
                edits::run_module(seed, text, *name, edits::ROUNDS)
            }
        }
    }
}

/// Runs all functions on all processors and prints what was done.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let started = Instant::now();
    let done = AtomicU64::new(0);
    let subjects = match options {
        Options { kernels: true, .. } => Subjects::kernels()?,
        Options { in_company: true, .. } => Subjects::InCompany,
        _ => Subjects::Random,
    };
    let (tally, wrong) = (options.seed..options.seed + options.functions)
        .into_par_iter()
        .map(|seed| {
            let result = catch_unwind(AssertUnwindSafe(|| subjects.run(seed)));
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
