//! Random programs behave the same with and without convergence control tokens, and claims about
//! them hold.

use phalanx_fuzz::oracle::{self, Effort};
use phalanx_fuzz::tokens::{Tally, check, check_distorted, inferred, random};
use phalanx_fuzz::transforms::{self, PIPELINES};
use phalanx_testing::{
    files,
    llvm_tools::{require, workspace_root},
};
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
    let mut tally = campaign(0..60, 11, false);
    tally.merge(campaign(1000..1010, 24, false));
    println!("{tally:?}");
    assert!(tally.programs > 60 && tally.launches > 60 && tally.groups > 500, "{tally:?}");
    assert!(tally.hearts > 30 && tally.anchors > 30 && tally.different == 0, "{tally:?}");
}

/// Other transforms keep the groups of controlled programs, and the rules of tokens.
#[test]
fn transforms_keep_what_tokens_say() {
    let mut tally = transforms::Tally::default();
    for seed in 0..40 {
        let text = random(&mut SmallRng::seed_from_u64(seed), 11);
        let pipeline = PIPELINES[seed as usize % PIPELINES.len()];
        tally.merge(transforms::check(&inferred(&text), pipeline, seed, 1));
    }
    println!("{tally:?}");
    assert!(tally.changed > 20 && tally.groups > 50, "{tally:?}");
}

/// The examples of `test-suite/semantics`: ballots before and after.
#[test]
fn examples_keep_their_groups() {
    let ballots =
        ["ballot_continue", "ballot_nested", "nested_rounds", "single_break", "merge_point"];
    for name in ballots {
        let path = workspace_root().join(format!("test-suite/semantics/{name}.ll"));
        let text = files::text(path);
        let kernel = "@f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) convergent";
        let text = text.replace(&format!("@{name}()"), kernel);
        let tally = check(&text, 1, 6, false);
        assert!(
            tally.programs == 1 && tally.launches == 6 && tally.groups >= 6,
            "{name}: {tally:?}"
        );
    }
}

/// A negative control: tokens of the wrong loop are detected.
#[test]
fn tokens_of_another_loop_are_found_out() {
    let tally = campaign(0..100, 14, true);
    println!("{tally:?}");
    assert!(tally.programs > 15 && tally.different > 0, "{tally:?}");
}

/// Operations behind a loop that use its token: their results are not uniform behind the region.
#[test]
fn claims_hold_where_tokens_are_used_outside_of_their_cycle() {
    let (mut programs, mut claims) = (0, 0);
    for seed in 0..50 {
        let Some(tally) = check_distorted(seed) else { continue };
        assert_eq!(tally.unsound, Vec::<String>::new(), "seed {seed}");
        programs += 1;
        claims += tally.claims;
    }
    println!("{programs} programs, {claims} claims");
    assert!(programs > 5 && claims > 500, "{programs} programs, {claims} claims");
}

/// A negative control: a program refutes the answer that ignores tokens.
#[test]
fn without_tokens_the_oracle_finds_the_answer_wrong() {
    let path = workspace_root().join("test-suite/controls/tokens.ll");
    let text = files::text(path);
    let is_refuted = |check: &dyn Fn(&str, &str, u64, Effort) -> Option<oracle::Tally>| {
        (0..10).any(|seed| {
            let tally = check(&text, "f", seed, Effort::default());
            !tally.expect("a control is well-formed").unsound.is_empty()
        })
    };
    assert!(is_refuted(&oracle::check_without_tokens), "the rule is not needed");
    assert!(!is_refuted(&oracle::check), "the whole analysis is refuted");
}

#[test]
fn llvm_accepts_inferred_tokens() {
    let Some(assembler) = require("llvm-as") else { return };
    for seed in 0..20 {
        let text = random(&mut SmallRng::seed_from_u64(seed), 14);
        let text = inferred(&text);
        let outcome = assembler.run(["-o", "/dev/null"], text.as_bytes()).expect("llvm-as runs");
        assert!(outcome.success(), "seed {seed}: {}\n{text}", outcome.summary());
    }
}
