//! Tests that the program starts, and its messages about a wrong command line. `test-suite` tests
//! its output; it builds the program as this test does, with the same features of all libraries, so
//! no further build is needed.

use phalanx_testing::llvm_tools::{Outcome, Program};

const COMMANDS: [&str; 9] =
    ["analyze", "explain", "check", "opt", "graph", "report", "run", "completions", "man"];

fn phalanx(args: &[&str]) -> Outcome {
    Program::new(env!("CARGO_BIN_EXE_phalanx")).run(args, &[]).expect("it starts")
}

#[test]
fn commands_are_listed() {
    let output = phalanx(&["--help"]);
    assert_eq!(output.status, Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    for command in COMMANDS {
        assert!(text.lines().any(|line| line.trim_start().starts_with(command)), "{text}");
    }
}

/// If help cannot be written, the program reports that.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "its standard output is a file")]
fn help_that_cannot_be_written() {
    for args in [&["--help"][..], &["--version"], &["check", "--help"], &["help", "opt"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("linux has it");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_phalanx"))
            .args(args)
            .stdout(full)
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), text.starts_with("error: ")), (Some(2), true), "{text}");
    }
}

/// If other requested output cannot be written, that is an error.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "its standard error is a file")]
fn what_is_told_of_passes_cannot_be_written() {
    use std::io::Write as _;
    let code = |option: &str| {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("linux has it");
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_phalanx"))
            .args(["opt", "-passes=dce", option])
            .stdin(std::process::Stdio::piped())
            .stderr(full)
            .spawn()
            .expect("it starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin
            .write_all(b"define void @f(i32 %n) {\n  %m = add i32 %n, 1\n  ret void\n}\n")
            .expect("it reads");
        drop(stdin);
        child.wait().expect("it ends").code()
    };
    assert_eq!(code("-disable-output"), Some(0), "there is nothing to tell");
    for option in ["-stats", "-time-passes", "-print-changed"] {
        assert_eq!(code(option), Some(2), "{option}");
    }
}

/// The help of every command states its exit statuses, and shows examples.
#[test]
fn exit_statuses_are_stated() {
    for command in COMMANDS {
        let output = phalanx(&[command, "--help"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("\nExit status: 0 "), "{command}: {text}");
        assert!(text.contains("\nExamples:\n  phalanx "), "{command}: {text}");
    }
}

/// How each command treats a module that breaks a rule.
#[test]
fn a_module_that_breaks_a_rule() {
    let broken = b"define i32 @f() {\n  br label %a\na:\n  %x = add i32 %x, 1\n  ret i32 %x\n}\n";
    let program = Program::new(env!("CARGO_BIN_EXE_phalanx"));
    for (args, status) in [
        (&["analyze", "-"][..], 2),
        (&["check", "-"], 2),
        (&["graph", "-"], 2),
        (&["explain", "-", "@f", "%x"], 2),
        (&["run", "-", "@f"], 2),
        (&["opt", "-S"], 1),
    ] {
        let output = program.run(args, broken).expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status, Some(status), "{args:?}: {text}");
        assert!(text.starts_with("<stdin>:4:3: error: "), "{args:?}: {text}");
    }
}

/// The size of workgroups has one name in all commands.
#[test]
fn the_size_of_workgroups() {
    let kernel = b"define ptx_kernel void @f() { ret void }";
    let program = Program::new(env!("CARGO_BIN_EXE_phalanx"));
    for command in [
        &["analyze", "-"][..],
        &["check", "-"],
        &["explain", "-", "@f", "--block", "0"],
        &["run", "-", "@f"],
    ] {
        let args = [command, &["--mtriple", "nvptx64", "--group", "32x8"]].concat();
        let output = program.run(&args, kernel).expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status, Some(0), "{args:?}: {text}");
    }
}

