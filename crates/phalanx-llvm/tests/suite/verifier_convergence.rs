//! Random programs with convergence control tokens: our verifier says exactly what LLVM's says,
//! error by error.
//!
//! Blocks, edges and convergence operations are random; each operation mostly uses a token whose
//! definition dominates it, so that about a third of the programs are right and the others break
//! every one of the rules. `PHALANX_MUTANTS` says how many programs (default: 60), `PHALANX_SEED`
//! where to begin.
//!
//! The same for those of LLVM's own tests that use the operations: whole files, and each of their
//! functions without the others, so that an error in one hides none.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf, sync::Arc};

use phalanx_ir::{Context, Verifier};
use phalanx_llvm::parse_module;
use phalanx_testing::{
    files,
    llvm_tools::{Program, require, require_corpus},
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

const HEAD: &str = "\
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
declare void @g() convergent
";

/// Sets of dominators, by the definition: what is on every path from the entry.
fn dominators(successors: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let count = successors.len();
    let reached = |without: Option<usize>| {
        let (mut seen, mut work) = (vec![false; count], vec![0]);
        while let Some(block) = work.pop() {
            if Some(block) != without && !std::mem::replace(&mut seen[block], true) {
                work.extend(&successors[block]);
            }
        }
        seen
    };
    let all = reached(None);
    let without: Vec<Vec<bool>> = (0..count).map(|block| reached(Some(block))).collect();
    (0..count).map(|b| (0..count).map(|a| all[b] && !without[a][b]).collect()).collect()
}

fn program(seed: u64) -> String {
    let rng = &mut StdRng::seed_from_u64(seed);
    let count = rng.random_range(1..8usize);
    let mut successors: Vec<Vec<usize>> = Vec::new();
    for block in 0..count {
        let target = |rng: &mut StdRng| {
            // Mostly near by, mostly forward; never the entry.
            let near = block as i64 + rng.random_range(-2..4);
            near.clamp(1, count as i64 - 1).max(0) as usize
        };
        let edges = if count == 1 { 0 } else { *[0, 1, 1, 2, 2, 2].choose(rng).unwrap() };
        successors.push((0..edges).map(|_| target(rng)).collect());
    }
    let dominators = dominators(&successors);
    let is_convergent = rng.random_bool(0.7);
    let mut tokens: Vec<(usize, String)> = Vec::new();
    let mut out = HEAD.to_owned();
    writeln!(out, "define void @f(i1 %c){} {{", if is_convergent { " convergent" } else { "" })
        .unwrap();
    for block in 0..count {
        writeln!(out, "b{block}:").unwrap();
        for place in 0..rng.random_range(0..4) {
            let visible: Vec<String> = tokens
                .iter()
                .filter(|&&(home, _)| home == block || dominators[block][home])
                .map(|(_, name)| name.clone())
                .collect();
            // A recent token is more likely to be the innermost region.
            let recent = visible[visible.len().saturating_sub(2)..].choose(rng).cloned();
            let any = visible.choose(rng).cloned();
            let token = if rng.random_bool(0.7) { recent } else { any };
            let name = format!("%t{}", tokens.len());
            let bundle =
                token.map_or(String::new(), |t| format!(" [ \"convergencectrl\"(token {t}) ]"));
            // Now and then what must be wrong; otherwise what may be right.
            let is_wild = rng.random_bool(0.03);
            let is_first = place == 0;
            let call = match rng.random_range(0..10) {
                0..5 if is_wild || block == 0 && is_first && is_convergent => "entry",
                0..6 if is_wild || is_first && !bundle.is_empty() => "loop",
                0..4 => "anchor",
                _ => {
                    if is_wild || !bundle.is_empty() {
                        let bundle = if is_wild { "" } else { &bundle[..] };
                        writeln!(out, "  call void @g(){bundle}").unwrap();
                    }
                    continue;
                }
            };
            let bundle = if (call == "loop") != (is_wild && rng.random_bool(0.5)) {
                &bundle[..]
            } else {
                ""
            };
            writeln!(out, "  {name} = call token @llvm.experimental.convergence.{call}(){bundle}")
                .unwrap();
            tokens.push((block, name));
        }
        match successors[block][..] {
            [] => writeln!(out, "  ret void").unwrap(),
            [one] => writeln!(out, "  br label %b{one}").unwrap(),
            [one, two, ..] => writeln!(out, "  br i1 %c, label %b{one}, label %b{two}").unwrap(),
        }
    }
    out.push_str("}\n");
    out
}

fn ours(text: &str) -> Vec<String> {
    let parsed = parse_module(Arc::new(Context::new()), text.as_bytes())
        .expect("a program that can be read");
    let errors = Verifier::new(&parsed.module).module();
    errors.iter().map(|error| error.message.to_string()).collect()
}

fn llvms(assembler: &Program, text: &str) -> Vec<String> {
    let outcome = assembler.run(["-o", "/dev/null"], text.as_bytes()).expect("llvm-as runs");
    let errors = outcome.errors();
    let is_message = |line: &&str| {
        let is_entity =
            ["  ", "label ", "depth=", "ptr @"].iter().any(|start| line.starts_with(start));
        !is_entity && !line.is_empty() && !line.contains("does not verify as correct")
    };
    errors.lines().filter(is_message).map(str::to_owned).collect()
}

#[test]
fn random_tokens_are_judged_as_llvm_judges_them() {
    let Some(assembler) = require("llvm-as") else { return };
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, first): (u64, u64) = (number("PHALANX_MUTANTS", 60), number("PHALANX_SEED", 0));
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for seed in first..first + count {
        let text = program(seed);
        let (ours, llvms) = (ours(&text), llvms(&assembler, &text));
        assert_eq!(ours, llvms, "seed {seed}\n{text}");
        let verdict = llvms.first().cloned().unwrap_or_else(|| "ok".into());
        *seen.entry(verdict).or_default() += 1;
    }
    // The test is worth something only while programs are right and wrong in many ways.
    assert!(seen.get("ok").is_some_and(|&right| right * 10 > count), "{seen:#?}");
    assert!(seen.len() >= 6, "{seen:#?}");
    if count > 1000 {
        report(&seen);
    }
}

