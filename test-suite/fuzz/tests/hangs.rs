//! A kernel in which nothing is found about barriers does not hang, on random programs; and the check of that can fail.

use phalanx::analysis::check::Rule;
use phalanx_fuzz::hangs::{Ignored, Tally, check_random};

fn tally(seeds: std::ops::Range<u64>, ignored: Ignored) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        tally.merge(check_random(seed, 3, ignored));
    }
    tally
}

#[test]
fn no_finding_no_hang() {
    let tally = tally(0..400, Ignored::Nothing);
    println!("{tally}");
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n\n"));
    // A check that looks at nothing finds nothing.
    assert!(tally.silent > 40 && tally.passed > 40 && tally.exits > 2, "{tally}");
    assert!(tally.found > 40 && tally.hung > 20 && tally.witnesses > 5, "{tally}");
}

/// Each rule is needed: without its findings programs are called right that hang.
#[test]
fn without_a_rule_hangs_are_seen() {
    for rule in [Rule::DivergentBarrier, Rule::BarrierInDivergentLoop] {
        let tally = tally(0..400, Ignored::Of(rule));
        println!("without {}:\n{tally}", rule.slug());
        assert!(!tally.wrong.is_empty(), "{rule:?}\n{tally}");
    }
}
