//! Compares the verdict of Phalanx's reader with LLVM's, on almost valid texts.

use std::{
    fs,
    path::Path,
    sync::{LazyLock, OnceLock},
};

use phalanx_testing::{
    llvm_tools::{Program, find, require, workspace_root},
    mutate::mutant_from,
    verdict::Verdict,
};
use rand::{Rng as _, seq::IndexedRandom as _};

use crate::Entropy;

/// The programs that mutants are made of: our own kernels.
static SOURCES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut sources: Vec<_> = texts(&workspace_root().join("test-suite/ll"))
        .into_iter()
        .chain(texts(&workspace_root().join("test-suite/fuzz/corpus/reader")))
        // Debug information is long, and lines of it are mostly independent.
        .filter(|text| text.len() < 20_000)
        .collect();
    sources.sort();
    sources
});

#[allow(clippy::disallowed_methods, reason = "test inputs are files")]
fn texts(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect()
}

/// The program that the fuzzer asks, looked for once.
pub(crate) fn opt() -> Option<&'static Program> {
    static OPT: OnceLock<Option<Program>> = OnceLock::new();
    OPT.get_or_init(|| find("opt").map(Program::new).or_else(|| require("opt"))).as_ref()
}

/// What LLVM accepts we accept; what its reader refuses we refuse.
///
/// The input picks a program and up to three small changes of it.
pub fn verdict(data: &[u8]) {
    let Some(opt) = opt() else { return };
    let mut choices = Entropy::new(data);
    let Some(source) = SOURCES.choose(&mut choices) else { return };
    let mut text = source.clone();
    for _ in 0..choices.random_range(1..=3) {
        text = mutant_from(&text, &mut choices);
    }
    check(opt, &text);
}

fn check(opt: &Program, text: &str) {
    let outcome = opt
        .run(["-passes=verify", "-disable-output", "-"], text.as_bytes())
        .expect("opt-22 can be started");
    let ours = phalanx::Session::new().read(text.as_bytes());
    match (Verdict::of(&outcome), ours) {
        (Verdict::Accepted, Err(error)) => panic!("only we refuse it: {error}\n{text}"),
        (Verdict::RefusedByReader(reason), Ok(_)) => {
            panic!("only LLVM refuses it: {reason}\n{text}")
        }
        _ => {}
    }
}
