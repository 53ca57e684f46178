//! The verifier against LLVM's, on small modules that are right or wrong in one way each.
//!
//! `verifier/*.ll` hold many modules each. A line `;; name` begins one; below it `;= verdict` says
//! what LLVM 22 makes of it: `ok`, `parser` when it does not even read it, `crash`, or the first
//! message of its verifier. `UPDATE_EXPECT=1` writes the verdicts anew where `llvm-as-22` is
//! installed.
//!
//! Ours must agree: accept what is `ok`, reject everything else, and with LLVM's message when both
//! verifiers do. A module that LLVM's parser rejects, or that makes it crash, may be rejected by
//! our parser or by our verifier. A line `;! reason` beside the verdict says that, and why, ours
//! differs; such a case must really differ.

#![allow(clippy::disallowed_methods, reason = "cases, corpus and programs are files")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use phalanx_ir::{Context, Verifier};
use phalanx_llvm::parse_module;
use phalanx_testing::{
    llvm_tools::{Program, require, require_corpus, workspace_root},
    mutate::mutant,
};

#[derive(Clone, PartialEq, Eq, Debug)]
enum Verdict {
    Ok,
    Parser(String),
    /// LLVM only.
    Crash,
    Verifier(String),
}

impl Verdict {
    fn text(&self) -> &str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Parser(_) => "parser",
            Verdict::Crash => "crash",
            Verdict::Verifier(message) => message,
        }
    }
}

fn ours(text: &[u8]) -> Verdict {
    match parse_module(Arc::new(Context::new()), text) {
        Err(error) => Verdict::Parser(error.message),
        Ok(parsed) => {
            let verifier = Verifier::new(&parsed.module).with_convergent_intrinsics(is_convergent);
            match verifier.module().first() {
                None => Verdict::Ok,
                Some(error) => Verdict::Verifier(error.message.to_string()),
            }
        }
    }
}

/// What the tables of the targets would say of the intrinsics that occur here.
fn is_convergent(name: &[u8]) -> bool {
    name.starts_with(b"llvm.nvvm.barrier")
}

fn llvms(assembler: &Program, text: &[u8]) -> Verdict {
    let outcome = assembler.run(["-o", "/dev/null"], text).expect("llvm-as runs");
    if outcome.crashed() {
        return Verdict::Crash;
    }
    if outcome.success() {
        return Verdict::Ok;
    }
    let errors = outcome.errors();
    let is_said_first =
        |line: &&str| line.contains("warning:") || line.contains("does not verify as");
    let first = errors.lines().find(|line| !is_said_first(line)).unwrap_or_default();
    match first.split_once("error: ") {
        Some((_, message)) if first.contains("<stdin>:") => Verdict::Parser(message.to_owned()),
        _ => Verdict::Verifier(first.to_owned()),
    }
}

struct Case {
    name: String,
    verdict: String,
    excuse: Option<String>,
    text: String,
}

fn cases(file: &str) -> (String, Vec<Case>) {
    let (head, rest) = file.split_once(";; ").expect("a file has cases");
    let cases = rest.split("\n;; ").map(|part| {
        let (name, mut text) = part.split_once('\n').expect("a case has a name and a text");
        let (mut verdict, mut excuse) = (String::new(), None);
        while let Some(line) = text.lines().next() {
            if let Some(found) = line.strip_prefix(";= ") {
                verdict = found.to_owned();
            } else if let Some(found) = line.strip_prefix(";! ") {
                excuse = Some(found.to_owned());
            } else {
                break;
            }
            text = text[line.len()..].trim_start_matches('\n');
        }
        Case { name: name.to_owned(), verdict, excuse, text: text.trim_end().to_owned() }
    });
    (head.to_owned(), cases.collect())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifier")
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the folder of cases");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ll"));
    files.sort();
    files
}

