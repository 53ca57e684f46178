//! `cargo xtask circles`: files of one crate that use each other in a circle.
//!
//! A file of a circle cannot be read, tested or moved without all the others, so circles should
//! have few files.
//!
//! **Definition.** The nodes are the source files of one crate, without tests. A file leads to
//! another one when it names something that is defined there, in a `use` or in a path; re-exports
//! are followed to the definition. A file that only declares modules and re-exports, such as the
//! root of a folder, is no node. A circle is a strongly connected component of two or more files.
//!
//! ```text
//! $ cargo xtask circles
//! phalanx-db           6 files
//!     src/queries/argument_rounds.rs -> src/queries/summaries.rs -> src/queries/argument_rounds.rs
//! ```
//!
//! Each circle is shown by the shortest way from its first file back to it, and by the list of its
//! files with `--files`. `cargo xtask tidy` fails where a circle is too large, see `tidy::house`.
//!
//! **Not seen**: methods, which are called on values, and paths inside of macro calls.

mod paths;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::ensure;
use cargo_metadata::{MetadataCommand, Package};
use phalanx_graph::Components;

/// What is shown, and what is too much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only crates whose names contain this.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// List all files of each circle.
    #[arg(long)]
    files: bool,
    /// List which names each file of a circle takes from its others.
    #[arg(long)]
    names: bool,
    /// Fail where a circle has more files.
    #[arg(long, value_name = "N")]
    at_most: Option<usize>,
}

/// Prints the circles of all crates.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let root = crate::tidy::workspace_root()?;
    let metadata = MetadataCommand::new().current_dir(&root).no_deps().exec()?;
    let mut largest = 0;
    for package in &metadata.packages {
        if options.only.as_deref().is_some_and(|part| !package.name.contains(part)) {
            continue;
        }
        for uses in of_package(package)? {
            for circle in circles(&uses) {
                largest = largest.max(circle.len());
                show(package, options, &uses, &circle);
            }
        }
    }
    if let Some(bound) = options.at_most {
        ensure!(largest <= bound, "a circle has {largest} files; at most {bound} are allowed");
    }
    Ok(())
}

/// Prints one circle.
fn show(package: &Package, options: &Options, uses: &Uses, circle: &[&Path]) {
    println!("{:20} {} files", package.name, circle.len());
    let way: Vec<String> = way_round(uses, circle).into_iter().map(shown).collect();
    println!("    {}", way.join(" -> "));
    if options.files {
        circle.iter().for_each(|path| println!("      {}", shown(path)));
    }
    for file in circle.iter().filter(|_| options.names) {
        for (other, names) in &uses[*file] {
            if circle.contains(&other.as_path()) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                println!("      {} -> {}: {}", shown(file), shown(other), names.join(", "));
            }
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What the files of a package use, for its library and each of its programs. Paths are those from
/// the folder of the package.
pub(crate) fn of_package(package: &Package) -> anyhow::Result<Vec<Uses>> {
    let folder = package.manifest_path.parent().map_or(Path::new(""), |path| path.as_std_path());
    let short = |path: &Path| path.strip_prefix(folder).unwrap_or(path).to_owned();
    let targets = package.targets.iter().filter(|target| target.is_lib() || target.is_bin());
    targets
        .map(|target| {
            let uses = paths::uses(target.src_path.as_std_path())?;
            let used = |of: BTreeMap<PathBuf, BTreeSet<String>>| {
                of.into_iter().map(|(path, names)| (short(&path), names)).collect()
            };
            let all = uses.into_iter();
            Ok(all.map(|(path, of): (PathBuf, _)| (short(&path), used(of))).collect())
        })
        .collect()
}

/// Which files a file uses, and the names that it takes from each.
pub(crate) type Uses = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

/// Circles of two or more files, the largest first.
pub(crate) fn circles(uses: &Uses) -> Vec<Vec<&Path>> {
    let files: Vec<&Path> = uses.keys().map(PathBuf::as_path).collect();
    let number = |path: &PathBuf| files.binary_search(&path.as_path()).ok();
    let lists: Vec<Vec<u32>> = uses
        .values()
        .map(|used| used.keys().filter_map(|path| Some(number(path)? as u32)).collect())
        .collect();
    let components = Components::new(&lists);
    let mut found: BTreeMap<usize, Vec<&Path>> = BTreeMap::new();
    for (node, file) in files.iter().enumerate() {
        found.entry(components.of(node)).or_default().push(file);
    }
    let mut circles: Vec<Vec<&Path>> =
        found.into_values().filter(|circle| circle.len() > 1).collect();
    circles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    circles
}

/// The shortest way from the first file of a circle back to it.
fn way_round<'a>(uses: &'a Uses, circle: &[&'a Path]) -> Vec<&'a Path> {
    let first = circle[0];
    let mut from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut work = VecDeque::from([first]);
    while let Some(file) = work.pop_front() {
        for next in uses.get(file).into_iter().flat_map(BTreeMap::keys).map(PathBuf::as_path) {
            if next == first {
                let mut way = vec![first];
                let mut at = file;
                while at != first {
                    way.push(at);
                    at = from[at];
                }
                way.push(first);
                way.reverse();
                return way;
            }
            if circle.contains(&next) && !from.contains_key(next) {
                from.insert(next, file);
                work.push_back(next);
            }
        }
    }
    vec![first]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(edges: &[(&str, &[&str])]) -> Uses {
        let paths = |names: &[&str]| {
            names.iter().map(|name| (PathBuf::from(name), BTreeSet::new())).collect()
        };
        edges.iter().map(|(from, to)| (PathBuf::from(from), paths(to))).collect()
    }

    #[test]
    fn the_largest_circle_comes_first() {
        let uses = uses(&[
            ("a", &["b"]),
            ("b", &["a", "c"]),
            ("c", &["d"]),
            ("d", &["e"]),
            ("e", &["c", "f"]),
            ("f", &[]),
        ]);
        let found = circles(&uses);
        let names = |circle: &[&Path]| -> Vec<String> {
            circle.iter().map(|path| path.display().to_string()).collect()
        };
        let all: Vec<Vec<String>> = found.iter().map(|circle| names(circle)).collect();
        assert_eq!(all, [vec!["c", "d", "e"], vec!["a", "b"]]);
        assert_eq!(names(&way_round(&uses, &found[0])), ["c", "d", "e", "c"]);
    }
}
