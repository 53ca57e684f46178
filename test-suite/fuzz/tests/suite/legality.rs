//! Checks the legality of motions against execution, on random programs.

use phalanx_fuzz::{
    legality::{Tally, check, check_random},
    oracle::{random_program, runnable_alone},
};

#[test]
fn random_programs() {
    let mut tally = Tally::default();
    for seed in 0..250 {
        let found = check_random(seed, 4);
        assert!(found.wrong.is_empty(), "seed {seed}: {}", found.wrong.join("\n"));
        tally.merge(found);
    }
    assert!(tally.same > 500 && tally.groups > 20_000 && tally.one_edge > 100, "{tally}");
    // Rules that refuse everything would never be wrong.
    assert!(tally.other_seen * 3 > tally.other && tally.edges_seen * 20 > tally.edges, "{tally}");
}

/// A negative control: dominance alone does not keep groups, and the check detects that.
#[test]
fn dominance_is_not_enough() {
    let wrong = (0..60).any(|seed| {
        let (program, kind) = random_program(seed);
        let text = runnable_alone(&program, kind, seed);
        let tally = check(&text, seed, 6, &|_, _, _| true);
        tally.is_some_and(|tally| !tally.wrong.is_empty())
    });
    assert!(wrong);
}
