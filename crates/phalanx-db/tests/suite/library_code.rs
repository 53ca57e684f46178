//! Rows of the table of functions that are known by name, held against the code of libraries: a row
//! says of no function less than the code of a library does.
//!
//! | library | rows | where it is looked for |
//! |---|---|---|
//! | libclc | OpenCL C | `/usr/lib/clc`: Debian's `libclc-22` |
//! | ROCm's device libraries | `__ocml_*`, `__ockl_*` | `PHALANX_ROCM_DEVICE_LIBS`, or where Debian's `rocm-device-libs` and ROCm put them |
//! | libdevice | `__nv_*` | `PHALANX_LIBDEVICE`, or in `/usr/local/cuda`; it is in NVIDIA's Python package `nvidia-cuda-nvcc-cu12` |
//!
//! Some functions have no code in the libraries of today: `__nv_v*`, of which CUDA's headers have
//! the code now, and the rounded operations of `__ocml_*`, which are left out of Debian's build.
//! Rows about them are held against what clang's headers declare.
//!
//! What the code does is what our analysis of it says: an upper bound. A test says so and passes
//! where the library is not there.

#[expect(dead_code, reason = "other tests edit fixtures")]
#[path = "support.rs"]
mod support;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use phalanx_analysis::memory::effects::of_table;
use phalanx_db::{Database, TargetOverrides, queries};
use phalanx_ir::{
    Context,
    attributes::{MemoryEffects, MemoryLocation},
};
use phalanx_target::{
    Architecture, LaunchFacts, SourceSet, TransferContext,
    intrinsics::Intrinsic,
    library::{self, Language},
    transfer::Operand,
};
use phalanx_testing::{files, llvm_tools};
use support::Fixture;

/// A library as text; none if LLVM's disassembler is not there.
fn disassembled(path: &Path) -> Option<Vec<u8>> {
    let llvm_dis = llvm_tools::require("llvm-dis")?;
    let path = path.to_string_lossy();
    let outcome = llvm_dis.run([&*path, "-o", "-"], &[]).expect("it starts");
    assert!(outcome.success(), "{}", outcome.summary());
    Some(outcome.stdout)
}

/// The first of these files that is there.
fn found(what: &str, variable: &str, file: &str, folders: &[&str]) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(|folder| PathBuf::from(folder).join(file));
    let known = folders.iter().map(|folder| Path::new(folder).join(file));
    let found = named.into_iter().chain(known).find(|path| path.is_file());
    if found.is_none() {
        llvm_tools::skipped(&format!("{what} not found; {variable} may name its folder"));
    }
    found
}

/// What was compared.
#[derive(Default)]
struct Compared {
    /// Rows with code.
    rows: BTreeSet<String>,
    /// Functions with a row.
    functions: usize,
    /// Rows that say less than the code does.
    wrong: Vec<String>,
}

/// The rows of all functions of a library.
fn compare(text: &[u8], language: Language) -> Compared {
    let context = Arc::new(Context::new());
    let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text);
    let parsed = parsed.unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut db = Database::new();
    let module = db.load(parsed.module, None, TargetOverrides::default());
    // Nothing takes the place of its weak definitions.
    db.set_whole(module, true);
    let architecture = queries::target(&db, module).architecture();
    assert_ne!(architecture, Architecture::Generic);
    let mut all = Compared::default();
    for entry in module.functions(&db).iter().filter(|entry| entry.is_definition) {
        let Some(symbol) = entry.name.symbol() else { continue };
        let name = context.bytes(symbol);
        let Some(row) = library::find(name, architecture, language) else { continue };
        all.functions += 1;
        all.rows.insert(row.base.to_owned());
        for what in differences(&db, entry.input, row) {
            let name = String::from_utf8_lossy(name);
            all.wrong.push(format!("{} ({name}): {what}", row.base));
        }
    }
    all
}

