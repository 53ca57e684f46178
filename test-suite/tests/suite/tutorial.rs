//! The tutorial works as written: its files are written to a folder, its commands run there, and
//! what it shows of their output is printed.

use std::fs;

use phalanx_testing::llvm_tools::{self, TIME_LIMIT};

use crate::readme::shown;

/// A command and what the page shows of its output.
fn commands(block: &str) -> Vec<(&str, Vec<&str>)> {
    let mut out: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ phalanx "), out.last_mut()) {
            (Some(command), _) => out.push((command, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => panic!("`{line}` is shown before any command"),
        }
    }
    out
}

#[test]
fn the_tutorial_works_as_written() {
    if llvm_tools::require("clang").is_none() {
        return;
    }
    let root = llvm_tools::workspace_root();
    let page = fs::read_to_string(root.join("docs/tutorial.md")).expect("page");
    let folder = tempfile::tempdir().expect("folder");
    let (mut files, mut run) = (0, 0);
    for block in page.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a language");
        if language != "console" {
            let name = text.lines().next().and_then(|line| line.strip_prefix("// "));
            fs::write(folder.path().join(name.expect("a name")), text).expect("file");
            files += 1;
            continue;
        }
        for (command, lines) in commands(text) {
            let cache = ["--cache-dir", "cache", "--color", "never"];
            let arguments: Vec<&str> = command.split_whitespace().chain(cache).collect();
            let outcome = crate::phalanx().run_in(Some(folder.path()), &arguments, &[], TIME_LIMIT);
            let outcome = outcome.expect("it starts");
            let printed = String::from_utf8_lossy(&outcome.stdout).into_owned();
            let has_error = lines.iter().any(|line| line.starts_with("error["));
            assert_eq!(outcome.status, Some(i32::from(has_error)), "{command}: {outcome:?}");
            shown(&lines.join("\n"), &printed);
            run += 1;
        }
    }
    assert_eq!((files, run), (3, 6), "files and commands of the page");
}
