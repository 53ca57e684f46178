//! Checks stable loads against execution, on random programs.

use phalanx_analysis::stable::Omitted;
use phalanx_fuzz::{
    loads::random_text,
    stable::{StableTally, check, check_random},
};
use phalanx_testing::{files, llvm_tools::workspace_root};

#[test]
fn random_programs() {
    let mut tally = StableTally::default();
    for seed in 0..400 {
        let found = check_random(seed, None);
        assert_eq!(found.wrong, Vec::<String>::new(), "seed {seed}\n{}", random_text(seed));
        tally.merge(found);
    }
    // The test must have checked enough.
    assert!(tally.claims.iter().all(|&claims| claims > 100), "{tally:?}");
    assert!(tally.loads > tally.claims.iter().sum::<u64>() + 100, "{tally:?}");
    assert!(tally.clean > 50, "{tally:?}");
}

/// A negative control for each rule: a program refutes the answer without that rule.
#[test]
fn without_a_rule_execution_finds_the_answer_wrong() {
    for (omitted, name) in [
        (Omitted::Acquires, "acquire"),
        (Omitted::Others, "acquire"),
        (Omitted::Relaxed, "fence"),
        (Omitted::Entry, "callee"),
        (Omitted::Spaces, "workgroup"),
    ] {
        let path = workspace_root().join(format!("test-suite/controls/stable_{name}.ll"));
        let text = files::text(&path);
        let wrong = |seed, omitted| check(&text, seed, 1, omitted).expect("well-formed").wrong;
        assert!((0..50).any(|seed| !wrong(seed, Some(omitted)).is_empty()), "{omitted:?}");
        assert!((0..50).all(|seed| wrong(seed, None).is_empty()), "{omitted:?}");
    }
}
