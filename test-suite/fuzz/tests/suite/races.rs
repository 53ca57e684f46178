//! Races in workgroup memory: every reported error is observed in execution.

use phalanx_fuzz::{
    programs,
    races::{Executed, Tally, check_random},
};

fn tally(seeds: std::ops::Range<u64>, executed: Executed) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        tally.merge(check_random(seed, executed));
    }
    tally
}

#[test]
fn errors_about_races_are_seen() {
    let tally = tally(0..programs(120, 300), Executed::Same);
    println!("{tally}");
    let shown: Vec<&str> = tally.wrong.iter().take(3).map(String::as_str).collect();
    assert!(tally.wrong.is_empty(), "{tally}\n{}", shown.join("\n"));
    assert!(tally.racy > 40 && tally.errors > 40, "{tally}");
    assert!(tally.found * 100 >= tally.racy * 70, "{tally}");
}

/// A negative control.
#[test]
fn races_that_barriers_prevent_are_not_seen() {
    let tally = tally(0..programs(80, 200), Executed::WithBarriers);
    assert!(tally.wrong.len() > 2, "{tally}");
}
