//! The precise rules: sound by the reference semantics, equal to their slow twin where that is exact, and
//! never coarser than LLVM's rules with all faults repaired.

mod support;

use phalanx_analysis::divergence::{Divergence, LlvmFixes, Rules, UserKind, solve, twin};
use phalanx_testing::abstract_oracle::{Effort, Observed, hierarchies, observe};
use phalanx_testing::abstract_program::Operation;
use phalanx_testing::generate::{Options, Shape, program};
use phalanx_testing::llvm_tools;
use support::Case;

/// A program as text, for reports.
fn show(seed: u64, case: &Case) -> String {
    format!("seed {seed}\n{}", case.program.to_llvm("f"))
}

/// What diverges, in the numbers of the program.
fn divergent(case: &Case, result: &Divergence) -> (Vec<u32>, Vec<u32>) {
    let values = case.table.values().filter(|v| !result.value(*v).is_empty());
    let blocks = case.cfg.nodes().filter(|b| !result.terminator(*b).is_empty());
    (values.map(|v| v.raw()).collect(), blocks.map(|b| b.raw()).collect())
}

/// Values that are claimed uniform and were seen to diverge.
fn refuted(case: &Case, result: &Divergence, observed: &Observed) -> Vec<String> {
    let mut refuted = Vec::new();
    for value in case.table.values() {
        if result.value(value).is_empty() && observed.values.contains(value.index()) {
            refuted.push(format!("%v{}", value.raw()));
        }
    }
    for block in case.cfg.nodes() {
        if result.terminator(block).is_empty() && observed.terminators.contains(block.index()) {
            refuted.push(format!("terminator of b{block}"));
        }
    }
    refuted
}

#[test]
fn fast_is_slow_on_reducible_programs() {
    let mut compared = 0;
    for seed in 0..4000 {
        let blocks = if seed % 8 == 0 { 40 } else { 12 };
        let case = Case::new(program(seed, Options { blocks, ..Options::default() }));
        let fast = solve(case.flow(), &case.table, Rules::Precise);
        let slow = twin::solve(case.flow(), &case.table);
        let (fast, slow) = (divergent(&case, &fast), divergent(&case, &slow));
        if case.cycles.all_reducible() {
            compared += 1;
            assert_eq!(fast, slow, "{}", show(seed, &case));
        }
    }
    assert!(compared > 1000);
}
