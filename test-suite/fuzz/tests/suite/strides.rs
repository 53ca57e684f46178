//! Memory accesses of a wave, in kernels that are edited.

use phalanx_fuzz::strides::{Tally, edited};
use rand::{SeedableRng as _, rngs::SmallRng};

fn campaign(seeds: std::ops::Range<u64>, size: usize, rounds: usize) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        all.merge(edited(&mut SmallRng::seed_from_u64(seed), size, rounds));
    }
    all
}

#[test]
fn accesses_follow_edits() {
    let all = campaign(0..40, 330, 60);
    println!("{all:?}");
    let found = all.accesses;
    assert!(all.committed > 1000 && all.other > 300, "{all:?}");
    assert!(found.kept > 500 && found.repaired > 200 && found.solved > 100, "{all:?}");
}

/// Kernels, as many as the environment says: `PHALANX_STRIDES=10000`.
#[test]
fn many_kernels() {
    let count = std::env::var("PHALANX_STRIDES").ok().and_then(|text| text.parse().ok());
    let Some(count) = count.filter(|&count: &u64| count > 0) else { return };
    let found = campaign(1_000_000..1_000_000 + count, 300, 60).accesses;
    println!("{found:?}");
    assert!(found.kept > count && found.repaired > count / 2, "{found:?}");
}
