//! The program starts, and says what it does not understand. What it answers is tested in `test-suite`, which builds it as this test does, with the same
//! features of all libraries, and so needs no other build than that of the tests.

use phalanx_testing::llvm_tools::{Outcome, Program};

fn phalanx(args: &[&str]) -> Outcome {
    Program::new(env!("CARGO_BIN_EXE_phalanx")).run(args, &[]).expect("it starts")
}

#[test]
fn commands_are_listed() {
    let output = phalanx(&["--help"]);
    assert_eq!(output.status, Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    for command in ["analyze", "explain", "check", "opt", "graph", "run"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(command)), "{text}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    let output = phalanx(&["analyze", "nowhere.ll"]);
    assert_eq!(output.status, Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("error: cannot open nowhere.ll"), "{text}");
}
