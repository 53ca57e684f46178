//! Random programs run alike with and without convergence control tokens, and claims about them hold.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use phalanx_fuzz::tokens::{Tally, check, check_distorted, inferred, random};
use phalanx_testing::llvm_tools::{require, workspace_root};
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
    assert!(tally.programs > 100 && tally.launches > 150 && tally.groups > 1500, "{tally:?}");
    assert!(tally.hearts > 50 && tally.anchors > 50 && tally.different == 0, "{tally:?}");
}

/// The examples of `test-suite/semantics`: ballots before and after.
#[test]
fn examples_keep_their_groups() {
    let ballots =
        ["ballot_continue", "ballot_nested", "nested_rounds", "single_break", "merge_point"];
    for name in ballots {
        let path = workspace_root().join(format!("test-suite/semantics/{name}.ll"));
        let text = std::fs::read_to_string(path).expect("the example is there");
        let kernel = "@f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) convergent";
        let text = text.replace(&format!("@{name}()"), kernel);
        let tally = check(&text, 1, 6, false);
        assert!(
            tally.programs == 1 && tally.launches == 6 && tally.groups >= 6,
            "{name}: {tally:?}"
        );
    }
}

/// A check that cannot fail is no check: tokens of the wrong loop are seen.
#[test]
fn tokens_of_another_loop_are_found_out() {
    let tally = campaign(0..150, 14, true);
    println!("{tally:?}");
    assert!(tally.programs > 20 && tally.different >= 2, "{tally:?}");
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
