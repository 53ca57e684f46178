//! Motions of convergent operations on random programs: whoever was together stays together.

use phalanx::transform::Registry;
use phalanx_fuzz::motions::{PIPELINES, Tally, check, voting};
use rand::{SeedableRng as _, rngs::SmallRng};

/// Random programs through one pipeline.
fn campaign(pipeline: (&str, bool), seeds: std::ops::Range<u64>, blocks: usize) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let text = voting(&mut SmallRng::seed_from_u64(seed), blocks);
        let tally = check(&Registry::standard(), &text, pipeline, seed, 2);
        all.merge(tally.unwrap_or_else(|error| panic!("{error}")));
    }
    println!("{}: {all:?}", pipeline.0);
    all
}

#[test]
fn pipelines() {
    for &pipeline in PIPELINES {
        let tally = campaign(pipeline, 0..150, 12);
        assert!(tally.changed > 10 && tally.launches > 30 && tally.groups > 100, "{tally:?}");
    }
}
