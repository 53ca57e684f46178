//! Runs LLVM's own tests by their `RUN:` lines, with `phalanx opt` in place of `opt`.
//!
//! A test counts if `opt-22` passes it and we have all passes that it uses. If a test expects an
//! answer that is wrong or less precise than ours, we fail it and must pass it with `--exact-llvm`.
//! The difference is then listed with the check that failed; the section about facts explains the
//! answer.

use std::{fs, time::Duration};

use phalanx_testing::{
    compare::Fact,
    lit::{self, Runner, Verdict},
};
use rayon::prelude::*;

use super::{
    Tools,
    corpus::CorpusFile,
    report::{Class, Entry, Section},
};

/// The folders whose tests are about facts that we print.
const FOLDERS: [&str; 5] = [
    "Analysis/UniformityAnalysis/",
    "Analysis/CycleInfo/",
    "Analysis/Dominators/",
    "Analysis/PostDominators/",
    "Analysis/DominanceFrontier/",
];

const LIMIT: Duration = Duration::from_secs(30);

/// Runs the tests of the corpus.
pub(super) fn run(tools: &Tools, files: &[CorpusFile]) -> anyhow::Result<Section> {
    let mut section = Section::new("LLVM's tests of these facts, by their RUN lines and FileCheck");
    let runners = Runners {
        opt: Runner::new(&tools.opt, LIMIT)?,
        subject: Runner::new(&tools.subject, LIMIT)?,
        exact: tools.exact.as_ref().map(|exact| Runner::new(exact, LIMIT)).transpose()?,
    };
    let tests: Vec<&CorpusFile> = files
        .iter()
        .filter(|file| FOLDERS.iter().any(|folder| file.name.contains(folder)))
        .filter(|file| !file.name.ends_with(".inferas.ll"))
        .collect();
    let found: Vec<anyhow::Result<Section>> =
        tests.par_iter().map(|test| one(&runners, test)).collect();
    for part in found {
        section.merge(part?);
    }
    Ok(section)
}

struct Runners {
    opt: Runner,
    subject: Runner,
    exact: Option<Runner>,
}

fn one(runners: &Runners, test: &CorpusFile) -> anyhow::Result<Section> {
    let mut section = Section::default();
    let source = fs::read(&test.path)?;
    let foreign = foreign_pass(&String::from_utf8_lossy(&source));
    match runners.opt.run(&test.path)? {
        Verdict::Pass => {}
        Verdict::Fail { .. } => {
            // Kept without its checks, or about another version of LLVM.
            section.count("tests that opt-22 fails", 1);
            return Ok(section);
        }
        Verdict::NoCommands => {
            section.count("tests without commands", 1);
            return Ok(section);
        }
    }
    if let Some(pass) = foreign {
        section.push(Entry::new(
            Class::Explained,
            &test.name,
            format!("asks for `{pass}`, which is not ours"),
        ));
        return Ok(section);
    }
    section.count("tests that opt-22 passes", 1);
    let ours = runners.subject.run(&test.path)?;
    let Some(failure) = failure(&ours) else {
        section.count("passed by ours", 1);
        return Ok(section);
    };
    match &runners.exact {
        Some(exact) if exact.run(&test.path)?.passed() => {
            section.count("passed by ours with --exact-llvm", 1);
            section.push(Entry::new(
                Class::Explained,
                &test.name,
                format!("our answer is another: {failure}"),
            ));
        }
        _ => section.push(Entry::unexplained(&test.name, failure)),
    }
    Ok(section)
}

/// The first pass in the commands that prints or checks none of our facts.
fn foreign_pass(source: &str) -> Option<String> {
    let known = |pass: &str| {
        let inner =
            pass.split_once('<').and_then(|(outer, rest)| Some((outer, rest.strip_suffix('>')?)));
        match inner {
            Some(("print" | "verify" | "require" | "invalidate", fact)) => {
                Fact::ALL.iter().any(|of| of.name() == fact) || fact == "all"
            }
            Some(_) => false,
            None => matches!(pass, "verify" | "no-op-module" | "no-op-function"),
        }
    };
    let commands = lit::run_lines(source).into_iter().map(|line| line.command);
    let with_opt = commands.filter(|command| command.split_whitespace().any(|word| word == "opt"));
    for command in with_opt {
        match lit::passes(&command) {
            Some(passes) => {
                if let Some(pass) = passes.split(',').map(str::trim).find(|pass| !known(pass)) {
                    return Some(pass.to_owned());
                }
            }
            None => return Some(command),
        }
    }
    None
}

/// What went wrong, with the lines of FileCheck that say where.
fn failure(verdict: &Verdict) -> Option<String> {
    let Verdict::Fail { command, outcome } = verdict else { return None };
    let errors = outcome.errors();
    let lines: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    let why = if outcome.timed_out { "time limit".to_owned() } else { lines.join("\n") };
    Some(format!("RUN line {}: {why}", command.line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_other_passes_are_told_apart() {
        let of = |source| foreign_pass(source);
        assert_eq!(
            of("; RUN: opt %s -passes='print<cycles>,verify<domtree>' | FileCheck %s"),
            None
        );
        assert_eq!(
            of("; RUN: opt -passes=verify %s\n; RUN: opt -passes=gvn %s").as_deref(),
            Some("gvn")
        );
        assert_eq!(of("; RUN: opt -passes='print<scev>' %s").as_deref(), Some("print<scev>"));
        assert_eq!(of("; RUN: opt -loop-rotate %s").as_deref(), Some("opt -loop-rotate %s"));
        assert_eq!(of("; RUN: llc %s"), None);
    }
}
