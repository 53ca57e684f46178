//! The program starts, and says what it does not understand. What it answers is tested in `test-suite`, which builds it as this test does, with the same
//! features of all libraries, and so needs no other build than that of the tests.

#![allow(clippy::disallowed_methods, reason = "a test starts the program")]

use std::process::{Command, Output};

fn phalanx(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_phalanx")).args(args).output().expect("it starts")
}

#[test]
fn commands_are_listed() {
    let output = phalanx(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    for command in ["analyze", "explain", "check", "opt", "graph", "run"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(command)), "{text}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    let output = phalanx(&["analyze", "nowhere.ll"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("error: cannot open nowhere.ll"), "{text}");
}
