//! Compares the output of the printing passes: for LLVM's tests and our kernels.
//!
//! Each program runs once per file with all passes in one pipeline. The corpus has LLVM's answers
//! beside the files; they are the reference. `opt-22` answers for inputs without them (further
//! files, kernels, other processors).

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use phalanx_testing::{
    compare::{
        self, Fact, FormatError, PerFunction,
        uniformity::{self, DefinitionPlace, Uniformity},
    },
    listing::{self, Branches},
    llvm_tools::{Outcome, Program},
};
use rayon::prelude::*;

use super::{
    Tools,
    classify::{Answers, classify},
    corpus::{CorpusFile, target_arguments},
    report::{Entry, Section},
    spelling,
};

/// A file to ask about.
pub(super) struct Question {
    pub(super) path: PathBuf,
    /// What the report calls it.
    pub(super) place: String,
    /// What it runs on.
    pub(super) target: Vec<String>,
    /// The facts to compare.
    pub(super) facts: Vec<Fact>,
    /// Answers of LLVM that are at hand.
    pub(super) stored: Vec<(Fact, String)>,
}

/// Compares the facts of LLVM's tests.
pub(super) fn corpus(tools: &Tools, files: &[CorpusFile]) -> anyhow::Result<Section> {
    let mut questions = Vec::new();
    for file in files.iter().filter(|file| file.status.is_empty() || file.status.starts_with("ok"))
    {
        questions.extend(questions_about(file)?);
    }
    ask(tools, "Facts about LLVM's tests", &questions)
}

fn questions_about(file: &CorpusFile) -> anyhow::Result<Vec<Question>> {
    let beside = |suffix: &str| {
        let mut path = file.path.clone().into_os_string();
        path.push(suffix);
        PathBuf::from(path)
    };
    let read = |fact: Fact, suffix: &str| -> anyhow::Result<Option<(Fact, String)>> {
        let path = beside(suffix);
        Ok(if path.is_file() { Some((fact, fs::read_to_string(path)?)) } else { None })
    };
    let mut stored = Vec::new();
    for fact in Fact::ALL {
        stored.extend(read(fact, &format!(".{fact}"))?);
    }
    let mut out = vec![Question {
        path: file.path.clone(),
        place: file.name.clone(),
        target: file.target(),
        facts: Fact::ALL.to_vec(),
        stored,
    }];
    // The same on other targets and processors: `FILE.ll.uniformity.amdgcn`,
    // `FILE.ll.uniformity.gfx1010`.
    let folder = file.path.parent().unwrap_or(&file.path);
    let prefix =
        format!("{}.uniformity.", file.path.file_name().unwrap_or_default().to_string_lossy());
    let mut variants = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        variants.extend(name.strip_prefix(&prefix).map(str::to_owned));
    }
    variants.sort();
    for variant in variants {
        let target = match variant.as_str() {
            "amdgcn" => target_arguments("amdgcn--", None),
            cpu => target_arguments(&file.triple, Some(cpu)),
        };
        out.push(Question {
            path: file.path.clone(),
            place: format!("{} ({variant})", file.name),
            target,
            facts: vec![Fact::Uniformity],
            stored: read(Fact::Uniformity, &format!(".uniformity.{variant}"))?
                .into_iter()
                .collect(),
        });
    }
    Ok(out)
}

/// Compares the facts of files that have no stored answers; they say themselves what they run on.
pub(super) fn files(tools: &Tools, title: &str, files: &[PathBuf]) -> anyhow::Result<Section> {
    let question = |path: &PathBuf| Question {
        path: path.clone(),
        place: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        target: Vec::new(),
        facts: Fact::ALL.to_vec(),
        stored: Vec::new(),
    };
    ask(tools, title, &files.iter().map(question).collect::<Vec<_>>())
}

/// Answers all questions; the report is in their order.
pub(super) fn ask(tools: &Tools, title: &str, questions: &[Question]) -> anyhow::Result<Section> {
    let answers: Vec<anyhow::Result<Section>> =
        questions.par_iter().map(|question| answer(tools, question)).collect();
    let mut section = Section::new(title);
    for answer in answers {
        section.merge(answer?);
    }
    Ok(section)
}

/// Runs the printing passes of some facts.
pub(super) fn print(
    program: &Program,
    facts: &[Fact],
    target: &[String],
    path: &Path,
) -> anyhow::Result<Outcome> {
    let passes: Vec<String> = facts.iter().map(|fact| fact.pass()).collect();
    let mut arguments = target.to_vec();
    arguments.extend([format!("-passes={}", passes.join(",")), "-disable-output".to_owned()]);
    arguments.push(path.display().to_string());
    program.run(arguments, &[])
}

