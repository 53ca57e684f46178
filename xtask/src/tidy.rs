//! `cargo xtask tidy`: checks conventions that no compiler checks.
//!
//! - **Layering.** A crate may depend only on crates above it in [`LAYERS`], and only on the
//!   outside crates that the table in the architecture page allows it ([`ONLY`]: salsa in one
//!   crate, nothing that reads files or paints terminals in the core).
//! - **Lints.** Every crate takes the workspace's lint table, edition and version.
//! - **Old compilers.** A crate that states a Rust version below 1.88 has no let chains
//!   ([`chains`]).
//! - **Files.** Few of them use each other in a circle, and folders use only those below them
//!   ([`house`]).
//! - **Modules.** Each starts with a module doc and has at most [`MAX_LINES`] lines.
//! - **Text.** No machine paths, no leftover markers, no tabs; prose within 100 columns
//!   ([`wrapped`]).
//!
//! All findings are listed, not only the first.

mod chains;
mod house;
mod wrapped;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// From the bottom up; a crate may use only earlier ones.
const LAYERS: &[&str] = &[
    "phalanx-fixpoint",
    "phalanx-graph",
    "phalanx-core",
    "phalanx-ir",
    "phalanx-target",
    "phalanx-llvm",
    "phalanx-source",
    "phalanx-analysis",
    "phalanx-simt",
    "phalanx-db",
    "phalanx-transform",
    "phalanx-report",
    "phalanx",
    "phalanx-cli",
];

/// Pairs of crates: the second must not use the first although it is above it.
const FORBIDDEN: &[(&str, &str)] = &[
    ("phalanx-llvm", "phalanx-analysis"),
    ("phalanx-ir", "phalanx-target"),
    ("phalanx-analysis", "phalanx-llvm"),
    ("phalanx-analysis", "phalanx-simt"),
    ("phalanx-llvm", "phalanx-simt"),
];

/// Outside crates that only some crates may use.
const ONLY: &[(&str, &[&str])] = &[
    ("salsa", &["phalanx-db"]),
    ("clap", &["phalanx-cli", "xtask"]),
    ("anstream", &["phalanx-cli"]),
    ("indicatif", &["phalanx-cli"]),
    ("serde", &["phalanx-report"]),
    ("serde_json", &["phalanx-report", "phalanx-source", "phalanx-cli"]),
    ("phalanx-source", &["phalanx-cli"]),
    ("annotate-snippets", &["phalanx-report"]),
    ("anyhow", &["phalanx-cli", "phalanx-testing", "phalanx-test-suite", "xtask"]),
    ("rand", &["phalanx-testing", "phalanx-fuzz"]),
];

/// A longer module holds more than one idea. The bound is a little above 600, so that one more test
/// does not split a file.
const MAX_LINES: usize = 650;

/// Runs every check.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = workspace_root()?;
    let metadata = MetadataCommand::new().current_dir(&root).no_deps().exec()?;
    let mut findings = Vec::new();
    layering(&metadata, &mut findings);
    manifests(&metadata, &mut findings)?;
    chains::check(&metadata, &mut findings)?;
    house::check(&metadata, &mut findings)?;
    for path in files_of_git(&root)? {
        text(&root, &path, &mut findings)?;
    }
    findings.sort();
    findings.dedup();
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings", findings.len());
    }
    println!("tidy: {} packages, no findings", metadata.packages.len());
    Ok(())
}

/// The folder of the workspace.
pub(crate) fn workspace_root() -> anyhow::Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_owned).context("xtask is a folder of the workspace")
}

