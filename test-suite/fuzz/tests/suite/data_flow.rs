//! Checks data flow against execution, on random programs.

use phalanx_analysis::data_flow::Edges;
use phalanx_analysis::spaces::SpaceSet;
use phalanx_fuzz::data_flow::{
    Tally, check_random,
    pointers::{self, Spoilt},
};

#[test]
fn random_programs() {
    let mut tally = Tally::default();
    for seed in 0..100 {
        let found = check_random(seed, 3, Edges::All);
        assert!(found.wrong.is_empty(), "seed {seed}: {}", found.wrong.join("\n"));
        tally.merge(found);
    }
    assert!(tally.pairs > 100 && tally.changed > 250, "{tally:?}");
    // A result that reaches everything would never be wrong.
    assert!(tally.reached_and_changed * 4 > tally.reached, "{tally:?}");
}

/// A negative control: without the edges through memory, changed values are missed.
#[test]
fn content_is_needed() {
    let wrong = (0..60).any(|seed| {
        let tally = check_random(seed, 3, Edges::WithoutContent);
        !tally.wrong.is_empty()
    });
    assert!(wrong);
}

#[test]
fn random_pointers() {
    let mut tally = Tally::default();
    for seed in 0..300 {
        let (found, text) = pointers::check_random(seed, 2, None);
        assert!(found.wrong.is_empty(), "seed {seed}: {}\n{text}", found.wrong.join("\n"));
        tally.merge(found);
    }
    println!("{} pairs, {} changed, {} reached", tally.pairs, tally.changed, tally.reached);
    assert!(tally.pairs > 800 && tally.changed > 1_000, "{tally:?}");
    // Facts beyond types make the result more precise.
    let all = |spoilt| (0..100).map(move |seed| pointers::check_random(seed, 1, spoilt).0.reached);
    let (known, types) = (all(None).sum::<u64>(), all(Some(Spoilt::Everything)).sum::<u64>());
    println!("{known} reached, by types alone {types}");
    assert!(known * 10 < types * 9, "{known} {types}");
}

/// Negative controls: a class is removed where a pointer may point to it, or functions are claimed
/// to write nothing. Each is detected.
#[test]
fn every_class_is_needed() {
    let memories = [SpaceSet::GLOBAL, SpaceSet::SHARED, SpaceSet::PRIVATE].map(Spoilt::Memory);
    for spoilt in memories.into_iter().chain([Spoilt::Calls]) {
        let is_wrong = |seed| !pointers::check_random(seed, 2, Some(spoilt)).0.wrong.is_empty();
        assert!((0..200).any(is_wrong), "{spoilt:?}");
    }
}
