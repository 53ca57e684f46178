//! Compares `print<memoryssa>` with LLVM's output: the same definitions, uses and phis, except for
//! their numbers.
//!
//! LLVM is asked not to optimise uses, since that depends on its alias analyses. One function of
//! its tests differs: it calls an intrinsic that accesses no memory, which LLVM does not know.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use expect_test::expect;
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

/// What a printing pass says of a file in `ll/`.
fn printed(pass: &str, file: &str) -> String {
    let folder = phalanx_test_suite::folder().join("ll");
    let pass = format!("-passes={pass}");
    let arguments = ["opt", pass.as_str(), "-disable-output", file];
    let limit = llvm_tools::TIME_LIMIT;
    let outcome = crate::phalanx().run_in(Some(&folder), arguments, &[], limit).expect("it starts");
    outcome.errors()
}

/// Accesses of one file, pair by pair: of different memories, of one address, of anything.
#[test]
fn aliases() {
    expect![[r#"
        Aliases of function: put
          may      store i32 %v, ptr %p, align 4 | store i32 %v, ptr %q, align 4
        Aliases of function: first
        Aliases of function: second
    "#]]
    .assert_eq(&printed("print<alias>", "specialize.ll"));
    let all = printed("print<alias>", "hssa.ll");
    let store = "store i32 %first, ptr %tile, align 4 | ";
    let of_store: Vec<&str> =
        all.lines().filter(|line| line.contains(store)).map(str::trim).collect();
    expect![[r#"
          no       store i32 %first, ptr %tile, align 4 | %second = load i32, ptr addrspace(1) %g, align 4
          no       store i32 %first, ptr %tile, align 4 | %k = load i32, ptr %slot, align 4
          no       store i32 %first, ptr %tile, align 4 | store i32 %k, ptr %out, align 4
          no       store i32 %first, ptr %tile, align 4 | %third = load i32, ptr addrspace(1) %g, align 4
          must     store i32 %first, ptr %tile, align 4 | %seen = load i32, ptr %tile, align 4
          may      store i32 %first, ptr %tile, align 4 | store i32 %seen, ptr %p, align 4
          no       store i32 %first, ptr %tile, align 4 | %last = load i32, ptr addrspace(1) %g, align 4"#]].assert_eq(&of_store.join("\n"));
}

/// A store through a pointer to workgroup memory does not affect two loads of device memory; a
/// store through an unknown pointer does. A barrier makes writes of other threads visible.
#[test]
fn classes_and_slots() {
    expect![[r#"
        HSSA for function: put
        define internal void @put(ptr %p, i32 %v) {
        ; workgroup.1 = chi(workgroup.0)
          store i32 %v, ptr %p, align 4
          ret void
        }
        HSSA for function: f
        define ptx_kernel void @f(ptr addrspace(1) %g, ptr %out, i32 %n, i1 %c) {
        entry:
          %slot = alloca i32, align 4
        ; %slot.1 = def
          store i32 %n, ptr %slot, align 4
          %tile = addrspacecast ptr addrspace(3) @lds to ptr
        ; mu(global.0)
          %first = load i32, ptr addrspace(1) %g, align 4
        ; workgroup.1 = chi(workgroup.0)
          store i32 %first, ptr %tile, align 4
        ; workgroup.2 = chi(workgroup.1)
          call void @put(ptr %tile, i32 %n)
        ; mu(global.0)
          %second = load i32, ptr addrspace(1) %g, align 4
          br i1 %c, label %then, label %end

        then:                                             ; preds = %entry
        ; mu(%slot.1)
          %k = load i32, ptr %slot, align 4
        ; global.1 = chi(global.0)
          store i32 %k, ptr %out, align 4
          br label %end

        end:                                              ; preds = %then, %entry
        ; global.2 = phi({entry,global.0},{then,global.1})
        ; mu(global.2)
          %third = load i32, ptr addrspace(1) %g, align 4
        ; mu(private.0, workgroup.2, global.2, constant.0, other.0)
        ; workgroup.3 = chi(workgroup.2)
        ; global.3 = chi(global.2)
        ; other.1 = chi(other.0)
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
        ; mu(workgroup.3)
          %seen = load i32, ptr %tile, align 4
        ; mu(private.0, workgroup.3, global.3, constant.0, other.1)
        ; private.1 = chi(private.0)
        ; workgroup.4 = chi(workgroup.3)
        ; global.4 = chi(global.3)
        ; other.2 = chi(other.1)
          %p = call ptr @unknown()
        ; private.2 = chi(private.1)
        ; workgroup.5 = chi(workgroup.4)
        ; global.5 = chi(global.4)
        ; other.3 = chi(other.2)
          store i32 %seen, ptr %p, align 4
        ; mu(global.5)
          %last = load i32, ptr addrspace(1) %g, align 4
          ret void
        }
    "#]]
    .assert_eq(&printed("print<hssa>", "hssa.ll"));
}
