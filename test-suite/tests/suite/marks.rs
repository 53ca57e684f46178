//! Compares the marks of hand-written functions with several answers: `opt-22`, `phalanx opt` by
//! LLVM's rules with and without the soundness fixes, and `phalanx analyze` with all its facts.

use std::{fmt::Write as _, fs, path::Path};

use expect_test::expect;
use phalanx_test_suite::marks::{self, Mark, Subject};
use phalanx_testing::{
    compare::{PerFunction, uniformity},
    llvm_tools::{self, Program},
};
use serde_json::Value;

/// The marks of each file that has any.
fn marked_files() -> Vec<(std::path::PathBuf, Vec<Mark>)> {
    let read = |path: std::path::PathBuf| {
        let source = fs::read_to_string(&path).expect("a file of the suite");
        let marks =
            marks::read(&source).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        (path, marks)
    };
    let files: Vec<_> =
        phalanx_test_suite::shipped().expect("folder").into_iter().map(read).collect();
    let marked: Vec<_> = files.into_iter().filter(|(_, marks)| !marks.is_empty()).collect();
    assert!(marked.len() >= 10, "only {} files have marks", marked.len());
    marked
}

fn print_uniformity(opt: &Program, path: &Path) -> PerFunction<uniformity::Uniformity> {
    let arguments =
        ["-passes=print<uniformity>".as_ref(), "-disable-output".as_ref(), path.as_os_str()];
    let outcome = opt.run(arguments, &[]).expect("it starts");
    assert!(outcome.success(), "{} on {}: {}", opt.name(), path.display(), outcome.summary());
    uniformity::parse(&outcome.errors())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The marks at which the answer is wrong or missing.
fn faults(
    answers: impl Fn(&Path) -> Box<dyn Fn(&Mark) -> Option<bool>>,
    wrong: impl Fn(&Mark, bool) -> bool,
) {
    let mut out = Vec::new();
    for (path, marks) in marked_files() {
        let answer_at = answers(&path);
        for mark in marks {
            let answer = answer_at(&mark);
            if answer.is_none_or(|answer| wrong(&mark, answer)) {
                let file = path.file_name().unwrap_or_default().display();
                out.push(format!(
                    "{file}:{}: {:?}: divergent: {answer:?}",
                    mark.line, mark.subject
                ));
            }
        }
    }
    assert!(out.is_empty(), "{} wrong answers:\n{}", out.len(), out.join("\n"));
}

/// Answers to marks of one file.
type Answers = Box<dyn Fn(&Mark) -> Option<bool>>;

/// The answers of a printing pass.
fn printed(opt: Program) -> impl Fn(&Path) -> Answers {
    move |path| {
        let functions = print_uniformity(&opt, path);
        Box::new(move |mark: &Mark| {
            let (_, facts) = functions.iter().find(|(name, _)| *name == mark.function)?;
            mark.answer(facts)
        })
    }
}

#[test]
fn llvm_answers_as_the_brackets_say() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    faults(printed(opt), |mark, divergent| divergent != mark.llvm_divergent);
}

#[test]
fn opt_by_llvms_rules_alone_answers_as_llvm() {
    let exact = crate::phalanx().with("opt").with("--exact-llvm");
    faults(printed(exact), |mark, divergent| divergent != mark.llvm_divergent);
}

#[test]
fn opt_is_sound_and_coarser_than_the_mark_only_where_llvm_is() {
    let opt = crate::phalanx().with("opt");
    faults(printed(opt), |mark, divergent| {
        if mark.divergent { !divergent } else { divergent && !mark.llvm_divergent }
    });
}

#[test]
fn analyze_is_sound_and_never_coarser_than_llvm() {
    faults(analyzed(crate::phalanx()), |mark, divergent| {
        if mark.divergent { !divergent } else { divergent && !mark.llvm_divergent }
    });
}

/// Marks that need facts that the analyses do not have yet: contents of memory, algebra.
/// `UPDATE_EXPECT=1` accepts a shorter list.
#[test]
fn marks_that_analyze_does_not_reach_yet() {
    let answers = analyzed(crate::phalanx());
    let mut out = String::new();
    for (path, marks) in marked_files() {
        let answer_at = answers(&path);
        for mark in marks.iter().filter(|mark| !mark.divergent && answer_at(mark) == Some(true)) {
            let file = path.file_name().unwrap_or_default().display();
            let _ = writeln!(out, "{file}:{}: {:?}", mark.line, mark.subject);
        }
    }
    expect![""].assert_eq(&out);
}

/// The answers of `phalanx analyze`.
fn analyzed(phalanx: Program) -> impl Fn(&Path) -> Answers {
    move |path| {
        let arguments = ["analyze", "--format", "json", "--print", "all"].map(AsRef::as_ref);
        let arguments: Vec<&std::ffi::OsStr> =
            arguments.into_iter().chain([path.as_os_str()]).collect();
        let outcome = phalanx.run(arguments, &[]).expect("it starts");
        assert!(outcome.success(), "{}", outcome.summary());
        let report: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
        Box::new(move |mark| answer_in(&report, mark))
    }
}

/// What the JSON report of one file says at a mark.
fn answer_in(report: &Value, mark: &Mark) -> Option<bool> {
    let functions = report[0]["functions"].as_array()?;
    let function = functions.iter().find(|function| function["name"] == mark.function.as_str())?;
    let line = |item: &Value| item["place"]["line"].as_u64().unwrap_or_default() as usize;
    match &mark.subject {
        Subject::Value(name) => {
            let value = function["values"]
                .as_array()?
                .iter()
                .find(|value| value["name"] == name.as_str())?;
            assert_eq!(line(value), mark.line, "{name} is reported in its line");
            value["divergent"].as_bool()
        }
        Subject::Terminator => {
            // A terminator with one target is no branch; a switch is marked in its last line.
            let branches = function["branches"].as_array()?;
            let length =
                |branch: &Value| branch["text"].as_str().unwrap_or_default().lines().count();
            let here = |branch: &&Value| {
                (line(branch)..line(branch) + length(branch)).contains(&mark.line)
            };
            branches
                .iter()
                .find(here)
                .map_or(Some(mark.divergent), |branch| branch["divergent"].as_bool())
        }
    }
}