/// Runs `work` on all items, on a few threads, and returns the answers in order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0);
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let at = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next - 1
                    };
                    let Some(item) = items.get(at) else { break };
                    let answer = work(item);
                    answers.lock().unwrap().push((at, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap();
    answers.sort_by_key(|&(at, _)| at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[test]
fn ours_agrees_with_the_verdicts() {
    let (mut problems, mut count) = (Vec::new(), 0);
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        for case in cases(&text).1 {
            count += 1;
            let verdict = ours(case.text.as_bytes());
            let agrees = match (case.verdict.as_str(), &verdict) {
                ("ok", Verdict::Ok) => true,
                ("ok", _) | (_, Verdict::Ok) => false,
                ("parser" | "crash", _) | (_, Verdict::Parser(_)) => true,
                (message, Verdict::Verifier(ours)) => message == ours,
                (_, Verdict::Crash) => unreachable!("ours does not crash"),
            };
            if agrees == case.excuse.is_some() {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                problems.push(format!(
                    "{name}: {}\n  LLVM: {}\n  ours: {verdict:?}{}",
                    case.name,
                    case.verdict,
                    if agrees { "\n  which agrees, against what is written" } else { "" },
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{} of {count} cases\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn the_verdicts_are_llvms() {
    let Some(assembler) = require("llvm-as") else { return };
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let mut problems = Vec::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let (head, cases) = cases(&text);
        let verdicts = in_parallel(&cases, |case| llvms(&assembler, case.text.as_bytes()));
        if update {
            let mut out = head;
            for (case, verdict) in cases.iter().zip(&verdicts) {
                out += &format!(";; {}\n;= {}\n", case.name, verdict.text());
                if let Some(excuse) = &case.excuse {
                    out += &format!(";! {excuse}\n");
                }
                out += &format!("{}\n\n", case.text);
            }
            fs::write(&file, out.trim_end().to_owned() + "\n").unwrap();
            continue;
        }
        for (case, verdict) in cases.iter().zip(&verdicts) {
            if case.verdict != verdict.text() {
                problems.push(format!("{}: {} but LLVM says {verdict:?}", case.name, case.verdict));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Every file of the corpus that LLVM accepts is accepted; of the one it rejects all messages are
/// the same.
#[test]
fn the_corpus_is_judged_as_llvm_judges_it() {
    let Some(corpus) = require_corpus() else { return };
    let (mut problems, mut count) = (Vec::new(), 0);
    let oracle = fs::read_to_string(corpus.join("ORACLE.tsv")).expect("the list of answers");
    for line in oracle.lines() {
        let mut columns = line.split('\t');
        let (Some(file), Some(how)) = (columns.next(), columns.nth(2)) else { continue };
        let text = fs::read(corpus.join(file)).expect("a file of the list");
        let parsed = match parse_module(Arc::new(Context::new()), &text) {
            Ok(parsed) => parsed,
            Err(error) => {
                if !how.contains("does not parse") {
                    problems.push(format!("{file}: {}", error.message));
                }
                continue;
            }
        };
        count += 1;
        let verifier = Verifier::new(&parsed.module).with_convergent_intrinsics(is_convergent);
        let messages: Vec<String> =
            verifier.module().iter().map(|error| error.message.to_string()).collect();
        let answer = fs::read_to_string(corpus.join(format!("{file}.verify"))).unwrap_or_default();
        let is_message = |line: &&str| {
            let is_entity = line.starts_with(' ')
                || ["ptr ", "label ", "depth=", "opt-22: "]
                    .iter()
                    .any(|start| line.starts_with(start));
            !is_entity
        };
        let expected: Vec<&str> = answer.lines().filter(is_message).collect();
        if messages != expected {
            problems.push(format!("{file}: LLVM {expected:#?}, ours {messages:#?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 100, "only {count} files");
}

/// The programs of our own test suite: file and text.
fn kernels() -> Vec<(PathBuf, String)> {
    let (mut work, mut found) = (vec![workspace_root().join("test-suite")], Vec::new());
    while let Some(folder) = work.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                work.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ll") {
                let text = fs::read_to_string(&path).expect("a program");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn our_own_programs_are_well_formed() {
    let kernels = kernels();
    assert!(!kernels.is_empty());
    for (file, text) in kernels {
        assert_eq!(ours(text.as_bytes()), Verdict::Ok, "{}", file.display());
    }
}

/// Words of LLVM's messages about alias metadata, which our verifier carries and does not judge.
const NOT_JUDGED: [&str; 6] =
    ["TBAA", "tbaa", "Access type node", "Access tag", "access tag", "Base nodes"];

/// Texts that are almost those of the cases and of the corpus. `PHALANX_MUTANTS` says how many
/// (default: 40).
#[test]
fn mutants_are_judged_as_llvm_judges_them() {
    let Some(assembler) = require("llvm-as") else { return };
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, first): (u64, u64) = (number("PHALANX_MUTANTS", 40), number("PHALANX_SEED", 0));
    let mut sources: Vec<String> = Vec::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        sources.extend(cases(&text).1.into_iter().map(|case| case.text));
    }
    sources.extend(kernels().into_iter().map(|(_, text)| text).filter(|text| text.len() < 20_000));
    if let Some(corpus) = require_corpus() {
        let oracle = fs::read_to_string(corpus.join("ORACLE.tsv")).expect("the list of answers");
        let texts = oracle.lines().filter_map(|line| line.split('\t').next());
        let texts = texts.filter_map(|file| fs::read_to_string(corpus.join(file)).ok());
        sources.extend(texts.filter(|text| text.len() < 20_000));
    }
    let seeds: Vec<u64> = (first..first + count).collect();
    let judge = |&seed: &u64| {
        let source = &sources[(seed as usize).wrapping_mul(7919) % sources.len()];
        let mut text = mutant(source, seed);
        if seed % 2 == 1 {
            text = mutant(&text, seed + 1);
        }
        let (ours, llvms) = (ours(text.as_bytes()), llvms(&assembler, text.as_bytes()));
        let agrees = match (&llvms, &ours) {
            (Verdict::Ok, Verdict::Ok) => true,
            (Verdict::Verifier(theirs), _) if NOT_JUDGED.iter().any(|w| theirs.contains(w)) => true,
            (Verdict::Ok, _) | (Verdict::Verifier(_), Verdict::Ok) => false,
            (Verdict::Verifier(theirs), Verdict::Verifier(ours)) => theirs == ours,
            // What a parser alone rejects is the business of the parser's tests.
            _ => true,
        };
        (!agrees).then(|| format!("seed {seed}\n  LLVM: {llvms:?}\n  ours: {ours:?}\n{text}"))
    };
    let problems: Vec<String> = in_parallel(&seeds, judge).into_iter().flatten().collect();
    assert!(problems.is_empty(), "{} of {count}\n{}", problems.len(), problems.join("\n"));
}
