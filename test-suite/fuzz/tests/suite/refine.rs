//! Every pass and every pair of passes refines random programs with `undef`, poison and freezes;
//! and negative controls of that law.

use phalanx_fuzz::refine::{Law, Tally, broken::Mistake};

#[test]
fn every_pass_and_every_pair_refines() {
    let law = Law::standard(3);
    let mut all = Tally::default();
    for seed in 0..8 {
        let (tally, findings) = law.run(seed);
        all.merge(tally);
        assert!(findings.is_empty(), "seed {seed}, {}", findings[0]);
    }
    println!("{all}");
    assert!(all.pipelines > 8 * 400 && all.results > 200 && all.launches > 600, "{all}");
    assert!(all.open > 500 && all.undefined < 4, "{all}");
}

/// A negative control.
#[test]
fn wrong_passes_are_found_out() {
    for &mistake in Mistake::ALL {
        let law = Law::of(&mistake.registry(), &[mistake.name()], 3);
        let found = (0..60).filter(|&seed| !law.run(seed).1.is_empty()).count();
        println!("{mistake:?}: {found} of 60");
        assert!(found >= 2, "{mistake:?}: {found} of 60");
    }
}
