//! Claims of uniformity held against execution, on random programs and on those that once refuted one.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::fs;

use phalanx_analysis::{divergence::Omitted, lower::OmittedRead};
use phalanx_fuzz::oracle::{
    Effort, Tally, Without, check, check_random, check_without, random_program, runnable,
};
use phalanx_testing::llvm_tools::{require, workspace_root};

#[test]
fn random_programs() {
    let mut tally = Tally::default();
    for seed in 0..300 {
        let (found, small) = check_random(seed, Effort::default());
        assert!(
            found.unsound.is_empty(),
            "seed {seed}: {}\n{}",
            found.unsound.join("\n"),
            small.unwrap_or_default()
        );
        tally.merge(found);
    }
    // A check that looks at nothing finds nothing.
    assert!(tally.claims > 10_000 && tally.observed > 1_000, "{tally}");
    assert!(tally.irreducible > 20, "{tally}");
}

/// Programs that refuted a claim, made small.
#[test]
fn programs_that_once_refuted_a_claim() {
    let folder = workspace_root().join("test-suite/regressions");
    let Ok(entries) = fs::read_dir(&folder) else { return };
    for entry in entries.flatten() {
        let text = fs::read_to_string(entry.path()).expect("a kept program is readable");
        for seed in 0..20 {
            let tally =
                check(&text, "f", seed, Effort::default()).expect("a kept program is well-formed");
            assert_eq!(tally.unsound, Vec::<String>::new(), "{}", entry.path().display());
        }
    }
}

/// The first seed from which on a random program shows that an answer is wrong that was found without a rule.
fn first_refutation(without: Without, seeds: std::ops::Range<u64>) -> Option<u64> {
    seeds.into_iter().find(|&seed| {
        let (program, kind) = random_program(seed);
        let text = runnable(&program, kind, seed);
        let tally = check_without(&text, "f", seed, Effort::default(), without);
        !tally.expect("a generated program is well-formed").unsound.is_empty()
    })
}

/// A check that cannot fail is no check.
#[test]
fn without_a_rule_the_oracle_finds_the_answer_wrong() {
    for omitted in [
        Omitted::Join,
        Omitted::JoinBack,
        Omitted::Exit,
        Omitted::ExitsFrom,
        Omitted::Reach,
        Omitted::ReadOnExit,
        Omitted::Assume,
        Omitted::Split,
        Omitted::ReadApart,
        Omitted::LiveOut,
    ] {
        let found = first_refutation(Without::Rule(omitted), 0..30_000);
        assert!(found.is_some(), "no program shows that {omitted:?} is needed");
    }
    // Few programs do.
    let found = first_refutation(Without::Rule(Omitted::Onward), 85_000..100_000);
    assert!(found.is_some(), "no program shows that what follows a divergent exit is needed");
    for omitted in [OmittedRead::OldContent, OmittedRead::Place, OmittedRead::OtherWays] {
        let found = first_refutation(Without::Read(omitted), 0..30_000);
        assert!(found.is_some(), "no program shows that {omitted:?} is needed");
    }
}

#[test]
fn programs_are_well_formed_for_llvm() {
    let Some(opt) = require("opt") else { return };
    for seed in 0..40 {
        let (program, kind) = random_program(seed);
        let text = runnable(&program, kind, seed);
        let outcome = opt.run(["-passes=verify", "-disable-output", "-"], text.as_bytes()).unwrap();
        assert!(outcome.success(), "seed {seed}: {}\n{text}", outcome.summary());
    }
}
