//! The README and the pages of the book work as written: their files are written to a folder, their
//! commands run there in order, and the shown output must be the actual one.
//!
//! A page's folder has `kernel.ll` and `kernel.cu`, the functions of `test-suite/ll` and the
//! examples of `test-suite/semantics`. A block that is not executed states the reason
//! ([`phalanx_test_suite::pages`]).

use std::{fs, path::Path};

use phalanx_test_suite::pages::{Block, Command, blocks};
use phalanx_testing::llvm_tools::{self, Program, TIME_LIMIT};
use rayon::prelude::*;

const SOURCE: &str = "\
__global__ void reduce(const float *in, float *out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  out[threadIdx.x] = sum;
}
";

/// Programs that a page may name beside `phalanx`. Where one is missing, what needs it is skipped.
const ORACLES: [&str; 3] = ["opt-22", "clang-22", "llc-22"];

/// Every page: the README, how to contribute, and the book, by their names in the repository.
fn pages() -> Vec<String> {
    let root = llvm_tools::workspace_root();
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for folder in ["docs", "docs/diagnostics"] {
        for entry in fs::read_dir(root.join(folder)).expect("folder") {
            let name = entry.expect("entry").file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                found.push(format!("{folder}/{name}"));
            }
        }
    }
    found.sort();
    found
}

/// A diagnostic's page has a form of its own, which the tests of `check` hold it to.
fn is_diagnostic(page: &str) -> bool {
    page.starts_with("docs/diagnostics/PHX")
}

fn text_of(page: &str) -> String {
    fs::read_to_string(llvm_tools::workspace_root().join(page)).expect("page")
}

/// Fills the folder that a page's commands run in.
fn fill(folder: &Path) {
    let suite = phalanx_test_suite::folder();
    for from in ["ll", "semantics"] {
        for entry in fs::read_dir(suite.join(from)).expect("folder") {
            let path = entry.expect("entry").path();
            let name = path.file_name().expect("a name");
            fs::copy(&path, folder.join(name)).expect("copy");
        }
    }
    fs::copy(suite.join("ll/reduce.amdgcn.ll"), folder.join("kernel.ll")).expect("copy");
    fs::write(folder.join("kernel.cu"), SOURCE).expect("file");
}

/// What a command needs that is not installed.
fn missing(command: &str) -> bool {
    let is_source = [".cu", ".cl", "-p build"].iter().any(|part| command.contains(part));
    let needs_clang = is_source && llvm_tools::require("clang").is_none();
    let other = ORACLES.iter().find(|name| command.contains(**name));
    let needs_other =
        other.is_some_and(|name| llvm_tools::require(name.trim_end_matches("-22")).is_none());
    needs_clang || needs_other
}

/// Runs a command of a page, and compares the output that the page shows. Returns the difference,
/// if there is one.
fn run(folder: &Path, command: &Command<'_>) -> Result<(), String> {
    let root = llvm_tools::workspace_root();
    // What cargo builds and runs is the binary that is here already.
    let (script, at) = match command.text.split_once(" -p phalanx-cli -- ") {
        Some((_, arguments)) => (format!("phalanx {arguments}"), root.as_path()),
        None => (command.text.clone(), folder),
    };
    let binary = crate::phalanx();
    let script = format!(
        "phalanx() {{ XDG_CACHE_HOME='{}' '{}' --color never \"$@\"; }}; {script}",
        folder.join("cache").display(),
        binary.path().display()
    );
    let shell = Program::new("/bin/sh").named("sh");
    let outcome = shell.run_in(Some(at), ["-c", &script], &[], TIME_LIMIT).expect("sh starts");
    let finds = |line: &&str| line.starts_with("error[") || line.contains(": error: ");
    let expected = i32::from(command.shown.iter().any(finds));
    if outcome.status != Some(expected) {
        return Err(format!("status {expected} was expected: {}", outcome.summary()));
    }
    let printed = [outcome.stdout, outcome.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    // The lines that a page shows must be printed in that order; the page may omit lines, and marks
    // long omissions with `...`.
    let mut rest = printed.lines();
    for line in command.shown.iter().filter(|line| **line != "...") {
        if !line.is_empty() && !rest.any(|other| other == *line) {
            return Err(format!("`{line}` is not printed, or not there:\n{printed}"));
        }
    }
    let writes = [" -o ", " > ", "--write-baseline"].iter().any(|to| command.text.contains(to));
    match writes || !printed.is_empty() {
        true => Ok(()),
        false => Err("nothing is printed".to_owned()),
    }
}

/// Runs a page from its top to its end: how many commands it has, and what is wrong with them.
fn run_page(page: &str) -> (usize, Vec<String>) {
    let text = text_of(page);
    let folder = tempfile::tempdir().expect("folder");
    fill(folder.path());
    let (mut count, mut wrong) = (0, Vec::new());
    for block in blocks(&text) {
        if let Some(name) = block.file_name() {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("in the folder")).expect("folder");
            fs::write(path, block.lines.join("\n") + "\n").expect("file");
        }
        if block.language != "console" || block.not_run().is_some() {
            continue;
        }
        for command in block.commands() {
            count += 1;
            if missing(&command.text) {
                continue;
            }
            if let Err(problem) = run(folder.path(), &command) {
                wrong.push(format!("{page}:{}: `{}`: {problem}", block.line, command.text));
            }
        }
    }
    (count, wrong)
}