const LOCATIONS: [MemoryLocation; 4] = [
    MemoryLocation::ArgMem,
    MemoryLocation::InaccessibleMem,
    MemoryLocation::ErrnoMem,
    MemoryLocation::Other,
];

/// What the code of a function does of which its row says nothing.
fn differences(db: &Database, function: phalanx_db::FunctionInput, row: Intrinsic) -> Vec<String> {
    let (summary, info) = (queries::summary(db, function), row.info);
    let mut wrong = Vec::new();
    let effects = summary.effects;
    if effects.convergent && !info.convergent {
        wrong.push("it is convergent".to_owned());
    }
    if effects.barrier && info.barrier.is_none() {
        wrong.push("it has a barrier".to_owned());
    }
    // Tables of constants may be read.
    let memory = of_table(info.memory);
    let writes = |of: MemoryEffects, at| of.access(at).writes();
    if LOCATIONS.into_iter().any(|at| writes(effects.memory, at) && !writes(memory, at)) {
        wrong.push(format!("it has {:?}", effects.memory));
    }
    // Uniform operands, none of them a constant: along which dimension is not known.
    let operands = [Operand::of(SourceSet::EMPTY); 8];
    let transfers = TransferContext::new(&LaunchFacts::default(), false);
    let said = info.result.evaluate(&operands[..], &transfers);
    let sources = summary.result.sources;
    // What may differ between any two threads, or workgroups, covers every way to differ there.
    let mut covered = said | SourceSet::OPAQUE_WAVE;
    if said.contains(SourceSet::OPAQUE_THREAD) {
        covered = SourceSet::ALL;
    }
    if said.contains(SourceSet::OPAQUE_GROUP) {
        covered |= SourceSet::BLOCK_XYZ;
    }
    // Where workgroups are asked about in memory, what is read is one for the wave.
    if info.has_result && !covered.contains(sources) {
        wrong.push(format!("it gives {sources}, not {said}"));
    }
    wrong
}

/// Rows of the table with one of these prefixes that have no code in a library.
fn without_code(rows: &BTreeSet<String>, prefix: &str) -> Vec<&'static str> {
    let mut names = library::names();
    names.retain(|name| name.starts_with(prefix) && !rows.contains(*name));
    names
}

/// Assembly that is understood has no barrier but those that stand there, though clang marks the
/// call convergent.
#[test]
fn barriers_of_assembly() {
    let has_barrier = |assembly: &str| {
        let text = format!(
            "target triple = \"amdgcn-amd-amdhsa\"
define i32 @kernel(i32 %n) {{
  %v = call i32 asm sideeffect \"{assembly}\", \"=v,0\"(i32 %n) convergent nounwind
  ret i32 %v
}}\n"
        );
        let fixture = Fixture::of(&text, "kernel");
        queries::summary(&fixture.db, fixture.edited()).effects.barrier
    };
    assert!(!has_barrier("; to keep $0 where it is"));
    assert!(!has_barrier("v_mov_b32 $0, $1"));
    assert!(has_barrier("s_barrier"));
    assert!(has_barrier("some_macro $0"));
}

