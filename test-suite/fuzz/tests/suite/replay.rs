//! Runs the fuzz targets on every stored input, and on some random ones.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use phalanx_fuzz::Target;
use phalanx_testing::llvm_tools::workspace_root;
use rand::{Rng as _, RngCore as _, SeedableRng as _, rngs::SmallRng};

fn inputs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Runs a target; if it fails, says which input it was.
fn run(target: &Target, name: &str, data: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(data))).is_err() {
        panic!("target `{}` fails on {name}", target.name);
    }
}

#[test]
fn inputs_that_are_kept() {
    let root = workspace_root().join("test-suite/fuzz");
    for target in Target::ALL {
        let kept = ["corpus", "regressions"].map(|kind| inputs(&root.join(kind).join(target.name)));
        for path in kept.iter().flatten() {
            let data = fs::read(path).expect("a kept input is readable");
            run(target, &path.display().to_string(), &data);
        }
    }
}

/// A folder whose name is no target would never be replayed.
#[test]
fn folders_are_named_like_targets() {
    let root = workspace_root().join("test-suite/fuzz");
    for folder in ["corpus", "regressions"].iter().flat_map(|kind| inputs(&root.join(kind))) {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        assert!(Target::ALL.iter().any(|target| target.name == name), "{}", folder.display());
    }
}

/// Runs the targets on random bytes, without a fuzzer that learns.
#[test]
fn random_inputs() {
    let mut rng = SmallRng::seed_from_u64(1);
    for target in Target::ALL {
        for number in 0..if target.is_slow { 6 } else { 400 } {
            let mut data = vec![0; rng.random_range(0..200)];
            rng.fill_bytes(&mut data);
            run(target, &format!("random input {number}: {data:?}"), &data);
        }
    }
}
