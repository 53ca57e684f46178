//! `cargo xtask ci`: the checks a change must pass, in order of cost.

use std::{
    env,
    path::Path,
    process::Command,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, bail};

/// Arguments of `cargo xtask ci`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Also what is built apart, or measured: adapters to other compilers' IRs, a fuzzer on all
    /// targets, and the growth of time and memory. Tests make more random programs.
    #[arg(long)]
    long: bool,
}

/// Runs every check; stops at the first that fails.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let root = crate::tidy::workspace_root()?;
    step(&root, "fmt", &["fmt", "--all", "--check"], &[])?;
    timed("tidy", crate::tidy::run)?;
    step(
        &root,
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[],
    )?;
    step(&root, "doc", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    timed("docs", crate::docs::run)?;
    step(&root, "package", &PACKAGE, &[])?;
    let long: &[(&str, &str)] = if options.long { &[("PHALANX_LONG", "1")] } else { &[] };
    step(&root, "test", &["test", "--workspace"], long)?;
    if options.long {
        step(&root.join("adapters/phalanx-pliron"), "pliron", &["test"], &[])?;
        step(&root.join("adapters/phalanx-cubecl"), "cubecl", &["test"], &[])?;
    }
    let itself = env::current_exe()?;
    if options.long {
        program(&root, "growth", &itself, &["growth", "--small"], &[])?;
    }
    program(&root, "refine", &itself, &["refine", "--programs", "60"], &[])?;
    if options.long {
        program(&root, "fuzz", &itself, &["fuzz", "--time", "60s"], &[])?;
    }
    llvm_tests(&root, &itself)
}

/// Packages the crates for a registry without building them from scratch: this detects missing
/// files and versions.
const PACKAGE: [&str; 14] = [
    "package",
    "--workspace",
    "--exclude",
    "xtask",
    "--exclude",
    "phalanx-testing",
    "--exclude",
    "phalanx-test-suite",
    "--exclude",
    "phalanx-fuzz",
    "--no-verify",
    "--allow-dirty",
    "--offline",
    "--quiet",
];

/// Tests a thousand files of LLVM's test tree, different ones each day, if `PHALANX_LLVM_TESTS`
/// names the tree.
fn llvm_tests(root: &Path, itself: &Path) -> anyhow::Result<()> {
    let Some(tree) = env::var_os("PHALANX_LLVM_TESTS").filter(|tree| Path::new(tree).is_dir())
    else {
        println!("== llvm-tests: skipped, PHALANX_LLVM_TESTS names no folder");
        return Ok(());
    };
    let day = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / (24 * 60 * 60);
    let (tree, seed) = (tree.to_string_lossy(), day.to_string());
    let args = ["conformance", "--llvm-tests", &tree, "--sample", "1000", "--seed", &seed];
    program(root, "llvm-tests", itself, &args, &[])
}

/// Runs a check that is a part of this program.
fn timed(name: &str, check: fn() -> anyhow::Result<()>) -> anyhow::Result<()> {
    println!("== {name}");
    let started = Instant::now();
    check()?;
    println!("== {name}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn step(root: &Path, name: &str, args: &[&str], env: &[(&str, &str)]) -> anyhow::Result<()> {
    program(root, name, Path::new("cargo"), args, env)
}

fn program(
    root: &Path,
    name: &str,
    program: &Path,
    args: &[&str],
    env: &[(&str, &str)],
) -> anyhow::Result<()> {
    let shown = program.file_name().unwrap_or_default().display();
    println!("== {name}: {shown} {}", args.join(" "));
    let started = Instant::now();
    let status = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot start {shown} for `{name}`"))?;
    println!("== {name}: {:.0} s", started.elapsed().as_secs_f64());
    if !status.success() {
        bail!("`{name}` failed");
    }
    Ok(())
}
