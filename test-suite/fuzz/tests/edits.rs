//! Random transactions: everything is repaired, taken back or refused, and nothing is left half done.

use phalanx::db::queries::MemoryRepairs;
use phalanx_fuzz::edits::{Tally, run, run_called, run_recursive};
use rand::{SeedableRng as _, rngs::SmallRng};

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
}

#[test]
fn edits_of_functions_that_are_repaired() {
    let tally = campaign(12, 90);
    assert!(tally.committed > 60 && tally.flow > 10, "{tally:?}");
    assert!(tally.assumed > 20, "{tally:?}");
}

#[test]
fn facts_of_large_functions() {
    let tally = campaign(16, 400);
    let MemoryRepairs { private, addresses, hssa, classic, pointers } = tally.memory;
    for ways in [private, addresses, hssa, classic, pointers] {
        assert!(ways.kept > 20 && ways.solved > 5 && ways.repaired > 0, "{tally:?}");
    }
    assert!(hssa.repaired > 5 && classic.repaired > 5, "{tally:?}");
    assert!(tally.accesses.kept > 20 && tally.accesses.repaired > 5, "{tally:?}");
    for (query, answers) in tally.answers.by_query() {
        let looked = answers.repaired + answers.made;
        assert!(answers.kept > 20 && looked > 5, "{query}: {tally:?}");
    }
    assert!(tally.control.repaired > 20 && tally.control.solved > 20, "{tally:?}");
}

#[test]
fn summaries_of_large_functions() {
    let mut tally = Tally::default();
    for seed in 0..40 {
        tally.merge(run_called(&mut SmallRng::seed_from_u64(seed), 250));
    }
    let found = tally.summaries;
    assert!(found.repaired > 100 && found.visited > 1000, "{tally:?}");
    for answers in [tally.answers.effects, tally.answers.through] {
        assert!(answers.kept > 50, "{tally:?}");
    }
}

#[test]
fn functions_in_recursion() {
    let mut tally = Tally::default();
    for seed in 0..30 {
        tally.merge(run_recursive(&mut SmallRng::seed_from_u64(seed)));
    }
    let found = tally.summaries;
    assert!(found.repaired > 200 && found.visited > 200, "{tally:?}");
}
