//! Runs the installed LLVM 22. Each test file uses a part of this module.
#![allow(dead_code, reason = "a module of several test programs")]

pub(crate) mod records;

use std::io::Write as _;
use std::process::{Command, Stdio};

/// The output of a tool.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) success: bool,
}

/// Runs `tool` on `input`. If it is not installed, says so on standard error and returns `None`.
pub(crate) fn run(tool: &str, arguments: &[&str], input: &str) -> Option<Output> {
    #[expect(clippy::disallowed_methods, reason = "the oracle is a program")]
    let child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let test = std::thread::current();
            let test = test.name().unwrap_or("a check");
            // Not `eprintln!`: the harness shows what tests print that way only when they fail.
            let _ = writeln!(std::io::stderr(), "skipped: {tool} not found ({test})");
            return None;
        }
        Err(error) => panic!("{tool}: {error}"),
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A tool that stops early closes the pipe; its exit status reports the error.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Some(Output {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        success: output.status.success(),
    })
}

/// The lines that `print<uniformity>` prints about a function: whether the line is marked
/// divergent, and the rest of it. `ALL VALUES UNIFORM` is a line of its own.
pub(crate) type Lines = Vec<(bool, String)>;

/// What `print<uniformity>` says about a module, function by function.
pub(crate) fn uniformity(module: &str, processor: &str) -> Option<Vec<(String, Lines)>> {
    let cpu = format!("-mcpu={processor}");
    let mut arguments =
        vec!["-passes=print<uniformity>", "-disable-output", "-disable-verify", "-"];
    if !processor.is_empty() {
        arguments.push(&cpu);
    }
    let output = run("opt-22", &arguments, module)?;
    assert!(output.success, "opt-22 failed: {}\n{module}", output.stderr);
    let mut functions: Vec<(String, Lines)> = Vec::new();
    for line in output.stderr.lines() {
        if let Some(rest) = line.strip_prefix("UniformityInfo for function '") {
            functions.push((rest.trim_end_matches(['\'', ':']).to_owned(), Vec::new()));
        } else if let Some((_, lines)) = functions.last_mut() {
            let divergent = line.starts_with("  DIVERGENT:");
            let text = line.strip_prefix("  DIVERGENT:").unwrap_or(line).trim();
            lines.push((divergent, text.to_owned()));
        }
    }
    Some(functions)
}

/// The verdict on the value called `%name` in the lines of a function; `None` if there is no such
/// line.
pub(crate) fn is_divergent(lines: &[(bool, String)], name: &str) -> Option<bool> {
    if lines.iter().any(|(_, line)| line == "ALL VALUES UNIFORM") {
        return Some(false);
    }
    let definition = format!("%{name} = ");
    lines.iter().find(|(_, line)| line.starts_with(&definition)).map(|(divergent, _)| *divergent)
}
