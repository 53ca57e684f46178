//! Random programs run alike with and without convergence control tokens, and claims about them hold.

use phalanx_fuzz::tokens::{Tally, check, check_distorted, inferred, random};
use phalanx_testing::llvm_tools::require;
use rand::{SeedableRng as _, rngs::SmallRng};

fn campaign(seeds: std::ops::Range<u64>, blocks: usize, distort: bool) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let text = random(&mut SmallRng::seed_from_u64(seed), blocks);
        all.merge(check(&text, seed, 3, distort));
    }
    all
}

#[test]
fn inferred_tokens_keep_all_groups() {
    let mut tally = campaign(0..120, 11, false);
    tally.merge(campaign(1000..1040, 24, false));
    println!("{tally:?}");
    assert!(tally.programs > 100 && tally.launches > 150 && tally.groups > 2000, "{tally:?}");
    assert!(tally.hearts > 50 && tally.anchors > 50 && tally.different == 0, "{tally:?}");
}

/// A check that cannot fail is no check: tokens of the wrong loop are seen.
#[test]
fn tokens_of_another_loop_are_found_out() {
    let tally = campaign(0..150, 14, true);
    println!("{tally:?}");
    assert!(tally.programs > 5 && tally.different > 5, "{tally:?}");
}

/// Operations behind a loop with its token: what they give is not uniform behind the region.
#[test]
fn claims_hold_where_tokens_are_used_outside_of_their_cycle() {
    let (mut programs, mut claims) = (0, 0);
    for seed in 0..150 {
        let Some(tally) = check_distorted(seed, false) else { continue };
        assert_eq!(tally.unsound, Vec::<String>::new(), "seed {seed}");
        programs += 1;
        claims += tally.claims;
    }
    println!("{programs} programs, {claims} claims");
    assert!(programs > 10 && claims > 500, "{programs} programs, {claims} claims");
    let is_refuted = |seed| check_distorted(seed, true).is_some_and(|t| !t.unsound.is_empty());
    let refuted = (0..150).filter(|&seed| is_refuted(seed)).count();
    println!("without a look at tokens {refuted} are refuted");
    assert!(refuted > 0, "nothing shows that the rule is needed");
}

#[test]
fn llvm_accepts_inferred_tokens() {
    let Some(assembler) = require("llvm-as") else { return };
    for seed in 0..40 {
        let text = random(&mut SmallRng::seed_from_u64(seed), 14);
        let text = inferred(&text);
        let outcome = assembler.run(["-o", "/dev/null"], text.as_bytes()).expect("llvm-as runs");
        assert!(outcome.success(), "seed {seed}: {}\n{text}", outcome.summary());
    }
}
