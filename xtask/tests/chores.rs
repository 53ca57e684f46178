//! The chores are there. A program that is built for this test is built from what other tests need
//! as well, with the same features of all libraries: `.ci/run` starts it so.

use phalanx_testing::llvm_tools::Program;

#[test]
fn chores_are_listed() {
    let output = Program::new(env!("CARGO_BIN_EXE_xtask")).run(["--help"], &[]).expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    for chore in ["tidy", "ci", "conformance", "docs", "fuzz", "oracle", "edits", "precision"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(chore)), "{text}");
    }
}
