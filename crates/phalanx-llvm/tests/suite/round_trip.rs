//! Reading and printing loses nothing: for LLVM our text is the same module as the original.
//!
//! The oracle is `llvm-as | llvm-dis`. Three things are demanded of every text that LLVM reads:
//!
//! - LLVM makes the same of the original and of our text;
//! - reading LLVM's own text and writing it again changes no byte;
//! - reading our text and writing it again changes no byte.
//!
//! Our text of the original may differ from LLVM's, since LLVM also rewrites old forms and
//! declarations of intrinsics while it reads. The test counts and prints how often both are equal.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests read files and say what they saw"
)]

use crate::support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use phalanx_testing::llvm_tools::{Program, find, require_corpus, skipped, workspace_root};
use support::{Llvm, first_difference, ours};

/// Results of many files.
#[derive(Default)]
struct Tally {
    compared: usize,
    identical: usize,
    failures: Vec<String>,
    unlike_llvm: Vec<String>,
}

impl Tally {
    /// Reads, writes and compares one text. What LLVM does not read is left out.
    fn add(&mut self, llvm: &Llvm, name: &str, text: &[u8]) {
        let Ok(theirs) = llvm.rewrite(text) else { return };
        self.compared += 1;
        let written = match ours(text) {
            Ok(written) => written,
            Err(message) => return self.failures.push(format!("{name}: not read: {message}")),
        };
        match first_difference(&written, &theirs) {
            None => self.identical += 1,
            Some(difference) => self.unlike_llvm.push(format!("{name}: {difference}")),
        }
        match ours(&theirs) {
            Ok(again) => {
                if let Some(difference) = first_difference(&again, &theirs) {
                    self.failures.push(format!("{name}: LLVM's text, written by us: {difference}"));
                }
            }
            Err(message) => self.failures.push(format!("{name}: LLVM's text: {message}")),
        }
        match llvm.rewrite(&written) {
            Ok(again) => {
                if let Some(difference) = first_difference(&again, &theirs) {
                    self.failures.push(format!("{name}: after LLVM has read ours: {difference}"));
                }
            }
            Err(message) => self.failures.push(format!("{name}: LLVM refuses ours: {message}")),
        }
        match ours(&written) {
            Ok(again) => {
                if let Some(difference) = first_difference(&again, &written) {
                    self.failures.push(format!("{name}: after we have read ours: {difference}"));
                }
            }
            Err(message) => self.failures.push(format!("{name}: we refuse ours: {message}")),
        }
    }

    #[track_caller]
    fn finish(&self, what: &str) {
        println!("{what}: {} files, {} byte for byte", self.compared, self.identical);
        for difference in &self.unlike_llvm {
            println!("unlike LLVM: {difference}");
        }
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

/// All files below a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn corpus() {
    let (Some(folder), Some(llvm)) = (require_corpus(), Llvm::find()) else { return };
    let mut tally = Tally::default();
    for path in files(&folder, "ll") {
        let text = fs::read(&path).expect("a file of the corpus can be read");
        let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        tally.add(llvm, &name, &text);
    }
    assert!(tally.compared > 0, "the corpus holds nothing that LLVM reads");
    tally.finish("corpus");
}

#[test]
fn shipped_functions() {
    let Some(llvm) = Llvm::find() else { return };
    let mut tally = Tally::default();
    for path in files(&workspace_root().join("test-suite/ll"), "ll") {
        let text = fs::read(&path).expect("a file of the test suite can be read");
        tally.add(llvm, &path.display().to_string(), &text);
    }
    assert!(tally.compared > 0, "the test suite holds nothing that LLVM reads");
    tally.finish("test-suite/ll");
}

/// Kernels as clang compiles them without optimization and with debug information: the most varied
/// metadata.
#[test]
fn compiled_kernels() {
    let Some(llvm) = Llvm::find() else { return };
    let Some(clang) = find("clang") else { return skipped("clang-22 not found") };
    let clang = Program::new(clang).named("clang-22");
    let folder = workspace_root().join("test-suite/kernels");
    let kernels = [
        ("barriers.cl", "opencl", "amdgcn-amd-amdhsa", "-O0"),
        ("graph.cl", "opencl", "amdgcn-amd-amdhsa", "-O2"),
        ("segmented_scan.cl", "opencl", "nvptx64-nvidia-cuda", "-O1"),
        ("indirect_calls.cu", "cuda", "", "-O0"),
        ("particles.cu", "cuda", "", "-O2"),
    ];
    let mut tally = Tally::default();
    for (file, language, target, level) in kernels {
        let mut arguments = vec!["-S", "-emit-llvm", "-g", level, "-o", "-"];
        let path = folder.join(language).join(file).display().to_string();
        let target = format!("--target={target}");
        match language {
            "opencl" => arguments.extend(["-x", "cl", "-cl-std=CL2.0", "-nogpulib", &target]),
            _ => arguments.extend([
                "-x",
                "cuda",
                "-std=c++17",
                "--cuda-device-only",
                "-nocudainc",
                "-nocudalib",
                "--cuda-gpu-arch=sm_80",
                "--cuda-feature=+ptx70",
            ]),
        }
        arguments.push(&path);
        let outcome = clang.run(arguments, b"").expect("clang can be started");
        assert!(outcome.success(), "clang compiles {file}: {}", outcome.errors());
        tally.add(llvm, file, &outcome.stdout);
    }
    tally.finish("kernels");
}
