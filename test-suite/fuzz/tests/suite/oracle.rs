//! Checks claims of uniformity against execution, on random programs and on programs that once
//! refuted a claim.

use std::fs;

use phalanx_analysis::lower::{OmittedPart, OmittedRead};
use phalanx_core::divergence::Omitted;
use phalanx_fuzz::oracle::{
    Effort, Tally, Without, Wrong, check, check_as_if_uniform, check_calls, check_random,
    check_scope_without, check_without, random_program, runnable, runnable_alone,
};
use phalanx_fuzz::programs;
use phalanx_target::{Scope, SourceSet};
use phalanx_testing::{
    files,
    llvm_tools::{require, workspace_root},
};

#[test]
fn random_programs() {
    let mut tally = Tally::default();
    for seed in 0..programs(120, 300) {
        let (found, small) = check_random(seed, Effort::default());
        assert!(
            found.unsound.is_empty(),
            "seed {seed}: {}\n{}",
            found.unsound.join("\n"),
            small.unwrap_or_default()
        );
        tally.merge(found);
    }
    // The test must have checked enough.
    assert!(tally.claims > 4_000 && tally.observed > 400, "{tally}");
    assert!(tally.irreducible > 8 && tally.of_quads > 100, "{tally}");
}

/// Reduced programs that refuted a claim.
#[test]
fn programs_that_once_refuted_a_claim() {
    let folder = workspace_root().join("test-suite/regressions");
    let Ok(entries) = fs::read_dir(&folder) else { return };
    for entry in entries.flatten() {
        let text = files::text(entry.path());
        for seed in 0..20 {
            let tally =
                check(&text, "f", seed, Effort::default()).expect("a kept program is well-formed");
            assert_eq!(tally.unsound, Vec::<String>::new(), "{}", entry.path().display());
        }
    }
}

/// Whether a program of the folder of controls shows that an answer is wrong.
fn is_refuted(name: &str, check: impl Fn(&str, u64) -> Option<Tally>) -> bool {
    let path = workspace_root().join(format!("test-suite/controls/{name}.ll"));
    let text = files::text(&path);
    (0..100).any(|seed| {
        let tally = check(&text, seed).expect("a control is well-formed");
        !tally.unsound.is_empty()
    })
}

/// A negative control for each rule: a program refutes the answer without that rule. For
/// [`Omitted::ReadApart`] no such program is known: since branches in assumed-divergent regions
/// draw their consequences, these may imply the rule.
#[test]
fn without_a_rule_the_oracle_finds_the_answer_wrong() {
    for omitted in [
        Omitted::Join,
        Omitted::JoinBack,
        Omitted::Exit,
        Omitted::ExitsFrom,
        Omitted::Onward,
        Omitted::Reach,
        Omitted::ReadOnExit,
        Omitted::Assume,
        Omitted::Split,
        Omitted::LiveOut,
    ] {
        let name = format!("{omitted:?}").to_lowercase();
        let without = |text: &str, seed| {
            check_without(text, "f", seed, Effort::default(), Without::Rule(omitted))
        };
        assert!(is_refuted(&name, without), "{name} does not show that the rule is needed");
        let whole = |text: &str, seed| check(text, "f", seed, Effort::default());
        assert!(!is_refuted(&name, whole), "{name} refutes the whole analysis");
    }
}

#[test]
fn without_a_part_of_shapes_the_oracle_finds_the_answer_wrong() {
    for omitted in [OmittedPart::Indices, OmittedPart::Atoms, OmittedPart::Poison] {
        let name = format!("shapes_{omitted:?}").to_lowercase();
        let without = |text: &str, seed| {
            check_without(text, "f", seed, Effort::default(), Without::Part(omitted))
        };
        assert!(is_refuted(&name, without), "{name} does not show that it is needed");
        let whole = |text: &str, seed| check(text, "f", seed, Effort::default());
        assert!(!is_refuted(&name, whole), "{name} refutes the whole analysis");
    }
}

#[test]
fn without_what_loads_depend_on_the_oracle_finds_the_answer_wrong() {
    // Such programs are rare: each search begins a little before one that is known.
    let searches =
        [(OmittedRead::OldContent, 4700), (OmittedRead::Place, 1690), (OmittedRead::OtherWays, 0)];
    for (omitted, first) in searches {
        let found = (first..30_000).find(|&seed| {
            let (program, kind) = random_program(seed);
            let text = runnable_alone(&program, kind, seed);
            let effort = Effort::default();
            let tally = check_without(&text, "f", seed, effort, Without::Read(omitted));
            !tally.expect("a generated program is well-formed").unsound.is_empty()
        });
        assert!(found.is_some(), "no program shows that {omitted:?} is needed");
    }
}

#[test]
fn with_wrong_facts_about_calls_the_oracle_finds_the_answer_wrong() {
    for wrong in [
        Wrong::Sources,
        Wrong::Arguments,
        Wrong::Collapse,
        Wrong::Parting,
        Wrong::Members,
        Wrong::Passed,
        Wrong::Launches,
        Wrong::Left,
        Wrong::Content,
        Wrong::Loaded,
    ] {
        let name = format!("calls_{wrong:?}").to_lowercase();
        let wrongly = |text: &str, seed| check_calls(text, "f", seed, Effort::default(), wrong);
        assert!(is_refuted(&name, wrongly), "{name} does not show that it is wrong");
        let right = |text: &str, seed| check(text, "f", seed, Effort::default());
        assert!(!is_refuted(&name, right), "{name} refutes the whole analysis");
    }
}

#[test]
fn in_a_wrong_scope_the_oracle_finds_the_answer_wrong() {
    let of_rank = SourceSet::CLUSTER | SourceSet::OPAQUE_GROUP;
    for (name, scope, omitted) in [
        ("cluster_rank", Scope::Cluster, of_rank),
        ("cluster_block", Scope::Cluster, SourceSet::BLOCK_X),
        ("quad_lane", Scope::Quad, SourceSet::LANE),
        ("quad_row", Scope::Quad, SourceSet::Y),
    ] {
        let without = |text: &str, seed| {
            check_scope_without(text, "f", seed, Effort::default(), (scope, omitted))
        };
        assert!(is_refuted(name, without), "{name} does not show that {omitted} varies");
        let whole = |text: &str, seed| check(text, "f", seed, Effort::default());
        assert!(!is_refuted(name, whole), "{name} refutes the whole analysis");
    }
}

#[test]
fn with_workgroups_of_one_size_the_oracle_finds_the_answer_wrong() {
    let name = "launches_partial";
    let uniform = |text: &str, seed| check_as_if_uniform(text, "f", seed, Effort::default());
    assert!(is_refuted(name, uniform), "{name} does not show that rows can be shorter");
    let whole = |text: &str, seed| check(text, "f", seed, Effort::default());
    assert!(!is_refuted(name, whole), "{name} refutes the whole analysis");
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
