//! Data flow held against execution, on random programs.

use phalanx_analysis::data_flow::Edges;
use phalanx_fuzz::data_flow::{Tally, check_random};

#[test]
fn random_programs() {
    let mut tally = Tally::default();
    for seed in 0..100 {
        let found = check_random(seed, 3, Edges::All);
        assert!(found.wrong.is_empty(), "seed {seed}: {}", found.wrong.join("\n"));
        tally.merge(found);
    }
    assert!(tally.pairs > 100 && tally.changed > 250, "{tally:?}");
    // Who reaches everything is never wrong.
    assert!(tally.reached_and_changed * 4 > tally.reached, "{tally:?}");
}

/// A check that cannot fail is no check: without the edges through memory something is missed.
#[test]
fn content_is_needed() {
    let wrong = (0..60).any(|seed| {
        let tally = check_random(seed, 3, Edges::WithoutContent);
        !tally.wrong.is_empty()
    });
    assert!(wrong);
}
