//! The interpreter and an independent model of the semantics agree on random programs: on every
//! value in every instance of every block, and on which instances are converged.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use phalanx_fuzz::reference::{Setting, execute, hierarchy, translate};
use phalanx_simt::{Reconvergence, launch::Order};
use phalanx_testing::{
    abstract_oracle::hierarchies,
    generate::{self, Options, Shape},
    llvm_tools::{self, Program},
};
use rayon::prelude::*;

/// The model in the folder that `PHALANX_REFERENCE` names; reports if it is not set, or if there is
/// no Python.
fn model() -> Option<(Program, PathBuf)> {
    let Some(folder) = std::env::var_os("PHALANX_REFERENCE").map(PathBuf::from) else {
        llvm_tools::skipped("PHALANX_REFERENCE not set");
        return None;
    };
    assert!(folder.join("simt.py").is_file(), "PHALANX_REFERENCE names no folder with simt.py");
    let python = Program::new("python3");
    if python.run(["--version"], b"").is_err() {
        llvm_tools::skipped("python3 not found");
        return None;
    }
    Some((python, folder))
}

/// A question to the model, and the interpreter's answer.
struct Question {
    text: String,
    expected: String,
}

#[derive(Default)]
struct Batch {
    questions: Vec<Question>,
    programs: usize,
    irreducible: usize,
    runs: usize,
    instances: usize,
}

/// Programs of these seeds; the model gets the hierarchy that is `shift` further in the list.
fn batch(seeds: std::ops::Range<u64>, shift: usize) -> Batch {
    let mut batch = Batch::default();
    for seed in seeds {
        let shape = [Shape::Random, Shape::Random, Shape::Structured][(seed % 3) as usize];
        let blocks = [6, 8, 11, 16, 24][(seed % 5) as usize];
        let options = Options { shape: Some(shape), blocks, undef: false };
        let program = generate::program(seed, options);
        let Some(twins) = translate(&program) else { continue };
        let hierarchies = hierarchies(&program.cfg(), seed, 6);
        batch.programs += 1;
        batch.irreducible += usize::from(!hierarchies[0].all_reducible());
        let text = format!("program\n{}end\ncycles\n", twins.model);
        batch.questions.push(Question { text, expected: hierarchy(&hierarchies[0]) + "\n" });
        for (number, cycles) in hierarchies.iter().enumerate() {
            let salt = seed as u32 * 7 + number as u32;
            let setting = Setting {
                threads: 2 + salt % 7,
                args: [salt.wrapping_mul(0x9e37_79b1), salt % 8],
                fuel: 30 + salt % 40,
                reconvergence: Reconvergence::Maximal,
            };
            let orders = [Order::Lockstep, Order::Turns(9), Order::Random(seed)];
            let order = orders[(seed / 3 % 3) as usize];
            let found = execute(&twins.llvm, cycles, setting, order).text();
            batch.runs += 1;
            batch.instances += found.matches('#').count();
            let Setting { threads, args: [a0, a1], fuel, .. } = setting;
            let told = hierarchy(&hierarchies[(number + shift) % hierarchies.len()]);
            let text = format!("hierarchy {told}\nrun {threads} {a0} {a1} {fuel}\n");
            batch.questions.push(Question { text, expected: found + "end\n" });
        }
    }
    batch
}

/// Asks the model all questions of a batch; returns how the answers differ.
fn ask(python: &Program, folder: &Path, batch: &Batch) -> Vec<String> {
    let driver = llvm_tools::workspace_root().join("test-suite/fuzz/tests/reference.py");
    let input: String = batch.questions.iter().map(|question| question.text.as_str()).collect();
    let args = [driver.as_os_str(), folder.as_os_str()];
    let outcome = python.run_in(None, args, input.as_bytes(), Duration::from_secs(300));
    let outcome = outcome.expect("python starts");
    assert!(outcome.success(), "{}", outcome.errors());
    let answers = String::from_utf8(outcome.stdout).expect("text");
    let mut rest = answers.as_str();
    let mut wrong = Vec::new();
    for (number, question) in batch.questions.iter().enumerate() {
        let count = question.expected.lines().count();
        let end = rest.match_indices('\n').nth(count - 1).map_or(rest.len(), |(at, _)| at + 1);
        let (answer, after) = rest.split_at(end);
        rest = after;
        if answer != question.expected {
            let program =
                batch.questions[..=number].iter().rev().find(|q| q.text.contains("program"));
            wrong.push(format!(
                "{}{}the model:\n{answer}the interpreter:\n{}",
                program.map_or("", |q| &q.text),
                question.text,
                question.expected
            ));
        }
    }
    assert!(rest.is_empty(), "the model says more than was asked: {rest}");
    wrong
}

#[test]
fn values_and_groups_are_those_of_the_reference_model() {
    let Some((python, folder)) = model() else { return };
    let batches: Vec<std::ops::Range<u64>> = (0..16).map(|i| i * 250..(i + 1) * 250).collect();
    let results: Vec<(Batch, Vec<String>)> = batches
        .into_par_iter()
        .map(|seeds| {
            let batch = batch(seeds, 0);
            let wrong = ask(&python, &folder, &batch);
            (batch, wrong)
        })
        .collect();
    let wrong: Vec<&String> = results.iter().flat_map(|(_, wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{} differ, the first:\n{}", wrong.len(), wrong[0]);
    let sum = |of: fn(&Batch) -> usize| results.iter().map(|(batch, _)| of(batch)).sum::<usize>();
    let (programs, runs) = (sum(|b| b.programs), sum(|b| b.runs));
    let (irreducible, instances) = (sum(|b| b.irreducible), sum(|b| b.instances));
    println!("{programs} programs ({irreducible} irreducible), {runs} runs, {instances} instances");
    assert!(programs >= 3000 && irreducible >= 300 && instances > 100_000);
}

/// A negative control.
#[test]
fn a_model_that_is_told_another_hierarchy_is_noticed() {
    let Some((python, folder)) = model() else { return };
    let wrong = ask(&python, &folder, &batch(0..250, 1));
    assert!(wrong.len() > 10, "{} executions depend on the hierarchy", wrong.len());
}

/// What is compared does depend on the hierarchy and on who is converged.
#[test]
fn executions_differ_where_hierarchies_do() {
    let mut different = 0;
    for seed in (0..400).step_by(2) {
        let options = Options { shape: Some(Shape::Random), ..Options::default() };
        let program = generate::program(seed, options);
        let twins = translate(&program).expect("there is no undefined value");
        let setting = Setting {
            threads: 4,
            args: [seed as u32, 3],
            fuel: 40,
            reconvergence: Reconvergence::Maximal,
        };
        let mut found: Vec<String> = hierarchies(&program.cfg(), seed, 3)
            .iter()
            .map(|cycles| execute(&twins.llvm, cycles, setting, Order::Lockstep).text())
            .collect();
        found.dedup();
        different += usize::from(found.len() > 1);
    }
    assert!(different > 10, "{different} programs show which hierarchy they run under");
}
