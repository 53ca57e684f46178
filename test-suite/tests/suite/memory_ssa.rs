//! `print<memoryssa>` held against LLVM's: the same definitions, uses and phis, by whatever numbers.
//!
//! LLVM is asked not to optimise uses, since what it then says depends on its alias analyses. One function of its tests
//! differs: it calls an intrinsic that touches no memory, of which LLVM does not know that.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use phalanx_test_suite::kernels::Manifest;
use phalanx_testing::llvm_tools::{self, Program};
use rayon::prelude::*;

/// What is said of one access, in words that do not depend on numbers.
type Line = (String, String);

/// What is said of each function.
fn listing(text: &str) -> BTreeMap<String, Vec<Line>> {
    let mut functions: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut current: Option<&mut Vec<&str>> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("MemorySSA for function: ") {
            current = Some(functions.entry(name.to_owned()).or_default());
        } else if let Some(lines) = &mut current {
            lines.push(line);
        }
    }
    functions.into_iter().map(|(name, lines)| (name, accesses(&lines))).collect()
}

/// Definitions are called by the number of their instruction, phis by their block.
fn accesses(lines: &[&str]) -> Vec<Line> {
    let mut called: BTreeMap<&str, String> = BTreeMap::new();
    let mut found: Vec<(String, Vec<(String, &str)>)> = Vec::new();
    let (mut block, mut insts) = (String::from("entry"), 0);
    for line in lines {
        if let Some(rest) = line.strip_prefix("; ") {
            let (number, what) = rest.split_once(" = ").unwrap_or(("", rest));
            let Some((kind, arguments)) = what.split_once('(') else { continue };
            let arguments = arguments.trim_end_matches(')');
            match kind {
                "MemoryPhi" => {
                    called.insert(number, format!("phi of {block}"));
                    let entries = arguments.trim_matches(['{', '}']).split("},{");
                    let entries = entries.filter_map(|entry| entry.rsplit_once(','));
                    let mut entries: Vec<(String, &str)> =
                        entries.map(|(pred, v)| (pred.trim_matches('"').to_owned(), v)).collect();
                    entries.sort();
                    entries.dedup();
                    found.push((format!("phi of {block}"), entries));
                }
                "MemoryDef" => {
                    called.insert(number, format!("definition {insts}"));
                    let before = arguments.split(')').next().unwrap_or_default();
                    found.push((format!("definition {insts}"), vec![(String::new(), before)]));
                }
                "MemoryUse" => {
                    let before = arguments.split(')').next().unwrap_or_default();
                    found.push((format!("use {insts}"), vec![(String::new(), before)]));
                }
                _ => {}
            }
        } else if line.starts_with("  ") && !line.trim_start().starts_with("#dbg") {
            insts += 1;
        } else if let Some((label, _)) = line.split_once(':')
            && !line.starts_with([' ', ';', 'd'])
        {
            block = label.trim_matches('"').to_owned();
        } else if let Some((label, _)) = line.split_once(':')
            && line.starts_with('d')
            && !line.starts_with("define ")
        {
            block = label.to_owned();
        }
    }
    let name = |number: &str| called.get(number).cloned().unwrap_or_else(|| number.to_owned());
    found
        .into_iter()
        .map(|(what, before)| {
            let mut before: Vec<String> =
                before.iter().map(|(from, number)| format!("{from} {}", name(number))).collect();
            before.sort();
            (what, before.join(", "))
        })
        .collect()
}

#[derive(Default)]
struct Tally {
    functions: usize,
    accesses: usize,
    different: Vec<String>,
}

fn compare(opt: &Program, file: &Path) -> Tally {
    let flags = ["-passes=print<memoryssa><no-ensure-optimized-uses>", "-disable-output"];
    let file_name = file.display().to_string();
    let theirs = opt.run(flags.iter().copied().chain([&*file_name]), &[]).expect("it starts");
    let mut tally = Tally::default();
    if !theirs.success() {
        return tally;
    }
    let ours = crate::phalanx().run(["opt", "-passes=print<memoryssa>", &file_name], &[]);
    let ours = listing(&String::from_utf8_lossy(&ours.expect("it starts").stderr));
    for (name, theirs) in listing(&String::from_utf8_lossy(&theirs.stderr)) {
        tally.functions += 1;
        tally.accesses += theirs.len();
        if ours.get(&name) != Some(&theirs) {
            tally.different.push(format!("{file_name}: {name}"));
        }
    }
    tally
}

fn compare_all(opt: &Program, files: &[PathBuf]) -> Tally {
    let add = |mut all: Tally, mut one: Tally| {
        all.functions += one.functions;
        all.accesses += one.accesses;
        all.different.append(&mut one.different);
        all
    };
    files.par_iter().map(|file| compare(opt, file)).reduce(Tally::default, add)
}

#[test]
fn memory_ssa_of_kernels_is_llvms() {
    let manifest = Manifest::read().expect("manifest");
    let (Some(compiler), Some(opt)) = (manifest.compiler(), llvm_tools::require("opt")) else {
        return;
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let files: Vec<PathBuf> = manifest
        .sample()
        .iter()
        .map(|variant| manifest.compile(&compiler, variant, &folder).expect("it compiles"))
        .collect();
    let tally = compare_all(&opt, &files);
    assert!(tally.functions > 50 && tally.accesses > 500, "{}", tally.accesses);
    assert_eq!(tally.different, Vec::<String>::new());
}

#[test]
fn memory_ssa_of_llvms_tests_is_llvms() {
    let (Some(corpus), Some(opt)) = (llvm_tools::require_corpus(), llvm_tools::require("opt"))
    else {
        return;
    };
    let mut files = Vec::new();
    let mut folders = vec![corpus];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ll") {
                files.push(path);
            }
        }
    }
    files.sort();
    let tally = compare_all(&opt, &files);
    assert!(tally.functions > 600, "{}", tally.functions);
    let is_known = |entry: &String| entry.ends_with(": test_loop_uniform");
    let unknown: Vec<String> = tally.different.into_iter().filter(|e| !is_known(e)).collect();
    assert_eq!(unknown, Vec::<String>::new());
}
