//! What `phalanx analyze` tells people about a few kernels. `UPDATE_EXPECT=1` accepts changes.

use expect_test::{Expect, expect};

/// The report on a file of `ll/`.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(file: &str, options: &[&str], expected: Expect) {
    let folder = phalanx_test_suite::folder().join("ll");
    let arguments = ["analyze"].iter().chain(options).copied().chain([file]);
    let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
    let outcome = crate::phalanx().run_in(Some(&folder), arguments, &[], limit).expect("it starts");
    assert!(outcome.success(), "{}", outcome.summary());
    expected.assert_eq(&String::from_utf8_lossy(&outcome.stdout));
}

#[test]
fn an_early_exit() {
    check("early_exit.ll", &[], expect![[""]]);
}

#[test]
fn a_counter_that_diverges_after_its_loop() {
    check("temporal_divergence.ll", &["--function", "divergent_exit"], expect![[""]]);
}

#[test]
fn an_irreducible_cycle_entered_on_both_sides() {
    check("irreducible_entry.ll", &["--print", "branches,cycles"], expect![[""]]);
}

#[test]
fn registers_that_are_the_same_for_a_block_differ_in_the_grid() {
    check("nvptx_registers.ll", &["--scope", "grid", "--print", "summary,values"], expect![[""]]);
    check("nvptx_registers.ll", &["--print", "summary,values"], expect![[""]]);
}

#[test]
fn a_tree_reduction() {
    check("reduce.amdgcn.ll", &["--print", "summary,branches,cycles,uses"], expect![[""]]);
}
