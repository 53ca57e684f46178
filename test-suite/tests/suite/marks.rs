//! The marks of the hand-written functions against what is printed about them.

use std::{fs, path::Path};

use phalanx_test_suite::marks::{self, Mark};
use phalanx_testing::{
    compare::{PerFunction, uniformity},
    llvm_tools::{self, Program},
};

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

/// What `opt` answers at each mark where `wrong` finds fault with it.
fn faults(opt: &Program, wrong: impl Fn(&Mark, bool) -> bool) -> Vec<String> {
    let mut out = Vec::new();
    for (path, marks) in marked_files() {
        let printed = print_uniformity(opt, &path);
        for mark in marks {
            let function = printed.iter().find(|(name, _)| *name == mark.function);
            let answer = function.and_then(|(_, facts)| mark.answer(facts));
            if answer.is_none_or(|answer| wrong(&mark, answer)) {
                let file = path.file_name().unwrap_or_default().display();
                out.push(format!(
                    "{file}:{}: {:?} is said to be divergent: {answer:?}",
                    mark.line, mark.subject
                ));
            }
        }
    }
    out
}

#[test]
fn llvm_answers_as_the_brackets_say() {
    let Some(opt) = llvm_tools::require("opt") else { return };
    let faults = faults(&opt, |mark, divergent| divergent != mark.llvm_divergent);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
