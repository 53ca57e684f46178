//! `cargo xtask ci`: the checks a change must pass, in order of cost.

use std::{path::Path, process::Command, time::Instant};

use anyhow::{Context as _, bail};

/// Runs every check; stops at the first that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = crate::tidy::workspace_root()?;
    step(&root, "fmt", &["fmt", "--all", "--check"], &[])?;
    let started = Instant::now();
    println!("== tidy");
    crate::tidy::run()?;
    println!("== tidy: {:.0} s", started.elapsed().as_secs_f64());
    step(
        &root,
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[],
    )?;
    step(&root, "doc", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    step(&root, "test", &["test", "--workspace"], &[])?;
    step(
        &root,
        "fuzz",
        &["run", "--quiet", "--package", "xtask", "--", "fuzz", "--quick", "--time", "6s"],
        &[],
    )
}

fn step(root: &Path, name: &str, args: &[&str], env: &[(&str, &str)]) -> anyhow::Result<()> {
    println!("== {name}: cargo {}", args.join(" "));
    let started = Instant::now();
    let status = Command::new("cargo")
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot start cargo for `{name}`"))?;
    println!("== {name}: {:.0} s", started.elapsed().as_secs_f64());
    if !status.success() {
        bail!("`{name}` failed");
    }
    Ok(())
}