/// The old option name still works where it existed, with a note.
#[test]
fn the_old_name_of_the_size_of_workgroups() {
    let kernel = b"define ptx_kernel void @f() { ret void }";
    let program = Program::new(env!("CARGO_BIN_EXE_phalanx"));
    for command in [&["analyze", "-"][..], &["run", "-", "@f"]] {
        let args = [command, &["--mtriple", "nvptx64", "--block", "32x8"]].concat();
        let output = program.run(&args, kernel).expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status, Some(0), "{args:?}: {text}");
        assert!(text.contains("warning: --block is now --group"), "{args:?}: {text}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    let output = phalanx(&["analyze", "nowhere.ll"]);
    assert_eq!(output.status, Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("error: cannot open nowhere.ll"), "{text}");
}

/// Checks that the command is refused with this message.
#[track_caller]
fn refused(args: &[&str], words: &str) {
    let output = phalanx(args);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status, Some(2), "{text}");
    assert!(text.contains(words), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn standard_input_is_read_once() {
    let words = "standard input (`-`) can be read only once";
    refused(&["analyze", "-", "-"], words);
    refused(&["check", "-", "-"], words);
    refused(&["check", "--against", "-", "-"], words);
}

#[test]
fn watching_tells_people_only() {
    refused(&["check", "--watch", "--format", "json", "a.ll"], "--format json");
    refused(&["check", "--watch", "--format", "sarif", "a.ll"], "--format sarif");
    refused(&["check", "--watch", "--write-baseline", "b", "a.ll"], "cannot be used with");
}

#[test]
fn a_watched_file_that_is_not_there() {
    let output = phalanx(&["check", "--watch", "--watch-rounds", "1", "nowhere.ll"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("UTC, check 1: nowhere.ll\n\nerror: cannot open nowhere.ll"), "{text}");
    assert!(text.ends_with("; waiting for it to change\n"), "{text}");
}

/// Without arguments it says what to try first, and that this was no command.
#[test]
fn nothing_to_do() {
    let output = phalanx(&[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status, Some(2));
    for command in ["phalanx check kernel.cu ", "phalanx report ", "`phalanx --help`"] {
        assert!(text.contains(command), "{text}");
    }
}

/// Bash loads the completions, and completes commands and options by them.
#[test]
fn completions_of_bash() {
    let script = phalanx(&["completions", "bash"]);
    assert_eq!(script.status, Some(0));
    let complete = "\nCOMP_WORDS=(phalanx ch); COMP_CWORD=1; _phalanx phalanx ch phalanx\n\
        echo \"${COMPREPLY[@]}\"\n\
        COMP_WORDS=(phalanx check --wat); COMP_CWORD=2; _phalanx phalanx --wat check\n\
        echo \"${COMPREPLY[@]}\"\n";
    let text = format!("{}{complete}", String::from_utf8_lossy(&script.stdout));
    let bash = Program::new("/bin/bash").named("bash");
    let Ok(output) = bash.run(["--norc", "-s"], text.as_bytes()) else { return };
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(shown, "check\n--watch --watch-rounds\n", "{}", output.summary());
}

/// There is a manual page for each command, and groff reports no error in it.
#[test]
#[expect(clippy::disallowed_methods, reason = "pages are written to a folder")]
fn manual_pages() {
    let folder = std::env::temp_dir().join(format!("phalanx-man-{}", std::process::id()));
    let output = phalanx(&["man", &folder.to_string_lossy()]);
    assert_eq!(output.status, Some(0), "{}", output.summary());
    for name in ["phalanx", "phalanx-check", "phalanx-report", "phalanx-run"] {
        let path = folder.join(format!("{name}.1"));
        let page = std::fs::read_to_string(&path).expect("the page");
        assert!(page.contains(".SH") && page.contains("Exit status"), "{page}");
        let groff = Program::new("/usr/bin/groff").named("groff");
        let path = path.to_string_lossy().into_owned();
        let Ok(output) = groff.run(["-man", "-Tutf8", "-ww", &*path], &[]) else { continue };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
        // Lines are justified by more spaces.
        let shown = String::from_utf8_lossy(&output.stdout);
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("{name} - ")), "{shown}");
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn more_threads_than_can_be() {
    refused(&["-j", "99999999", "analyze", "a.ll"], "1024");
}

#[test]
fn of_what_could_not_be_checked_nothing_is_said() {
    refused(&["check", "nowhere.ll"], "cannot open nowhere.ll");
    let log = phalanx(&["check", "--format", "sarif", "nowhere.ll"]);
    let text = String::from_utf8_lossy(&log.stdout);
    assert!(text.contains(r#""executionSuccessful": false"#), "{text}");
    assert_eq!(log.status, Some(2));
}

#[test]
fn an_argument_of_another_type_than_the_parameter() {
    let kernel = b"define void @f(float %x) { ret void }";
    let program = Program::new(env!("CARGO_BIN_EXE_phalanx"));
    let output = program.run(["run", "-", "@f", "--arg", "i32:1"], kernel).expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status, Some(2));
    assert_eq!(text, "error: in --arg i32:1: parameter 0 of @f is `float %x`, given is an i32\n");
}

/// The text grows with the loops, not with their number times their depth.
#[test]
fn loops_in_loops() {
    const DEPTH: usize = 1000;
    let mut text = "define void @f(i1 %c) {\nentry:\n  br label %h0\n".to_owned();
    for n in 0..DEPTH {
        text += &format!("h{n}:\n  br label %h{}\n", n + 1);
    }
    text += &format!("h{DEPTH}:\n  br label %l{}\n", DEPTH - 1);
    for n in (1..DEPTH).rev() {
        text += &format!("l{n}:\n  br i1 %c, label %h{n}, label %l{}\n", n - 1);
    }
    text += "l0:\n  br i1 %c, label %h0, label %x\nx:\n  ret void\n}\n";
    let program = Program::new(env!("CARGO_BIN_EXE_phalanx"));
    for (args, words) in [
        (&["analyze", "-"][..], ", depth 1000, 3 blocks"),
        (&["graph", "--kind", "cycles", "-"], "depth 1000"),
    ] {
        let output = program.run(args, text.as_bytes()).expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(words));
        assert!(text.len() < 1000 * DEPTH, "{args:?}: {} bytes", text.len());
    }
}