/// The files below a folder that use convergence operations, in order.
fn files_with_tokens(folder: PathBuf) -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the corpus is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "ll") {
                let text = String::from_utf8_lossy(&files::bytes(&path)).into_owned();
                if text.contains("experimental.convergence") || text.contains("convergencectrl") {
                    found.push((path, text));
                }
            }
        }
    }
    found.sort();
    found
}

/// The text without the functions that are defined in it but one: one text for each.
fn one_function_each(text: &str) -> Vec<String> {
    let mut rest: Vec<&str> = Vec::new();
    let mut functions: Vec<(Vec<&str>, String)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("define ") {
            is_inside = true;
            // What the others may call.
            let head = head.split(" {").next().unwrap_or(head);
            functions.push((Vec::new(), format!("declare {head}")));
        }
        match (is_inside, functions.last_mut()) {
            (true, Some((lines, _))) => lines.push(line),
            _ => rest.push(line),
        }
        is_inside &= line != "}";
    }
    let all = |at: usize| {
        let lines = functions.iter().enumerate().map(|(other, (lines, declaration))| {
            if other == at { lines.join("\n") } else { declaration.clone() }
        });
        rest.iter().map(|line| (*line).to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
    };
    (0..functions.len()).map(all).collect()
}

#[test]
fn tests_of_llvm_are_judged_as_llvm_judges_them() {
    let (Some(assembler), Some(corpus)) = (require("llvm-as"), require_corpus()) else { return };
    let (mut inputs, mut wrong) = (0, 0);
    for (path, text) in files_with_tokens(corpus) {
        let mut texts = one_function_each(&text);
        texts.push(text);
        for text in texts {
            let llvms = llvms(&assembler, &text);
            // A declaration made of a definition may not be one.
            if llvms.first().is_some_and(|line| line.contains("error: ")) {
                continue;
            }
            assert_eq!(ours(&text), llvms, "{}\n{text}", path.display());
            inputs += 1;
            wrong += usize::from(!llvms.is_empty());
        }
    }
    println!("{inputs} inputs, {wrong} of them wrong, 0 differences");
    assert!(inputs >= 30 && wrong >= 10, "{inputs} inputs, {wrong} of them wrong");
}

/// Longer runs say what they have met.
fn report(seen: &BTreeMap<String, u64>) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{seen:#?}");
}
