//! Random transactions: facts are updated incrementally, and a transaction that is undone or
//! refused changes nothing.

use std::path::PathBuf;

use phalanx::db::queries::MemoryRepairs;
use phalanx_fuzz::edits::{
    Tally, What, run, run_around, run_called, run_in_company, run_module, run_recursive,
};
use phalanx_fuzz::programs;
use phalanx_test_suite::{
    giants::{NAME, giant},
    kernels::Manifest,
};
use phalanx_testing::files;
use rand::{SeedableRng as _, rngs::SmallRng};
use rayon::prelude::*;

fn campaign(functions: u64, blocks: usize) -> Tally {
    let mut all = Tally::default();
    for seed in 0..functions {
        all.merge(run(&mut SmallRng::seed_from_u64(seed), blocks));
    }
    all
}

#[test]
fn edits_of_small_functions() {
    let tally = campaign(40, 12);
    assert!(tally.committed > 200 && tally.flow > 30, "{tally:?}");
    assert!(tally.refused > 5 && tally.aborted > 20, "{tally:?}");
    for (what, count) in What::ALL.into_iter().zip(tally.around) {
        assert!(count > 2, "{what:?}: {tally:?}");
    }
}

/// Retained state determines which inputs a query reads: see [`run_around`].
#[test]
fn salsa_is_not_misled() {
    let edits: usize = (0..60).map(run_around).sum();
    assert!(edits > 2000, "{edits}");
}

/// An edit cancels queries of other threads, which succeed later.
#[test]
fn edits_while_others_ask() {
    let mut tally = Tally::default();
    for seed in 0..programs(20, 60) {
        tally.merge(run_in_company(seed));
    }
    assert!(tally.committed > 300 && tally.stopped > 20, "{tally:?}");
}

#[test]
fn edits_of_functions_that_are_repaired() {
    let tally = campaign(24, 90);
    assert!(tally.committed > 60 && tally.flow > 10, "{tally:?}");
    assert!(tally.assumed > 20, "{tally:?}");
}

#[test]
fn facts_of_large_functions() {
    let tally = campaign(programs(8, 16), 400);
    let MemoryRepairs { private, addresses, hssa, classic, pointers } = tally.memory;
    for ways in [private, addresses, hssa, classic, pointers] {
        assert!(ways.kept > 20 && ways.solved > 5, "{tally:?}");
    }
    assert!(pointers.repaired > 0, "{tally:?}");
    assert!(hssa.repaired > 5 && classic.repaired > 5, "{tally:?}");
    assert!(tally.accesses.kept > 20 && tally.accesses.repaired > 5, "{tally:?}");
    for (query, answers) in tally.answers.by_query() {
        let looked = answers.repaired + answers.solved;
        assert!(answers.kept > 20 && looked > 5, "{query}: {tally:?}");
    }
}

#[test]
fn summaries_of_large_functions() {
    let mut tally = Tally::default();
    for seed in 0..programs(16, 40) {
        tally.merge(run_called(&mut SmallRng::seed_from_u64(seed), 250));
    }
    let found = tally.summaries;
    assert!(found.repaired > 40 && found.visited > 400, "{tally:?}");
    for answers in [tally.answers.effects, tally.answers.through] {
        assert!(answers.kept > 20, "{tally:?}");
    }
}

#[test]
fn functions_in_recursion() {
    let mut tally = Tally::default();
    for seed in 0..programs(12, 30) {
        tally.merge(run_recursive(&mut SmallRng::seed_from_u64(seed)));
    }
    let found = tally.summaries;
    assert!(found.repaired > 80 && found.visited > 80, "{tally:?}");
}

/// Where compiled kernels are kept.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels")
}

/// One compilation of each kernel; `cargo xtask edits --kernels` tests all of them.
#[test]
fn edits_of_kernels() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let edited = |(seed, variant): (u64, _)| {
        let file = manifest.compile(&compiler, variant, &folder());
        let text = files::text(file.unwrap_or_else(|error| panic!("{error:#}")));
        run_module(seed, text.as_bytes(), None, 6)
    };
    let sample = manifest.sample();
    let numbered: Vec<_> = (0..).zip(&sample).collect();
    let merge = |mut all: Tally, part| {
        all.merge(part);
        all
    };
    let tally = numbered.into_par_iter().map(edited).reduce(Tally::default, merge);
    assert!(tally.committed > 100 && tally.flow > 30, "{tally:?}");
}

/// Kernels that were inlined into one function: real loops, barriers and tiles, and large enough
/// that all facts are updated incrementally.
#[test]
fn edits_of_a_giant() {
    let manifest = Manifest::read().expect("manifest");
    let made = giant(&manifest, ("nvptx", "-O1"), 1, &folder());
    let Some(file) = made.unwrap_or_else(|error| panic!("{error:#}")) else { return };
    let tally = run_module(1, files::text(file).as_bytes(), Some(NAME), 32);
    assert!(tally.divergence.repaired > 3, "one irreducible kernel does not stop it: {tally:?}");
    assert!(tally.committed > 5 && tally.flow > 1, "{tally:?}");
    assert!(tally.answers.findings.kept + tally.answers.findings.repaired > 1, "{tally:?}");
}
