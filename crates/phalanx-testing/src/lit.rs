//! Runs LLVM's tests as `lit` does, with another program in place of `opt`.
//!
//! The commands of a test stand in its comments:
//!
//! ```text
//! ; RUN: opt < %s -passes='print<cycles>' \
//! ; RUN:   -disable-output 2>&1 | FileCheck %s
//! ```
//!
//! A line that ends with a backslash continues in the next `RUN:` line. `%s` is the test file, `%S`
//! its folder, `%t` a path of its own that does not exist, `%T` a folder, `%%` a per cent sign.
//! `%if feature %{ ... %}` is left out, since no features are offered. A shell with `pipefail` runs
//! the commands, in an empty folder. A folder in front of the search path maps the names in the
//! commands (`opt`, `FileCheck`, `not`) to the chosen programs. All lines must succeed.
//!
//! LLVM's main branch spells AMD's triples `amdgpu9.00-amd-amdhsa`; LLVM 22 knows only
//! `amdgcn-amd-amdhsa`. [`known_triples`] translates them.
#![allow(clippy::disallowed_methods, reason = "tests read files and start programs")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;

use crate::llvm_tools::{self, Outcome, Program};

/// One command line of a test, before substitutions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunLine {
    /// The line of the file in which it starts, from 1.
    pub line: usize,
    /// The command.
    pub command: String,
}

/// The command lines in the comments of a test.
#[must_use]
pub fn run_lines(source: &str) -> Vec<RunLine> {
    let mut out: Vec<RunLine> = Vec::new();
    let mut open = false;
    for (number, line) in source.lines().enumerate() {
        // `RUN:` must not be the end of a longer word: `; RUN:`, `// RUN:`.
        let Some(at) = line.find("RUN:") else { continue };
        if line[..at]
            .bytes()
            .next_back()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        {
            continue;
        }
        let text = line[at + "RUN:".len()..].trim();
        let (text, continues) = match text.strip_suffix('\\') {
            Some(start) => (start.trim_end(), true),
            None => (text, false),
        };
        match out.last_mut().filter(|_| open) {
            Some(last) => {
                last.command.push(' ');
                last.command.push_str(text);
            }
            None => out.push(RunLine { line: number + 1, command: text.to_owned() }),
        }
        open = continues;
    }
    out
}

