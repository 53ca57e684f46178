//! Checks claims about loads against execution, on random programs.

use phalanx_analysis::loads::Omitted;
use phalanx_fuzz::loads::{LoadTally, check, check_random, random_text};
use phalanx_testing::{files, llvm_tools::workspace_root};

#[test]
fn random_programs() {
    let mut tally = LoadTally::default();
    for seed in 0..400 {
        let found = check_random(seed, None);
        assert_eq!(found.wrong, Vec::<String>::new(), "seed {seed}\n{}", random_text(seed));
        tally.merge(found);
    }
    // The test must have checked enough.
    assert!(tally.claims.iter().all(|&claims| claims > 500), "{tally:?}");
    // The analysis must also refuse some loads.
    let refused = tally.claims.map(|claims| tally.loads - claims);
    assert!(refused.iter().all(|&refused| refused > 500), "{tally:?}");
    assert!(tally.clean > 50, "{tally:?}");
}

/// A negative control for each rule: a program refutes the answer without that rule.
#[test]
fn without_a_rule_execution_finds_the_answer_wrong() {
    for omitted in [
        Omitted::Clobbers,
        Omitted::Writes,
        Omitted::Calls,
        Omitted::Aliases,
        Omitted::Slots,
        Omitted::Callers,
        Omitted::Spaces,
        Omitted::Alignment,
        Omitted::Entry,
    ] {
        let is_wrong = |seed| !check_random(seed, Some(omitted)).wrong.is_empty();
        assert!((0..3_000).any(is_wrong), "{omitted:?} is not missed");
    }
    for (omitted, name) in [
        (Omitted::Acquires, "acquires"),
        (Omitted::Iterations, "iterations"),
        (Omitted::Uniformity, "uniformity"),
    ] {
        let path = workspace_root().join(format!("test-suite/controls/loads_{name}.ll"));
        let text = files::text(&path);
        let wrong = |seed, omitted| check(&text, seed, 1, omitted).expect("well-formed").wrong;
        assert!((0..50).any(|seed| !wrong(seed, Some(omitted)).is_empty()), "{name}");
        assert!((0..50).all(|seed| wrong(seed, None).is_empty()), "{name}");
    }
}

/// Programs, as many as the environment says: `PHALANX_LOADS=100000`.
#[test]
fn many_random_programs() {
    use rayon::prelude::*;
    let count = std::env::var("PHALANX_LOADS").ok().and_then(|text| text.parse().ok());
    let Some(count) = count.filter(|&count: &u64| count > 0) else { return };
    let tally = (1_000_000..1_000_000 + count)
        .into_par_iter()
        .map(|seed| {
            let found = check_random(seed, None);
            assert_eq!(found.wrong, Vec::<String>::new(), "seed {seed}\n{}", random_text(seed));
            found
        })
        .reduce(LoadTally::default, |mut all, part| {
            all.merge(part);
            all
        });
    println!("{tally:?}");
}