#[test]
fn of_opencl() {
    let Some(path) =
        found("libclc-22", "PHALANX_LIBCLC", "amdgcn-amd-amdhsa.bc", &["/usr/lib/clc"])
    else {
        return;
    };
    let Some(text) = disassembled(&path) else { return };
    let all = compare(&text, Language::OpenCl);
    assert!(all.functions > 3_000, "{} functions", all.functions);
    let (count, wrong) = (all.functions, all.wrong);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn of_hip() {
    let folders = ["/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode"];
    let mut rows = BTreeSet::new();
    for file in ["ocml.bc", "ockl.bc"] {
        let what = "ROCm's device libraries";
        let Some(path) = found(what, "PHALANX_ROCM_DEVICE_LIBS", file, &folders) else { return };
        let Some(text) = disassembled(&path) else { return };
        let all = compare(&text, Language::Other);
        println!("{file}: {} functions, {} rows", all.functions, all.rows.len());
        let (count, wrong) = (all.functions, all.wrong);
        assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
        rows.extend(all.rows);
    }
    for prefix in ["__ocml_", "__ockl_"] {
        println!("without code: {:?}", without_code(&rows, prefix));
    }
    assert!(rows.len() > 250, "{} rows", rows.len());
}

#[test]
fn of_cuda() {
    let folders = ["/usr/local/cuda/nvvm/libdevice"];
    let path = found("libdevice", "PHALANX_LIBDEVICE", "libdevice.10.bc", &folders);
    let Some(text) = path.and_then(|path| disassembled(&path)) else { return };
    let all = compare(&text, Language::Other);
    println!("{} functions, {} rows", all.functions, all.rows.len());
    println!("without code: {:?}", without_code(&all.rows, "__nv_"));
    let (count, wrong) = (all.functions, all.wrong);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(all.rows.len() > 300, "{} rows", all.rows.len());
}

/// The declarations of a header of clang's, without comments and lines of the preprocessor.
fn declarations(clang: &llvm_tools::Program, header: &str) -> Option<Vec<String>> {
    let folder = clang.run(["-print-resource-dir"], &[]).expect("it starts").stdout;
    let folder = PathBuf::from(String::from_utf8(folder).expect("a path").trim());
    let path = folder.join("include").join(header);
    if !path.is_file() {
        llvm_tools::skipped(&format!("{header} not found"));
        return None;
    }
    let text = files::text(path);
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("//"));
    let text = lines.collect::<Vec<_>>().join(" ");
    Some(text.split(';').map(str::to_owned).collect())
}

/// Rows about functions of which no library has code: they are declared as functions of numbers
/// alone, and `is_pure` says the same of the declaration.
fn held_against_declarations(
    header: &str,
    is_such: impl Fn(&str) -> bool,
    is_pure: impl Fn(&str) -> bool,
) -> usize {
    let Some(clang) = llvm_tools::require("clang") else { return usize::MAX };
    let Some(declared) = declarations(&clang, header) else { return usize::MAX };
    let names: Vec<&str> = library::names().into_iter().filter(|name| is_such(name)).collect();
    for name in &names {
        let opened = format!(" {name}(");
        let mut all = declared.iter().filter_map(|text| Some((text, text.split_once(&opened)?.1)));
        let (text, parameters) = all.next().unwrap_or_else(|| panic!("{name} is not declared"));
        assert!(!parameters.contains('*') && is_pure(text), "{text}");
        let info = library::row(name).expect("it has a row").info;
        let is_nothing_else = info.barrier.is_none() && !info.convergent && info.has_result;
        assert!(is_nothing_else && of_table(info.memory) == MemoryEffects::NONE, "{name}");
        let operands = [Operand::of(SourceSet::EMPTY); 8];
        let transfers = TransferContext::new(&LaunchFacts::default(), false);
        assert!(info.result.evaluate(&operands[..], &transfers).is_empty(), "{name}");
    }
    names.len()
}

#[test]
fn of_numbers_in_parts() {
    let is_such = |name: &str| name.starts_with("__nv_v");
    // The header says nothing more: by CUDA's manual each computes part by part.
    let count = held_against_declarations("__clang_cuda_libdevice_declares.h", is_such, |_| true);
    assert!(count >= 80, "{count}");
}

#[test]
fn of_rounded_operations() {
    let is_such = |name: &str| {
        let roundings = ["_rte_", "_rtn_", "_rtp_", "_rtz_"];
        name.starts_with("__ocml_") && roundings.iter().any(|rounding| name.contains(rounding))
    };
    let is_pure = |text: &str| text.contains("__attribute__((const))");
    let count = held_against_declarations("__clang_hip_libdevice_declares.h", is_such, is_pure);
    assert!(count >= 48, "{count}");
}