#[test]
fn commands_work_as_written() {
    let mut pages = pages();
    pages.retain(|page| !is_diagnostic(page));
    let (counts, wrong): (Vec<usize>, Vec<Vec<String>>) =
        pages.par_iter().map(|page| run_page(page)).unzip();
    nothing(&wrong.concat());
    assert!(counts.iter().sum::<usize>() >= 50, "{counts:?}");
}

#[track_caller]
fn nothing(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whatever looks like a command stands where commands are run, or says why it is not.
#[test]
fn commands_stand_where_they_are_run() {
    let mut wrong = Vec::new();
    for page in pages().iter().filter(|page| !is_diagnostic(page)) {
        for block in blocks(&text_of(page)) {
            let at = format!("{page}:{}", block.line);
            let is_command = |line: &&&str| {
                ["$ ", "phalanx ", "cargo "].iter().any(|start| line.starts_with(start))
            };
            let command = block.lines.iter().find(is_command);
            match (block.language, command) {
                ("console", _) => {
                    let first = block.lines.first().copied().unwrap_or_default();
                    if !first.starts_with("$ ") {
                        wrong.push(format!("{at}: `{first}` has no prompt"));
                    }
                }
                (_, Some(command)) if block.not_run().is_none() => {
                    wrong.push(format!("{at}: `{command}` does not stand in a console"));
                }
                _ => {}
            }
        }
    }
    nothing(&wrong);
}

/// Reasons for blocks that are not executed are sentences, and code that is attributed to a file is
/// in that file. Rust code belongs to a compiled file, or is a documentation test.
#[test]
fn code_is_what_it_is_said_to_be() {
    let root = llvm_tools::workspace_root();
    let mut wrong = Vec::new();
    for page in pages() {
        for block in blocks(&text_of(&page)) {
            let at = format!("{page}:{}", block.line);
            if let Some(reason) = block.not_run().filter(|reason| reason.len() < 10) {
                wrong.push(format!("{at}: `{reason}` is no reason"));
            }
            if let Some(name) = block.from() {
                let files = files(&root.join(name));
                let is_there = files.iter().any(|file| is_part(file, &block.lines));
                if !is_there {
                    wrong.push(format!("{at}: this is not in {name}:\n{}", block.lines.join("\n")));
                }
            }
            if block.language.starts_with("rust") {
                let is_tested = block.from().is_some() || is_doctest(&page);
                if !is_tested && block.not_run().is_none() {
                    wrong.push(format!("{at}: nothing compiles this"));
                }
            }
        }
    }
    nothing(&wrong);
}

/// The text of a file, or of each file in Rust below a folder.
fn files(path: &Path) -> Vec<String> {
    if path.is_file() {
        return vec![fs::read_to_string(path).expect("the file")];
    }
    let (mut found, mut work) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = work.pop() {
        for entry in fs::read_dir(&folder).expect("the folder") {
            let path = entry.expect("entry").path();
            match path.is_dir() {
                true => work.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => {
                    found.push(fs::read_to_string(path).expect("the file"));
                }
                false => {}
            }
        }
    }
    found
}

/// Whether a text has these lines, one behind the other, however far they are indented.
fn is_part(file: &str, part: &[&str]) -> bool {
    let lines: Vec<&str> = file.lines().map(str::trim).collect();
    lines.windows(part.len()).any(|window| window.iter().zip(part).all(|(a, b)| *a == b.trim()))
}

/// Pages whose code in Rust is compiled and executed by `cargo test --doc -p phalanx`, or compared
/// by a test of the code that it shows.
fn is_doctest(page: &str) -> bool {
    ["README.md", "docs/explain.md", "docs/add-an-analysis.md"].contains(&page)
}

/// Each page of the book says first who it is for and last what to read next.
#[test]
fn pages_open_and_end() {
    let mut wrong = Vec::new();
    let own = |page: &String| page.starts_with("docs/") && !is_diagnostic(page);
    for page in pages().iter().filter(|page| own(page) && *page != "docs/SUMMARY.md") {
        let text = text_of(page);
        let mut lines = text.lines();
        if !lines.next().is_some_and(|line| line.starts_with("# ")) {
            wrong.push(format!("{page} has no title"));
        }
        let opening = lines.find(|line| !line.is_empty()).unwrap_or_default();
        if !opening.starts_with("For ") {
            wrong.push(format!("{page} does not say who it is for: `{opening}`"));
        }
        let end = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
        if !end.starts_with("Next: ") {
            wrong.push(format!("{page} does not say what is next: `{end}`"));
        }
    }
    nothing(&wrong);
}

/// Every block says what it is, so that it is shown, and tested, as that.
#[test]
fn languages_are_known() {
    let known = [
        "c",
        "console",
        "cuda",
        "json",
        "llvm",
        "mermaid",
        "opencl",
        "rust",
        "rust,ignore",
        "sh",
        "text",
        "toml",
        "yaml",
    ];
    let mut wrong = Vec::new();
    for page in pages() {
        for Block { language, line, .. } in blocks(&text_of(&page)) {
            if !known.contains(&language) {
                wrong.push(format!("{page}:{line}: `{language}`"));
            }
        }
    }
    nothing(&wrong);
}
