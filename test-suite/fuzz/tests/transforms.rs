//! Random programs run alike before and after transforms.

use phalanx_fuzz::transforms::{Tally, run};
use rand::{SeedableRng as _, rngs::SmallRng};

fn campaign(seeds: std::ops::Range<u64>, blocks: usize) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        all.merge(run(&mut SmallRng::seed_from_u64(seed), blocks, 2));
    }
    all
}

#[test]
fn small_programs() {
    let tally = campaign(0..150, 11);
    println!("{tally:?}");
    assert!(tally.changed > 100 && tally.launches > 100, "{tally:?}");
    assert!(tally.groups > 200 && tally.erased > 300, "{tally:?}");
}

/// Many programs, for when there is time: `cargo test -p phalanx-fuzz --test transforms -- --ignored`.
#[test]
#[ignore = "takes a minute"]
fn many_programs() {
    let from = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1_000_000);
    let tally = campaign(from..from + 3000, 13);
    println!("{tally:?}");
}

#[test]
fn larger_programs() {
    let tally = campaign(1000..1060, 24);
    assert!(tally.changed > 30 && tally.launches > 10, "{tally:?}");
}
