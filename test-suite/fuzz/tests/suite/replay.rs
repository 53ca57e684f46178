//! Runs the fuzz targets on every stored input, and on some random ones. `cargo xtask fuzz` goes on
//! from there, with a fuzzer that learns which inputs reach new code.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use phalanx_fuzz::{Target, programs};
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
        for number in 0..if target.is_slow { 6 } else { programs(60, 400) } {
            let mut data = vec![0; rng.random_range(0..200)];
            rng.fill_bytes(&mut data);
            run(target, &format!("random input {number}: {data:?}"), &data);
        }
    }
}

/// Runs the targets that read text on kernels with random changes: of random bytes they read only
/// the first few.
#[test]
fn changed_texts() {
    let kernels = inputs(&workspace_root().join("test-suite/ll"));
    let kernels = kernels.iter().filter(|path| path.is_file());
    let texts: Vec<Vec<u8>> = kernels.map(|path| fs::read(path).expect("a kernel")).collect();
    let short: Vec<&Vec<u8>> = texts.iter().filter(|text| text.len() <= 4096).collect();
    assert!(!short.is_empty());
    let mut rng = SmallRng::seed_from_u64(1);
    for target in
        Target::ALL.iter().filter(|target| ["reader", "round_trip"].contains(&target.name))
    {
        for number in 0..400 {
            let mut text = short[rng.random_range(0..short.len())].clone();
            for _ in 0..rng.random_range(1..5) {
                let other = short[rng.random_range(0..short.len())];
                change(&mut rng, &mut text, other);
            }
            let shown = String::from_utf8_lossy(&text);
            run(target, &format!("changed text {number}:\n{shown}"), &text);
        }
    }
}

/// Changes a text: a piece is replaced by a piece of another text, or of itself, or by nothing; or
/// one byte is another one.
fn change(rng: &mut SmallRng, text: &mut Vec<u8>, other: &[u8]) {
    let piece = |rng: &mut SmallRng, length: usize| {
        let from = rng.random_range(0..=length);
        from..length.min(from + rng.random_range(0..40))
    };
    let at = piece(rng, text.len());
    let new = match rng.random_range(0..4) {
        0 => Vec::new(),
        1 => text[piece(rng, text.len())].to_vec(),
        2 => other[piece(rng, other.len())].to_vec(),
        _ => vec![rng.random_range(b' '..=b'~')],
    };
    text.splice(at, new);
}