fn answer(tools: &Tools, question: &Question) -> anyhow::Result<Section> {
    let mut section = Section::default();
    let Question { path, place, target, facts, stored } = question;
    let missing = facts.iter().any(|fact| stored.iter().all(|(of, _)| of != fact));
    let theirs = if missing { Some(print(&tools.opt, facts, target, path)?) } else { None };
    if theirs.as_ref().is_some_and(|outcome| !outcome.success()) && stored.is_empty() {
        // Another section checks whether the refusal is right.
        section.count("files refused by LLVM", 1);
        return Ok(section);
    }
    let ours = print(&tools.subject, facts, target, path)?;
    if !ours.success() {
        section.push(Entry::unexplained(
            place,
            format!("{}: {}", tools.subject.name(), ours.summary()),
        ));
        return Ok(section);
    }
    let ours = ours.errors();
    let live = theirs.map(|outcome| outcome.errors()).unwrap_or_default();
    section.count("files", 1);
    let truth = |fact: Fact| {
        let stored = stored.iter().find(|(of, _)| *of == fact).map(|(_, text)| text.as_str());
        stored.unwrap_or(&live)
    };
    section.count("functions", compare::function_count(Fact::Uniformity, truth(Fact::Uniformity)));
    compare_texts(tools, question, &truth, &ours, &mut section)?;
    Ok(section)
}

/// Compares all facts of a question; `truth` has LLVM's answer to each.
pub(super) fn compare_texts<'a>(
    tools: &Tools,
    question: &Question,
    truth: &dyn Fn(Fact) -> &'a str,
    ours: &str,
    section: &mut Section,
) -> anyhow::Result<()> {
    let place = &question.place;
    for &fact in &question.facts {
        if fact == Fact::Uniformity {
            compare_uniformity(tools, question, truth(fact), ours, section)?;
            continue;
        }
        match compare::differences(fact, truth(fact), ours) {
            Ok(found) => {
                for difference in found {
                    let place = format!("{place} @{}", difference.function);
                    section.push(Entry::unexplained(place, format!("{fact}: {}", difference.what)));
                }
            }
            Err(error) => section.push(Entry::unexplained(place, format!("{fact}: {error}"))),
        }
    }
    Ok(())
}

/// The oracle: execution under some of the cycle hierarchies that the function has.
pub(super) fn observe(
    base: &Uniformity,
    other: &Uniformity,
    branches: Branches,
) -> Result<BTreeSet<DefinitionPlace>, String> {
    listing::observe(base, other, branches, 8, 200)
}

fn parse(listing: &str) -> Result<PerFunction<Uniformity>, FormatError> {
    uniformity::parse(&spelling::common(listing))
}

/// Compares uniformity value by value, and classifies the differences.
fn compare_uniformity(
    tools: &Tools,
    question: &Question,
    truth: &str,
    ours: &str,
    section: &mut Section,
) -> anyhow::Result<()> {
    let Question { path, place, target, .. } = question;
    let (llvm, ours) = match (parse(truth), parse(ours)) {
        (Ok(llvm), Ok(ours)) => (llvm, ours),
        (Err(error), _) => {
            section.push(Entry::unexplained(place, format!("LLVM's uniformity: {error}")));
            return Ok(());
        }
        (_, Err(error)) => {
            section.push(Entry::unexplained(place, format!("our uniformity: {error}")));
            return Ok(());
        }
    };
    section.count("values", llvm.iter().map(|(_, facts)| facts.counts().0).sum());
    let exact = match &tools.exact {
        None => None,
        Some(exact) => {
            let outcome = print(exact, &[Fact::Uniformity], target, path)?;
            let parsed = if outcome.success() {
                parse(&outcome.errors()).map_err(|error| error.to_string())
            } else {
                Err(outcome.summary())
            };
            match parsed {
                Ok(facts) => Some(facts),
                Err(error) => {
                    section.push(Entry::unexplained(place, format!("by LLVM's rules: {error}")));
                    None
                }
            }
        }
    };
    let again = || {
        let outcome = print(&tools.opt, &[Fact::Uniformity], target, path).ok()?;
        parse(&outcome.errors()).ok()
    };
    let answers = Answers { llvm: &llvm, ours: &ours, exact: exact.as_ref(), again: &again };
    for entry in classify(place, &answers, &observe) {
        section.push(entry);
    }
    Ok(())
}
