//! Tests `mark-loads` end to end: which machine instruction each load becomes, with `llc-22` alone
//! and after the pass.
//!
//! `llc-22` runs LLVM's own passes with the same purpose in both cases. Each kernel has one load
//! that matters, of a type that no other of its accesses has.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use expect_test::expect;
use phalanx_test_suite::kernels::{Manifest, Variant};
use phalanx_testing::llvm_tools::{self, Program};
use rayon::prelude::*;

use crate::phalanx;

const NVPTX: &str = r#"
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
@table = internal addrspace(1) constant [4 x i64] [i64 1, i64 2, i64 3, i64 4]
@quiet = internal addrspace(1) global [4 x i64] zeroinitializer
@loud = internal addrspace(1) global [4 x i64] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define internal i32 @reads(ptr %p) noinline {
  %v = load i32, ptr %p
  ret i32 %v
}
define ptx_kernel void @restrict_const(ptr noalias readonly %in, ptr noalias %out) {
  %v = load i64, ptr %in
  store i64 %v, ptr %out
  ret void
}
define ptx_kernel void @each_thread(ptr noalias readonly %in, ptr noalias %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i64, ptr %in, i32 %x
  %v = load i64, ptr %p
  store i64 %v, ptr %out
  ret void
}
define ptx_kernel void @not_written(ptr noalias %in, ptr noalias %out) {
  %v = load i64, ptr %in
  store i64 %v, ptr %out
  ret void
}
define ptx_kernel void @passed_to_a_reader(ptr noalias %in, ptr noalias %out) {
  %r = call i32 @reads(ptr %in)
  %v = load i64, ptr %in
  store i64 %v, ptr %out
  store i32 %r, ptr %out
  ret void
}
define ptx_kernel void @either(ptr noalias readonly %in, ptr noalias %other, ptr noalias %out, i1 %c) {
  %p = select i1 %c, ptr %in, ptr %other
  %v = load i64, ptr %p
  store i64 %v, ptr %out
  ret void
}
define ptx_kernel void @constant(ptr noalias %out) {
  %v = load i64, ptr addrspace(1) @table
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i64, ptr addrspace(1) @table, i32 %x
  %w = load i64, ptr addrspace(1) %p
  store i64 %w, ptr %out
  ret void
}
define ptx_kernel void @never_written(ptr noalias %out) {
  %v = load i64, ptr addrspace(1) @quiet
  store i64 %v, ptr %out
  ret void
}
define ptx_kernel void @written_elsewhere(ptr noalias %out) {
  %v = load i64, ptr addrspace(1) @loud
  store i64 %v, ptr %out
  ret void
}
define ptx_kernel void @the_writer(i64 %v) {
  store i64 %v, ptr addrspace(1) @loud
  ret void
}
define ptx_kernel void @aliased(ptr readonly %in, ptr %out) {
  %v = load i64, ptr %in
  store i64 %v, ptr %out
  ret void
}
define ptx_kernel void @written(ptr noalias %in) {
  %v = load i64, ptr %in
  %w = add i64 %v, 1
  store i64 %w, ptr %in
  ret void
}
"#;

const AMDGCN: &str = r#"
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.wave.reduce.umin.i32(i32, i32 immarg)
declare void @llvm.amdgcn.s.barrier()

