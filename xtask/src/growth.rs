//! `cargo xtask growth`: measures how time and memory grow with the input, for every command, fact
//! and pass.
//!
//! Each family of [`phalanx_testing::growth`] is written at a size and at twice, four and eight
//! times that, and every task of [`tasks`] runs on each file in a process of its own. A line shows
//! user seconds and megabytes at the four sizes, and the power of the size with which they grow: 1
//! is linear, 2 quadratic.
//!
//! ```text
//! family       task             seconds                    megabytes            powers
//! call_chain   check            0.11  0.34  1.42  over     31  88  301  over    2.1 1.8   over the limit
//! ```
//!
//! By default only striking lines are printed, with `--all` every line. A line is striking if a
//! power is over [`STRIKING`], the largest size takes over a second, or a limit ended a run. A run
//! that exceeds a limit is not repeated at larger sizes.
//!
//! `--small` is quick and has a verdict: two sizes, few tasks, a debug build. It fails when time or
//! memory grows by more than [`SmallRun::FACTOR`] for four times the input. Quadratic code grows 16
//! times, so the bound is in the middle between it and linear code; a line beyond it is measured
//! again before it counts. What is [`known`] to grow faster is left out.

mod facts;
mod known;
mod limited;
mod tasks;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, bail};
use phalanx_testing::growth::{Family, families};
use rayon::prelude::*;

use limited::{Limits, Outcome, Used};
use tasks::Task;

/// A power from which a line is printed.
const STRIKING: f64 = 1.3;
/// Below so many seconds, the power reflects the clock rather than the program.
const SECONDS: f64 = 0.05;
/// Below so many megabytes, the power reflects the base usage of every process.
const MEGABYTES: f64 = 32.0;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Parts of names of families; all without.
    families: Vec<String>,
    /// Parts of names of tasks, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "TASK")]
    tasks: Vec<String>,
    /// The smallest size.
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    size: usize,
    /// User seconds for a run.
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    time: u64,
    /// Megabytes for a run.
    #[arg(long, default_value_t = 2_000, value_name = "MB")]
    memory: u64,
    /// Print every line.
    #[arg(long)]
    all: bool,
    /// A quick run with a verdict.
    #[arg(long, conflicts_with_all = ["tasks", "size"])]
    small: bool,
    /// Ask every fact of every function of a file, and print what each takes. The chore starts
    /// itself with this.
    #[arg(long, hide = true, value_name = "FILE")]
    facts_of: Option<PathBuf>,
}

/// Runs the chore.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(file) = &options.facts_of {
        return facts::print(file);
    }
    let bench = Bench::new(options)?;
    if options.small {
        return SmallRun(bench).run();
    }
    let sizes = [1, 2, 4, 8].map(|times| times * options.size);
    println!("{:<24}{:<28}seconds and megabytes at {sizes:?}, powers", "family", "task");
    for family in bench.families() {
        let files = bench.files(&family, &sizes)?;
        for task in &bench.tasks {
            for line in bench.lines(task, &files)? {
                if options.all || line.is_striking() {
                    let why = known::reason(family.name, &line.task).unwrap_or_default();
                    println!("{:<24}{line}{why}", family.name);
                }
            }
        }
        drop(files);
    }
    Ok(())
}

/// The common settings of all runs.
struct Bench<'a> {
    options: &'a Options,
    phalanx: PathBuf,
    folder: PathBuf,
    tasks: Vec<Task>,
    limits: Limits,
}

impl<'a> Bench<'a> {
    fn new(options: &'a Options) -> anyhow::Result<Self> {
        let root = crate::tidy::workspace_root()?;
        let folder = root.join("target/growth");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let tasks = if options.small { tasks::few() } else { tasks::all() };
        let is_wanted = |task: &Task| {
            options.tasks.is_empty() || options.tasks.iter().any(|part| task.name.contains(part))
        };
        Ok(Self {
            options,
            phalanx: build(&root, !options.small)?,
            folder,
            tasks: tasks.into_iter().filter(is_wanted).collect(),
            limits: Limits { user: Duration::from_secs(options.time), bytes: options.memory << 20 },
        })
    }

    fn families(&self) -> Vec<Family> {
        let parts = &self.options.families;
        let mut all = families();
        all.retain(|family| parts.is_empty() || parts.iter().any(|p| family.name.contains(p)));
        all
    }

    fn files(&self, family: &Family, sizes: &[usize]) -> anyhow::Result<Vec<Input>> {
        sizes.iter().map(|&size| Input::write(&self.folder, family, size)).collect()
    }

    /// A line for the task, and one for each of its parts that is striking by itself.
    fn lines(&self, task: &Task, files: &[Input]) -> anyhow::Result<Vec<Line>> {
        let mut line = Line::new(&task.name);
        let mut parts: Vec<Line> = Vec::new();
        for file in files {
            let used = self.measure(task, file)?;
            for (name, seconds) in used.parts {
                let at = parts.iter().position(|part| part.task == name).unwrap_or(parts.len());
                if at == parts.len() {
                    parts.push(Line::new(&name));
                }
                parts[at].seconds.push(seconds);
            }
            line.outcome = used.outcome;
            line.seconds.push(used.seconds);
            line.megabytes.push(used.megabytes);
            if used.outcome != Outcome::Ended {
                break;
            }
        }
        parts.retain(Line::is_striking);
        parts.insert(0, line);
        Ok(parts)
    }