fn layering(metadata: &Metadata, findings: &mut Vec<String>) {
    let rank = |name: &str| LAYERS.iter().position(|&layer| layer == name);
    for package in &metadata.packages {
        let name = package.name.as_str();
        let exempt =
            matches!(name, "xtask" | "phalanx-testing" | "phalanx-test-suite" | "phalanx-fuzz");
        if rank(name).is_none() && !exempt {
            findings.push(format!("{name}: not in the table of layers"));
        }
        for dependency in &package.dependencies {
            let target = dependency.name.as_str();
            let normal = dependency.kind == DependencyKind::Normal;
            if !normal {
                continue;
            }
            if let (Some(user), Some(used)) = (rank(name), rank(target))
                && used >= user
            {
                findings
                    .push(format!("{name}: depends on {target}, which does not stand above it"));
            }
            if FORBIDDEN.contains(&(name, target)) {
                findings.push(format!("{name}: must not know {target}"));
            }
            if target == "phalanx-testing" && !exempt && !dependency.optional {
                findings.push(format!("{name}: phalanx-testing is for tests only"));
            }
            if let Some((_, allowed)) = ONLY.iter().find(|(only, _)| *only == target)
                && !allowed.contains(&name)
                && !dependency.optional
            {
                findings.push(format!("{name}: must not name {target}; {allowed:?} may"));
            }
        }
    }
}

fn manifests(metadata: &Metadata, findings: &mut Vec<String>) -> anyhow::Result<()> {
    for package in &metadata.packages {
        let text = fs::read_to_string(&package.manifest_path)?;
        for wanted in
            ["[lints]\nworkspace = true", "edition.workspace = true", "version.workspace = true"]
        {
            if !text.contains(wanted) {
                findings.push(format!(
                    "{}: Cargo.toml lacks `{}`",
                    package.name,
                    wanted.replace('\n', " ")
                ));
            }
        }
        if package.description.is_none() {
            findings.push(format!("{}: Cargo.toml lacks a description", package.name));
        }
    }
    Ok(())
}

/// What git tracks or would track.
/// What git knows of or would add, as paths from the root.
pub(crate) fn files_of_git(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(listed_by_git(root)?.into_iter().filter(|path| root.join(path).is_file()).collect())
}

/// The links to folders among what git lists.
pub(crate) fn linked_folders(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    Ok(listed_by_git(root)?.into_iter().filter(|path| root.join(path).is_dir()).collect())
}

fn listed_by_git(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let output = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    let list = String::from_utf8(output.stdout).context("file names are UTF-8")?;
    Ok(list.lines().map(PathBuf::from).collect())
}

fn text(root: &Path, path: &Path, findings: &mut Vec<String>) -> anyhow::Result<()> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if !matches!(extension, "rs" | "toml" | "md" | "ll" | "cl" | "cu" | "h" | "sh" | "yml") {
        return Ok(());
    }
    let Ok(content) = fs::read_to_string(root.join(path)) else {
        findings.push(format!("{}: not UTF-8", path.display()));
        return Ok(());
    };
    let this_file = path.ends_with("xtask/src/tidy.rs");
    let folders = ["work", "root", "home", "tmp"].map(|name| format!("/{name}/"));
    for (number, line) in content.lines().enumerate() {
        let place = || format!("{}:{}", path.display(), number + 1);
        if folders.iter().any(|folder| line.contains(folder)) {
            findings.push(format!("{}: a path of some machine", place()));
        }
        if !this_file
            && ["todo!(", "unimplemented!(", "FIXME", "XXX"].iter().any(|m| line.contains(m))
        {
            findings.push(format!("{}: a leftover marker", place()));
        }
        if extension == "rs" && line.contains('\t') && !line.contains('"') {
            findings.push(format!("{}: a tab", place()));
        }
    }
    if matches!(extension, "rs" | "md") {
        wrapped::check(path, &content, findings);
    }
    if extension == "rs" {
        if !content.lines().any(|line| line.starts_with("//!")) {
            findings.push(format!("{}: no module doc", path.display()));
        }
        let lines = content.lines().count();
        if lines > MAX_LINES {
            findings.push(format!("{}: {lines} lines, more than {MAX_LINES}", path.display()));
        }
    }
    Ok(())
}
