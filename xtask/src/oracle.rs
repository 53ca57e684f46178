//! `cargo xtask oracle`: checks claims of the analyses against execution, on many random programs.

use std::{
    fmt, fs,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use anyhow::bail;
use phalanx_fuzz::{
    loads::{self, LoadTally},
    oracle::{self, Effort},
    spaces,
};
use rayon::prelude::*;

/// Whose claims are checked.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Subject {
    /// Which values, uses and branches are uniform, and where.
    Uniformity,
    /// Which memories pointers lead to.
    Spaces,
    /// Which loads are scalar, non-coherent or LDU.
    Loads,
}

/// How many programs, and which.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Whose claims.
    #[arg(long, value_enum, default_value = "uniformity")]
    of: Subject,
    /// How many random programs, of one random kernel each.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    functions: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Launches per function (of claims of uniformity: and hierarchy).
    #[arg(long, default_value_t = 2, value_name = "N")]
    launches: u32,
    /// Where programs go that refute a claim, made small if claims are of uniformity.
    #[arg(long, default_value = "test-suite/regressions", value_name = "FOLDER")]
    keep: PathBuf,
}

/// Counts for one program or many.
trait Tally: Default + Send + fmt::Display {
    fn merge(&mut self, other: Self);
    /// The claims that were refuted.
    fn wrong(&mut self) -> &mut Vec<String>;
}

impl Tally for oracle::Tally {
    fn merge(&mut self, other: Self) {
        self.merge(other);
    }

    fn wrong(&mut self) -> &mut Vec<String> {
        &mut self.unsound
    }
}

impl Tally for spaces::Tally {
    fn merge(&mut self, other: Self) {
        self.merge(other);
    }

    fn wrong(&mut self) -> &mut Vec<String> {
        &mut self.unsound
    }
}

/// Of loads.
#[derive(Default)]
struct Loads(LoadTally);

impl Tally for Loads {
    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    fn wrong(&mut self) -> &mut Vec<String> {
        &mut self.0.wrong
    }
}

impl fmt::Display for Loads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadTally { functions, loads, claims: [scalar, coherent, ldu], clean, wrong } = &self.0;
        writeln!(f, "functions               {functions:>12}")?;
        writeln!(f, "loads executed          {loads:>12}")?;
        writeln!(f, "  scalar                {scalar:>12}")?;
        writeln!(f, "  non-coherent          {coherent:>12}")?;
        writeln!(f, "  LDU                   {ldu:>12}")?;
        writeln!(f, "launches without races  {clean:>12}")?;
        write!(f, "unsound claims          {:>12}", wrong.len())
    }
}

/// Runs all programs on all processors and prints what was checked.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let launches = options.launches;
    match options.of {
        Subject::Uniformity => {
            let effort = Effort { launches, ..Effort::default() };
            campaign(options, |seed| oracle::check_random(seed, effort))
        }
        Subject::Spaces => {
            campaign(options, |seed| spaces::check_random(seed, u64::from(launches)))
        }
        Subject::Loads => campaign(options, |seed| {
            let tally = loads::check_random(seed, None);
            let text = (!tally.wrong.is_empty()).then(|| loads::random_text(seed));
            (Loads(tally), text)
        }),
    }
}

/// Runs each seed; keeps the texts that refute a claim.
fn campaign<T: Tally>(
    options: &Options,
    check: impl Fn(u64) -> (T, Option<String>) + Sync,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let done = AtomicU64::new(0);
    let mut tally = (options.seed..options.seed + options.functions)
        .into_par_iter()
        .map(|seed| {
            let (mut tally, text) = check(seed);
            if let Some(text) = text {
                let path = options.keep.join(format!("seed_{seed}.ll"));
                // A reason may show the program after its first line.
                let reason = |reason: &String| reason.lines().next().map(|r| format!("; {r}\n"));
                let reasons: String = tally.wrong().iter().filter_map(reason).collect();
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
        .reduce(T::default, |mut all, part| {
            all.merge(part);
            all
        });
    println!("{tally}");
    println!("seconds                 {:>12.0}", started.elapsed().as_secs_f64());
    for reason in tally.wrong().iter().take(20) {
        println!("  {reason}");
    }
    if !tally.wrong().is_empty() {
        bail!("{} unsound claims", tally.wrong().len());
    }
    Ok(())
}