    fn measure(&self, task: &Task, input: &Input) -> anyhow::Result<Used> {
        let mut command = match task.is_facts {
            true => Command::new(env::current_exe()?),
            false => Command::new(&self.phalanx),
        };
        command.args(task.arguments(&input.path, &input.text));
        limited::run(&mut command, self.limits, task.is_facts)
    }
}

/// Builds the command line, and returns its path.
fn build(root: &Path, release: bool) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "-p", "phalanx-cli"]).args(release.then_some("--release"));
    if !cargo.current_dir(root).status().context("cannot start cargo")?.success() {
        bail!("`phalanx` does not build");
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join(if release { "release" } else { "debug" }).join("phalanx"))
}

/// A family at a size, in a file that is removed again.
struct Input {
    path: PathBuf,
    text: String,
}

impl Input {
    fn write(folder: &Path, family: &Family, size: usize) -> anyhow::Result<Self> {
        let path = folder.join(format!("{}.{size}.ll", family.name));
        let text = family.text(size);
        fs::write(&path, &text).with_context(|| path.display().to_string())?;
        Ok(Self { path, text })
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let _may_be_gone = fs::remove_file(&self.path);
    }
}

/// The measurements of one task at each size.
struct Line {
    task: String,
    outcome: Outcome,
    seconds: Vec<f64>,
    megabytes: Vec<f64>,
}

impl Line {
    fn new(task: &str) -> Self {
        Self {
            task: task.to_owned(),
            outcome: Outcome::Ended,
            seconds: Vec::new(),
            megabytes: Vec::new(),
        }
    }

    /// With which power time and memory grow between the two largest sizes that ended.
    fn powers(&self) -> [f64; 2] {
        [power(&self.seconds, SECONDS), power(&self.megabytes, MEGABYTES)]
    }

    fn is_striking(&self) -> bool {
        self.outcome != Outcome::Ended
            || self.powers().into_iter().any(|power| power > STRIKING)
            || self.seconds.last().is_some_and(|&seconds| seconds > 1.0)
    }
}

/// The slope of the last step in a plot with two logarithmic axes; 0 where the values are `small`.
fn power(values: &[f64], small: f64) -> f64 {
    match *values {
        [.., before, last] if before > small => (last / before).log2(),
        _ => 0.0,
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<28}", self.task)?;
        for at in 0..4 {
            match self.seconds.get(at) {
                Some(seconds) => write!(f, "{seconds:>8.2}")?,
                None => write!(f, "{:>8}", "")?,
            }
        }
        for at in 0..4 {
            match self.megabytes.get(at) {
                Some(megabytes) => write!(f, "{megabytes:>7.0}")?,
                None => write!(f, "{:>7}", "")?,
            }
        }
        let [time, memory] = self.powers();
        write!(f, "{time:>7.1}{memory:>5.1}  {}", self.outcome.words())
    }
}

/// The quick run with a verdict.
struct SmallRun<'a>(Bench<'a>);

impl SmallRun<'_> {
    /// Linear code grows 4 times, quadratic code 16 times.
    const FACTOR: f64 = 8.0;
    const SIZES: [usize; 2] = [250, 1_000];

    fn run(&self) -> anyhow::Result<()> {
        let families = self.0.families();
        let found: Vec<Vec<String>> =
            families.par_iter().map(|family| self.check(family)).collect::<anyhow::Result<_>>()?;
        let found: Vec<String> = found.into_iter().flatten().collect();
        if !found.is_empty() {
            bail!("grows faster than the input:\n{}", found.join("\n"));
        }
        println!(
            "{} families, {} tasks: nothing grows far over linear",
            families.len(),
            self.0.tasks.len()
        );
        Ok(())
    }

    fn check(&self, family: &Family) -> anyhow::Result<Vec<String>> {
        let files = self.0.files(family, &Self::SIZES)?;
        let mut found = Vec::new();
        let is_known = |task: &&Task| known::reason(family.name, &task.name).is_some();
        for task in self.0.tasks.iter().filter(|task| !is_known(task)) {
            // Noise only adds, so the least of three measurements counts.
            let mut last = None;
            for _ in 0..3 {
                last = self.complaint(task, &files)?;
                if last.is_none() {
                    break;
                }
            }
            found.extend(last.map(|what| format!("{} {}: {what}", family.name, task.name)));
        }
        Ok(found)
    }

    /// What is wrong with one measurement.
    fn complaint(&self, task: &Task, files: &[Input]) -> anyhow::Result<Option<String>> {
        let [small, large] = [&files[0], &files[1]].map(|file| self.0.measure(task, file));
        let (small, large) = (small?, large?);
        if large.outcome != Outcome::Ended {
            return Ok(Some(large.outcome.words().to_owned()));
        }
        // Values below these minimums would be too small to measure at the smaller size.
        let seconds = large.seconds / small.seconds.max(SECONDS);
        let megabytes = large.megabytes / small.megabytes.max(MEGABYTES / 2.0);
        Ok(if seconds > Self::FACTOR {
            Some(format!("{:.2} s, then {:.2} s", small.seconds, large.seconds))
        } else if megabytes > Self::FACTOR {
            Some(format!("{:.0} MB, then {:.0} MB", small.megabytes, large.megabytes))
        } else {
            None
        })
    }
}
