//! `cargo xtask fuzz`: runs libFuzzer on every target of `test-suite/fuzz` for some time each.
//!
//! cargo-fuzz builds the targets, with coverage instrumentation and without a sanitizer: there is
//! no unsafe code to sanitize. The instrumentation needs compiler options that are stable under
//! `RUSTC_BOOTSTRAP=1`. The inputs that a target discovers stay in `target/fuzz/corpus` for the
//! next run. For an input that fails, the chore prints the command that stores it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};
use phalanx_fuzz::Target;

/// The version to install if there is none.
const CARGO_FUZZ: &str = "0.13.2";

/// Longest input worth mutating, in bytes.
const MAX_LEN: usize = 4096;

/// Which targets to run and how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each target runs: `30s`, `5m`, `1h`.
    #[arg(long, default_value = "60s", value_parser = duration)]
    time: Duration,
    /// Only this target; may be given several times.
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
}

/// The result of a run of one target.
struct Report {
    name: &'static str,
    runs: String,
    /// Inputs that were kept because they reach new code.
    corpus: usize,
    failure: Option<String>,
}

/// Builds all targets and runs them one after the other.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    for name in &options.targets {
        if !Target::ALL.iter().any(|target| target.name == name) {
            let known: Vec<&str> = Target::ALL.iter().map(|target| target.name).collect();
            bail!("no fuzz target is called `{name}` (known: {})", known.join(", "));
        }
    }
    let root = crate::tidy::workspace_root()?;
    let build = root.join("target/fuzz");
    compile(&root, &build)?;
    let binaries = build.join(host()?).join("release");
    let mut failed = false;
    println!("{:<12} {:>10} {:>8}  result", "target", "runs", "corpus");
    for target in Target::ALL {
        if !options.targets.is_empty() && !options.targets.iter().any(|name| name == target.name) {
            continue;
        }
        let report = fuzz(&root, &build, &binaries.join(target.name), target, options.time)?;
        let result = report.failure.as_deref().unwrap_or("ok");
        println!("{:<12} {:>10} {:>8}  {result}", report.name, report.runs, report.corpus);
        failed |= report.failure.is_some();
    }
    if failed {
        bail!("a fuzz target failed");
    }
    Ok(())
}

fn compile(root: &Path, build: &Path) -> anyhow::Result<()> {
    let version = Command::new("cargo").args(["fuzz", "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("== fuzz: installing cargo-fuzz {CARGO_FUZZ}");
        let status = Command::new("cargo")
            .args([
                "install",
                "--quiet",
                "--debug",
                "--locked",
                "cargo-fuzz",
                "--version",
                CARGO_FUZZ,
            ])
            .status()
            .context("cannot start cargo")?;
        if !status.success() {
            bail!("cannot install cargo-fuzz {CARGO_FUZZ}");
        }
    }
    let mut command = Command::new("cargo");
    // The profile decides about assertions and checks: without `--release` cargo-fuzz would turn
    // them on for each crate, whatever its profile says.
    command
        .args([
            "fuzz",
            "build",
            "--release",
            "--fuzz-dir",
            "test-suite/fuzz/fuzz",
            "--sanitizer",
            "none",
        ])
        .arg("--target-dir")
        .arg(build)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .current_dir(root);
    let status = command.status().context("cannot start cargo fuzz")?;
    if !status.success() {
        bail!("the fuzz targets do not build");
    }
    Ok(())
}

fn fuzz(
    root: &Path,
    build: &Path,
    binary: &Path,
    target: &Target,
    time: Duration,
) -> anyhow::Result<Report> {
    let corpus = build.join("corpus").join(target.name);
    let artifacts = build.join("artifacts").join(target.name);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let suite = root.join("test-suite");
    let mut command = Command::new(binary);
    command.arg(&corpus);
    let is_text = matches!(target.name, "reader" | "round_trip");
    let kept =
        ["corpus", "regressions"].map(|kind| suite.join("fuzz").join(kind).join(target.name));
    let kernels = is_text.then(|| suite.join("ll"));
    command.args(kept.iter().chain(&kernels).filter(|folder| folder.is_dir()));
    if is_text {
        command.arg(format!("-dict={}", suite.join("fuzz/fuzz/ll.dict").display()));
    }
    let output = command
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={}", time.as_secs().max(1)))
        .arg(format!("-max_len={MAX_LEN}"))
        .args(["-timeout=30", "-rss_limit_mb=4096", "-print_final_stats=1"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    let log = String::from_utf8_lossy(&output.stderr);
    let stat = |name: &str| {
        let line = log.lines().find(|line| line.starts_with(&format!("stat::{name}:")))?;
        Some(line.rsplit(' ').next()?.to_owned())
    };
    let failure = (!output.status.success()).then(|| failure(&log, target));
    Ok(Report {
        name: target.name,
        runs: stat("number_of_executed_units").unwrap_or_else(|| "?".to_owned()),
        corpus: fs::read_dir(&corpus)?.count(),
        failure,
    })
}

/// The message about a failed run: the panic, the place of the input, and how to store it.
fn failure(log: &str, target: &Target) -> String {
    let mut out = "FAILED\n".to_owned();
    let from = log.find("panicked at").unwrap_or_else(|| log.len().saturating_sub(2000));
    let about = log[log.floor_char_boundary(from)..].lines();
    let about: Vec<&str> = about.take_while(|line| *line != "stack backtrace:").take(60).collect();
    out.push_str(&about.join("\n"));
    if let Some(at) = log.find("Test unit written to ") {
        let path: PathBuf = log[at..].lines().next().unwrap_or_default()[21..].trim().into();
        out.push_str(&format!(
            "\nthe input is {}\nkeep it: cp {} test-suite/fuzz/regressions/{}/<what-it-was-about>",
            path.display(),
            path.display(),
            target.name
        ));
    }
    out
}

/// The triple of this machine: cargo-fuzz always builds for a named one.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what its host is")?.to_owned())
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let number: u64 = number.parse().map_err(|_| "expected a number and `s`, `m` or `h`")?;
    let seconds = match unit {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(format!("unknown unit `{unit}`: expected `s`, `m` or `h`")),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        assert!(duration("5x").is_err() && duration("m").is_err() && duration("").is_err());
    }

    #[test]
    fn a_failure_says_what_and_where() {
        let log =
            "INFO: x\nthread panicked at src/a.rs:1:2:\nwrong\nTest unit written to /t/crash-1\n";
        let text = failure(log, &Target::ALL[0]);
        assert!(
            text.contains("wrong")
                && text.contains("cp /t/crash-1 test-suite/fuzz/regressions/reader/")
        );
    }

    /// Every target has a program for libFuzzer, and every program is a target.
    #[test]
    fn programs_are_the_targets() {
        let root = crate::tidy::workspace_root().unwrap();
        let manifest = fs::read_to_string(root.join("test-suite/fuzz/fuzz/Cargo.toml")).unwrap();
        let bins: Vec<&str> = manifest
            .lines()
            .filter_map(|l| l.strip_prefix("name = \"")?.strip_suffix('"'))
            .skip(1)
            .collect();
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name).collect();
        assert_eq!(bins, names);
    }
}