/// The command without its conditional parts: no feature is offered, so `%else` parts stay.
fn without_conditions(command: &str) -> String {
    let mut out = String::new();
    let mut rest = command;
    while let Some(at) = rest.find("%if ") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(after) = braced(rest).map(|(_, after)| after) else { break };
        rest = after;
        if rest.trim_start().starts_with("%else") {
            let Some((inner, after)) = braced(rest) else { break };
            out.push_str(inner);
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The text in the next `%{ %}`, which may contain further ones, and the rest of the text.
fn braced(text: &str) -> Option<(&str, &str)> {
    let start = text.find("%{")? + 2;
    let mut depth = 1;
    let mut at = start;
    while depth > 0 {
        let next = at + text[at..].find(['%'])?;
        match text.as_bytes().get(next + 1) {
            Some(b'{') => depth += 1,
            Some(b'}') => depth -= 1,
            _ => {}
        }
        at = next + 1;
    }
    Some((&text[start..at - 1], &text[at + 1..]))
}

/// The command with triples that LLVM 22 knows: `amdgpu7.00-x-y` is `amdgcn-x-y`.
#[must_use]
pub fn known_triples(command: &str) -> String {
    let mut out = String::new();
    let mut rest = command;
    while let Some(at) = rest.find("amdgpu") {
        let starts_word = at == 0 || matches!(rest.as_bytes()[at - 1], b' ' | b'=' | b'"' | b'\'');
        let after = &rest[at + "amdgpu".len()..];
        let version = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
        let triple = after[version..].starts_with('-');
        out.push_str(&rest[..at]);
        if starts_word && triple {
            out.push_str("amdgcn");
            rest = &after[version..];
        } else {
            out.push_str("amdgpu");
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The passes of the last `-passes=` of a command, with quotes removed; `None` if it has none.
#[must_use]
pub fn passes(command: &str) -> Option<String> {
    let after = &command[command.rfind("-passes")? + "-passes".len()..];
    let after = after.trim_start_matches(['=', ' ']);
    let end = match after.chars().next()? {
        quote @ ('\'' | '"') => return after[1..].split(quote).next().map(str::to_owned),
        _ => after.find(char::is_whitespace).unwrap_or(after.len()),
    };
    Some(after[..end].to_owned())
}

/// The result of a test.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every command succeeded.
    Pass,
    /// A command did not.
    Fail {
        /// The failed command.
        command: RunLine,
        /// How it ended.
        outcome: Outcome,
    },
    /// The file has no commands.
    NoCommands,
}

impl Verdict {
    /// Every command succeeded.
    #[must_use]
    pub fn passed(&self) -> bool {
        matches!(self, Verdict::Pass)
    }
}

/// The programs that stand in for the names in the commands.
#[derive(Debug)]
pub struct Runner {
    folder: tempfile::TempDir,
    limit: Duration,
    shell: Program,
}

impl Runner {
    /// A runner whose `opt` is the given program; the other names lead to LLVM's programs.
    ///
    /// # Errors
    /// The folder with the programs cannot be written, or `FileCheck-22` is missing.
    pub fn new(opt: &Program, limit: Duration) -> anyhow::Result<Runner> {
        let file_check = llvm_tools::find("FileCheck").context("FileCheck-22 not found")?;
        let folder = tempfile::tempdir()?;
        let programs = folder.path().join("bin");
        fs::create_dir(&programs)?;
        wrapper(&programs, "opt", opt)?;
        wrapper(&programs, "FileCheck", &Program::new(file_check))?;
        for name in ["not", "llvm-as", "llvm-dis", "llc", "count"] {
            if let Some(path) = llvm_tools::find(name) {
                wrapper(&programs, name, &Program::new(path))?;
            }
        }
        Ok(Runner { folder, limit, shell: Program::new("/bin/bash").named("bash") })
    }

    /// Runs the commands of the test until one fails.
    ///
    /// # Errors
    /// The file cannot be read or the shell cannot be started.
    pub fn run(&self, test: &Path) -> anyhow::Result<Verdict> {
        let source = fs::read(test).with_context(|| format!("cannot read {}", test.display()))?;
        let commands = run_lines(&String::from_utf8_lossy(&source));
        if commands.is_empty() {
            return Ok(Verdict::NoCommands);
        }
        let test = fs::canonicalize(test)?;
        let work = tempfile::tempdir_in(self.folder.path())?;
        for (index, command) in commands.iter().enumerate() {
            // A `cd` holds until the end of the test: each command runs after all `cd`s before it.
            let moves = commands[..index].iter().filter(|c| c.command.starts_with("cd "));
            let script: Vec<String> = moves
                .chain([command])
                .map(|c| substitute(&c.command, &test, work.path()))
                .collect();
            let script = format!(
                "set -o pipefail; PATH='{}':$PATH\n{}",
                self.folder.path().join("bin").display(),
                script.join(" && ")
            );
            let arguments = ["-c", &script];
            let outcome = self.shell.run_in(Some(work.path()), arguments, &[], self.limit)?;
            if !outcome.success() {
                return Ok(Verdict::Fail { command: command.clone(), outcome });
            }
        }
        Ok(Verdict::Pass)
    }
}

/// Writes a script `name` in `folder` that executes the program.
fn wrapper(folder: &Path, name: &str, program: &Program) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let quoted =
        |text: &std::ffi::OsStr| format!("'{}'", text.to_string_lossy().replace('\'', "'\\''"));
    let mut script = format!("#!/bin/sh\nexec {}", quoted(program.path().as_os_str()));
    for argument in program.prefix() {
        script.push(' ');
        script.push_str(&quoted(argument));
    }
    script.push_str(" \"$@\"\n");
    let path: PathBuf = folder.join(name);
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// The command after substitutions.
fn substitute(command: &str, test: &Path, work: &Path) -> String {
    let command = known_triples(&without_conditions(command));
    let folder = test.parent().unwrap_or(test);
    let mut out = String::new();
    let mut rest = command.as_str();
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (text, taken) = match rest.as_bytes().get(at + 1) {
            Some(b's') => (test.display().to_string(), 2),
            Some(b'S') => (folder.display().to_string(), 2),
            Some(b't') => (work.join("output").display().to_string(), 2),
            Some(b'T') => (work.display().to_string(), 2),
            Some(b'%') => ("%".to_owned(), 2),
            _ => ("%".to_owned(), 1),
        };
        out.push_str(&text);
        rest = &rest[at + taken..];
    }
    out.push_str(rest);
    // The command consisted of conditional parts only.
    if out.trim().is_empty() { "true".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_and_joined() {
        let source = "\
; RUN: opt < %s -passes=verify \\
; RUN:   -disable-output
; CHECK-RUN: no command
// RUN: not opt %s 2>&1 | FileCheck %s -check-prefix=A
define void @f()
";
        let found = run_lines(source);
        let commands: Vec<_> = found.iter().map(|c| (c.line, c.command.as_str())).collect();
        assert_eq!(
            commands,
            [
                (1, "opt < %s -passes=verify -disable-output"),
                (4, "not opt %s 2>&1 | FileCheck %s -check-prefix=A")
            ]
        );
    }

    #[test]
    fn substitutions() {
        let on = |command| substitute(command, Path::new("/d/a.ll"), Path::new("/w"));
        assert_eq!(on("opt %s -o %t.ll; x %S %T 5%%"), "opt /d/a.ll -o /w/output.ll; x /d /w 5%");
        assert_eq!(on("%if ptxas %{ llc %s | %ptxas-verify %{ a %} %}"), "true");
        assert_eq!(on("%if a %{ x %} %else %{ y %s %}").trim(), "y /d/a.ll");
    }

    #[test]
    fn triples_become_known() {
        assert_eq!(
            known_triples(
                "opt -mtriple amdgpu7.00-- -mtriple=amdgpu-amd-amdhsa amdgpu_kernel -x=amdgpu9.42"
            ),
            "opt -mtriple amdgcn-- -mtriple=amdgcn-amd-amdhsa amdgpu_kernel -x=amdgpu9.42"
        );
    }

    #[test]
    fn passes_are_found() {
        let of = |command| passes(command);
        assert_eq!(of("opt -passes='print<a>,b' -x").as_deref(), Some("print<a>,b"));
        assert_eq!(of("opt -passes=gvn -S").as_deref(), Some("gvn"));
        assert_eq!(of("opt --passes=\"a b\"").as_deref(), Some("a b"));
        assert_eq!(of("opt -S"), None);
    }

    /// Runs a test whose `opt` is a shell script.
    fn verdict(opt: &str, test: &str) -> Option<Verdict> {
        llvm_tools::require("FileCheck")?;
        let folder = tempfile::tempdir().expect("temporary folder");
        let script = folder.path().join("fake opt");
        fs::write(&script, format!("#!/bin/sh\n{opt}\n")).expect("script");
        let file = folder.path().join("test.ll");
        fs::write(&file, test).expect("test");
        let program = Program::new("/bin/sh").with(script.as_os_str());
        let runner = Runner::new(&program, Duration::from_secs(5)).expect("runner");
        Some(runner.run(&file).expect("shell"))
    }

    #[test]
    fn a_test_passes_when_every_line_does() {
        let test = "; RUN: mkdir %t\n; RUN: cd %t\n; RUN: opt > x\n; RUN: cat x | FileCheck %s\n; CHECK: yes\n";
        let Some(verdict) = verdict("echo yes", test) else { return };
        assert!(verdict.passed(), "{verdict:?}");
    }

    #[test]
    fn a_test_fails_by_its_checks_and_by_the_status_of_any_part_of_a_pipe() {
        let test = "; RUN: true\n; RUN: opt 2>&1 | FileCheck %s\n; CHECK: yes\n";
        let Some(Verdict::Fail { command, .. }) = verdict("echo no", test) else { return };
        assert_eq!(command.line, 2);
        let Some(status) = verdict("echo yes; exit 1", test) else { return };
        assert!(!status.passed(), "the status of `opt` counts");
        let Some(none) = verdict("echo yes", "; CHECK: yes\n") else { return };
        assert!(matches!(none, Verdict::NoCommands));
    }
}