define internal void @stores(ptr addrspace(1) %p) noinline {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @plain(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %v = load <4 x i32>, ptr addrspace(1) %in
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr <4 x i32>, ptr addrspace(1) %out, i32 %x
  store <4 x i32> %v, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @each_thread(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr <4 x i32>, ptr addrspace(1) %in, i32 %x
  %v = load <4 x i32>, ptr addrspace(1) %q
  %p = getelementptr <4 x i32>, ptr addrspace(1) %out, i32 %x
  store <4 x i32> %v, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @one_for_the_wave(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) %out) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %m = call i32 @llvm.amdgcn.wave.reduce.umin.i32(i32 %x, i32 0)
  %q = getelementptr <4 x i32>, ptr addrspace(1) %in, i32 %m
  %v = load <4 x i32>, ptr addrspace(1) %q
  %p = getelementptr <4 x i32>, ptr addrspace(1) %out, i32 %x
  store <4 x i32> %v, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @after_a_call(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) {
  call void @stores(ptr addrspace(1) %out)
  %v = load <4 x i32>, ptr addrspace(1) %in
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr <4 x i32>, ptr addrspace(1) %out, i32 %x
  store <4 x i32> %v, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @after_a_store(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  store i32 1, ptr addrspace(1) %out
  %v = load <4 x i32>, ptr addrspace(1) %in
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr <4 x i32>, ptr addrspace(1) %out, i32 %x
  store <4 x i32> %v, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @after_a_barrier(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %v = load <4 x i32>, ptr addrspace(1) %in
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr <4 x i32>, ptr addrspace(1) %out, i32 %x
  store <4 x i32> %v, ptr addrspace(1) %p
  ret void
}
"#;

/// The module after our passes; verified by LLVM.
fn marked(text: &str, passes: &str) -> String {
    let passes = format!("-passes={passes}");
    let out = phalanx().run(["opt", &passes, "-S", "-"], text.as_bytes()).expect("it runs");
    assert!(out.success(), "{}", out.errors());
    if let Some(opt) = llvm_tools::require("opt") {
        let verified =
            opt.run(["-passes=verify", "-disable-output"], &out.stdout).expect("it runs");
        assert!(verified.success(), "{}", verified.errors());
    }
    String::from_utf8(out.stdout).expect("text")
}

fn compiled(llc: &Program, text: &str, flags: &[&str]) -> String {
    let arguments = flags.iter().copied().chain(["-o", "-"]);
    let out = llc.run(arguments, text.as_bytes()).expect("it runs");
    assert!(out.success(), "{}", out.errors());
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// By kernel, the first instruction that `is_load` names.
fn loads(asm: &str, is_load: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in asm.lines() {
        let line = line.trim();
        let entry = line.strip_prefix(".visible .entry ").map(|rest| rest.trim_end_matches('('));
        let label = line.split_once(": ").filter(|(_, rest)| rest.contains("; @")).map(|(l, _)| l);
        if let Some(name) = entry.or(label) {
            found.push((name.to_owned(), String::new()));
        } else if let (Some((_, last)), Some(load)) = (found.last_mut(), is_load(line))
            && last.is_empty()
        {
            *last = load;
        }
    }
    found
}

/// A row per kernel, a column per way.
fn table(ways: &[Vec<(String, String)>]) -> String {
    let mut out = String::new();
    for (at, (name, _)) in ways[0].iter().enumerate() {
        let cells: Vec<&str> = ways.iter().map(|way| way[at].1.as_str()).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(out, "{name:<20}{}", cells.join(" -> "));
        }
    }
    out
}

/// An instruction of PTX that loads eight bytes from somewhere else than parameters.
fn ptx_load(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    let is_load = word.starts_with("ld") && !word.contains("param") && word.ends_with("64");
    is_load.then(|| word.to_owned())
}

fn gcn_load(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    let is_load = word.starts_with("global_load_dwordx4") || word.starts_with("s_load_dwordx4");
    // The arguments of the kernel are loaded like that too, from where s[4:5] and the like lead: of
    // two loads the last is meant.
    is_load.then(|| word.to_owned())
}

/// LLVM alone, our marks, our marks with LDU.
#[test]
fn ptx() {
    let Some(llc) = llvm_tools::require("llc") else { return };
    let flags = ["-mcpu=sm_80"];
    let ways = [NVPTX.to_owned(), marked(NVPTX, "mark-loads"), marked(NVPTX, "mark-loads<ldu>")]
        .map(|text| loads(&compiled(&llc, &text, &flags), ptx_load));
    expect![[r#"
        restrict_const      ld.global.nc.b64 -> ld.global.nc.b64 -> ldu.global.b64
        each_thread         ld.global.nc.b64 -> ld.global.nc.b64 -> ld.global.nc.b64
        not_written         ld.global.b64 -> ld.global.nc.b64 -> ldu.global.b64
        passed_to_a_reader  ld.global.b64 -> ld.global.nc.b64 -> ldu.global.b64
        either              ld.global.b64 -> ld.global.nc.b64 -> ldu.global.b64
        constant            ld.global.nc.b64 -> ld.global.nc.b64 -> ld.global.nc.b64
        never_written       ld.global.b64 -> ld.global.nc.b64 -> ldu.global.b64
        written_elsewhere   ld.global.b64 -> ld.global.b64 -> ld.global.b64
        aliased             ld.global.b64 -> ld.global.b64 -> ld.global.b64
        written             ld.global.b64 -> ld.global.b64 -> ld.global.b64
    "#]]
    .assert_eq(&table(&ways));
}

/// LLVM alone, and our marks. LLVM's own mark ignores the barrier, and ours cannot remove it.
#[test]
fn gcn() {
    let Some(llc) = llvm_tools::require("llc") else { return };
    let flags = ["-mcpu=gfx900"];
    let last = |asm: &str| {
        // What is loaded last before the stores begin.
        let mut found: Vec<(String, String)> = Vec::new();
        for line in asm.lines().map(str::trim) {
            let label = line.split_once(':').filter(|(_, rest)| rest.contains("; @"));
            if let Some((name, _)) = label {
                found.push((name.to_owned(), String::new()));
            } else if let (Some((_, last)), Some(load)) = (found.last_mut(), gcn_load(line)) {
                *last = load;
            }
        }
        found
    };
    let ways = [AMDGCN.to_owned(), marked(AMDGCN, "mark-loads")]
        .map(|text| last(&compiled(&llc, &text, &flags)));
    expect![[r#"
        plain               s_load_dwordx4 -> s_load_dwordx4
        each_thread         global_load_dwordx4 -> global_load_dwordx4
        one_for_the_wave    global_load_dwordx4 -> s_load_dwordx4
        after_a_call        s_load_dwordx4 -> s_load_dwordx4
        after_a_store       global_load_dwordx4 -> global_load_dwordx4
        after_a_barrier     s_load_dwordx4 -> s_load_dwordx4
    "#]]
    .assert_eq(&table(&ways));
}

/// Loads of all our kernels: the instructions of `llc-22` alone, after our pass, and after address
/// spaces were inferred as well. This is the table of `docs/loads.md`; `UPDATE_EXPECT=1` writes it.
///
/// Code compiled without optimisation is marked `optnone`, which LLVM's passes respect; the test
/// removes the mark.
#[test]
fn kernels() {
    let (Some(llc), Ok(manifest)) = (llvm_tools::require("llc"), Manifest::read()) else { return };
    let Some(compiler) = manifest.compiler() else { return };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let is_meant = |v: &Variant| !v.debug && ["-O0", "-O2"].contains(&v.level.as_str());
    let variants: Vec<Variant> = manifest.variants().into_iter().filter(is_meant).collect();
    let counted: Vec<(String, [usize; 6])> = variants
        .par_iter()
        .map(|variant| {
            let path = manifest.compile(&compiler, variant, &folder).expect("compiles");
            let text = std::fs::read_to_string(path).expect("readable").replace(" optnone", "");
            let both = marked(&text, "infer-address-spaces,mark-loads");
            let marked = marked(&text, "mark-loads");
            let (flags, cheap, plain): (&[&str], &str, &[&str]) = match variant.target.as_str() {
                "nvptx" => (
                    &["-mcpu=sm_80", "-mattr=+ptx70"],
                    "ld.global.nc",
                    &["ld.global", "ld.b", "ld.v"],
                ),
                _ => (&["-mcpu=gfx90a"], "s_load", &["global_load", "flat_load"]),
            };
            let mut counts = [0; 6];
            for (at, text) in [&text, &marked, &both].into_iter().enumerate() {
                for word in compiled(&llc, text, flags).lines().filter_map(instruction) {
                    let is_cheap = word.starts_with(cheap);
                    counts[at] += usize::from(is_cheap);
                    let is_plain = plain.iter().any(|plain| word.starts_with(plain));
                    counts[3 + at] += usize::from(!is_cheap && is_plain);
                }
            }
            let language = if variant.file.starts_with("cuda") { "CUDA" } else { "OpenCL" };
            let target = if variant.target == "nvptx" { "NVPTX" } else { "AMDGPU" };
            (format!("{target}, {language}, {}", variant.level), counts)
        })
        .collect();
    let mut rows: BTreeMap<&str, [usize; 6]> = BTreeMap::new();
    for (name, counts) in &counted {
        let row = rows.entry(name).or_default();
        row.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let mut table = String::from(
        "| | cheap: LLVM 22 | here | and `infer-address-spaces` | plain: LLVM 22 | here | and `infer-address-spaces` |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (name, counts) in rows {
        let cells = counts.map(|count| count.to_string()).join(" | ");
        let _ = writeln!(table, "| {name} | {cells} |");
    }
    let page = phalanx_test_suite::folder().join("../docs/loads.md");
    let text = std::fs::read_to_string(&page).expect("the page");
    let start = text.find("| | cheap: LLVM 22").expect("a table");
    let end = start + text[start..].find("\n\n").expect("an end") + 1;
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let written = format!("{}{table}{}", &text[..start], &text[end..]);
        std::fs::write(&page, written).expect("writable");
    } else {
        assert_eq!(&text[start..end], table, "run with UPDATE_EXPECT=1 to update docs/loads.md");
    }
}

/// The name of an instruction, without its predicate.
fn instruction(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| !word.starts_with('@'))
}
