//! Which files and folders of one crate may use each other.
//!
//! - At most [`MOST`] files use each other in a circle, as [`crate::circles`] defines it: the
//!   files of a circle have to be read together.
//! - In the crates of [`FOLDERS`] a folder uses only folders that stand before it in the table, as
//!   crates do in the table of layers. A module in one file counts as a folder; the root of the
//!   crate may use all.
//!
//! ```text
//! tidy: phalanx-analysis: 9 files use each other in a circle, more than 8: src/a.rs, src/b.rs, ...
//! tidy: phalanx-analysis: src/memory/order.rs uses lower (Rule), which does not stand below memory
//! ```
//!
//! To fix a finding: move what both sides need into a leaf file, move a function to its only user,
//! or pass data as an argument instead of fetching it.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::Metadata;

use crate::circles::{self, Uses};

/// How many files may use each other in a circle.
const MOST: usize = 8;

/// Folders of crates, from the bottom up.
const FOLDERS: &[(&str, &[&str])] = &[(
    "phalanx-analysis",
    &[
        "policy",
        "edited",
        "joins",
        "code",
        "listing",
        "launch",
        "memory",
        "spaces",
        "alias",
        "shape",
        "convergence",
        "lower",
        "summary",
        "assumed_facts",
        "explain",
        "update",
        "readers",
        "loads",
        "data_flow",
        "variance",
        "true_uniformity",
        "stable",
        "check",
    ],
)];

/// Checks all crates.
pub(super) fn check(metadata: &Metadata, findings: &mut Vec<String>) -> anyhow::Result<()> {
    for package in &metadata.packages {
        let name = package.name.as_str();
        for uses in circles::of_package(package)? {
            findings.extend(large_circles(&uses).into_iter().map(|text| format!("{name}: {text}")));
            let table = FOLDERS.iter().find(|(of, _)| *of == name);
            if let Some((_, folders)) = table {
                let upward = upward(&uses, folders);
                findings.extend(upward.into_iter().map(|text| format!("{name}: {text}")));
            }
        }
    }
    Ok(())
}

/// Circles of too many files.
fn large_circles(uses: &Uses) -> Vec<String> {
    let large = circles::circles(uses).into_iter().filter(|circle| circle.len() > MOST);
    large
        .map(|circle| {
            let files: Vec<String> = circle.iter().map(|path| path.display().to_string()).collect();
            let (count, files) = (files.len(), files.join(", "));
            format!("{count} files use each other in a circle, more than {MOST}: {files}")
        })
        .collect()
}

/// Uses of folders that do not stand before the user in the table.
fn upward(uses: &Uses, folders: &[&str]) -> Vec<String> {
    let rank = |folder: &str| folders.iter().position(|&of| of == folder);
    let mut found = BTreeSet::new();
    for (file, others) in uses {
        let Some(folder) = folder_of(file) else { continue };
        if rank(folder).is_none() {
            found.insert(format!("src/{folder} is not in the table of folders"));
        }
        for (other, names) in others {
            let Some(below) = folder_of(other) else { continue };
            if folder != below && rank(below) >= rank(folder) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let (file, names) = (file.display(), names.join(", "));
                let text = format!("{file} uses {below} ({names})");
                found.insert(format!("{text}, which does not stand below {folder}"));
            }
        }
    }
    found.into_iter().collect()
}

/// The folder of a file, or the module in one file; none of the root.
fn folder_of(path: &Path) -> Option<&str> {
    let inside = path.strip_prefix("src").ok()?;
    let first = inside.iter().next()?.to_str()?;
    let folder = first.strip_suffix(".rs").unwrap_or(first);
    (!matches!(folder, "lib" | "main")).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with the files that they use, each by the name `f`.
    fn uses(edges: &[(&str, &[&str])]) -> Uses {
        let used = |files: &[&str]| {
            files.iter().map(|file| (file.into(), BTreeSet::from(["f".to_owned()]))).collect()
        };
        edges.iter().map(|(file, others)| (file.into(), used(others))).collect()
    }

    /// `count` files of which each uses the next, and the last one the first.
    fn ring(count: usize) -> Uses {
        let file = |at: usize| format!("src/f{}.rs", at % count);
        let name = || BTreeSet::from(["f".to_owned()]);
        let next = |at| [(file(at + 1).into(), name())].into_iter().collect();
        (0..count).map(|at| (file(at).into(), next(at))).collect()
    }

    #[test]
    fn a_circle_of_one_file_too_many_is_found_and_its_files_are_named() {
        assert_eq!(large_circles(&ring(MOST)), Vec::<String>::new());
        let found = large_circles(&ring(MOST + 1));
        assert_eq!(
            found,
            ["9 files use each other in a circle, more than 8: src/f0.rs, src/f1.rs, src/f2.rs, \
              src/f3.rs, src/f4.rs, src/f5.rs, src/f6.rs, src/f7.rs, src/f8.rs"]
        );
    }

    #[test]
    fn folders_use_those_before_them_only() {
        let uses = uses(&[
            ("src/lib.rs", &["src/high/a.rs"]),
            ("src/low.rs", &["src/high/a.rs"]),
            ("src/high/a.rs", &["src/low.rs", "src/high/b.rs"]),
            ("src/high/b.rs", &["src/high/a.rs", "src/lib.rs"]),
            ("src/new/c.rs", &[]),
        ]);
        assert_eq!(
            upward(&uses, &["low", "high"]),
            [
                "src/low.rs uses high (f), which does not stand below low",
                "src/new is not in the table of folders",
            ]
        );
    }

    #[test]
    fn every_folder_of_a_table_stands_there_once() {
        for (name, folders) in FOLDERS {
            let set: BTreeSet<&&str> = folders.iter().collect();
            assert_eq!(set.len(), folders.len(), "{name}");
        }
    }
}
