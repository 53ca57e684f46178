//! Asynchronous copies whose memory is accessed before a wait (PHX055). Kernels with the mistake
//! have a finding at each level and where the call was not inlined; for errors, execution shows the
//! fault. Correct twins have no finding.

use std::{collections::BTreeSet, fs, path::Path};

use phalanx_testing::llvm_tools::{self, TIME_LIMIT};
use serde_json::Value;

const OPENCL: &str = "\
kernel void wrong_read(global const float *in, global float *out) {
  local float tile[64];
  event_t e = async_work_group_copy(tile, in, 64, 0);
  out[get_global_id(0)] = tile[63 - get_local_id(0)];
  wait_group_events(1, &e);
}
kernel void wrong_barrier(global const int *in, global int *out) {
  local int tile[64];
  event_t e = async_work_group_copy(tile, in, 64, 0);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[get_local_id(0)];
  wait_group_events(1, &e);
}
kernel void wrong_write_out(global const float *in, global float *out, int twice) {
  local float4 tile[64];
  int l = get_local_id(0);
  tile[l] = in[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  event_t e = async_work_group_copy((global float4 *)out, tile, 64, 0);
  if (twice) tile[l] = 0;
  wait_group_events(1, &e);
}
kernel void right_wait(global const float *in, global float *out) {
  local float tile[64];
  event_t e = async_work_group_copy(tile, in, 64, 0);
  wait_group_events(1, &e);
  out[get_global_id(0)] = tile[63 - get_local_id(0)];
}
kernel void right_halves(global const float *in, global float *out, int n) {
  local float tile[2][64];
  event_t e = async_work_group_copy(tile[0], in, 64, 0);
  for (int k = 0; k < n; k++) {
    wait_group_events(1, &e);
    if (k + 1 < n) e = async_work_group_copy(tile[(k + 1) & 1], in + 64 * (k + 1), 64, 0);
    out[get_global_id(0)] += tile[k & 1][get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
kernel void right_buffers(global const float *in, global float *out, int n) {
  local float a[64], b[64];
  event_t e = async_work_group_copy(a, in, 64, 0);
  for (int k = 0; k < n; k += 2) {
    wait_group_events(1, &e);
    e = async_work_group_copy(b, in + 64 * (k + 1), 64, 0);
    out[get_global_id(0)] += a[get_local_id(0)];
    wait_group_events(1, &e);
    e = async_work_group_copy(a, in + 64 * (k + 2), 64, 0);
    out[get_global_id(0)] += b[get_local_id(0)];
  }
  wait_group_events(1, &e);
}
kernel void right_read_out(global float *out) {
  local float tile[64];
  int l = get_local_id(0);
  tile[l] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  event_t e = async_work_group_copy(out, tile, 64, 0);
  out[64 + l] = tile[63 - l];
  wait_group_events(1, &e);
}
";

/// A thread copies, and reads what it has copied: before the wait, and behind it; and another
/// element of two that take turns.
const MODULE: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [64 x float] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.wait.all()
define ptx_kernel void @wrong_thread(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr float, ptr addrspace(3) @tile, i32 %x
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr addrspace(1) %in)
  %v = load float, ptr addrspace(3) %to
  call void @llvm.nvvm.cp.async.wait.all()
  store float %v, ptr addrspace(1) %out
  ret void
}
define ptx_kernel void @right_thread(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr float, ptr addrspace(3) @tile, i32 %x
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr addrspace(1) %in)
  call void @llvm.nvvm.cp.async.wait.all()
  %v = load float, ptr addrspace(3) %to
  store float %v, ptr addrspace(1) %out
  ret void
}
define ptx_kernel void @right_rounds(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n) {
entry:
  br label %round
round:
  %k = phi i32 [ 0, %entry ], [ %next, %round ]
  %to = getelementptr float, ptr addrspace(3) @tile, i32 %k
  %v = load float, ptr addrspace(3) %to
  store float %v, ptr addrspace(1) %out
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr addrspace(1) %in)
  %next = add i32 %k, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %round, label %exit
exit:
  call void @llvm.nvvm.cp.async.wait.all()
  ret void
}
"#;

fn run(folder: &Path, command: &str) -> llvm_tools::Outcome {
    let arguments: Vec<&str> = command.split_whitespace().collect();
    crate::phalanx().run_in(Some(folder), &arguments, &[], TIME_LIMIT).expect("it starts")
}

/// Functions in which there is a finding, and its level.
fn pending(folder: &Path, command: &str) -> BTreeSet<(String, String)> {
    let outcome = run(folder, command);
    let log: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let all = log[0]["diagnostics"].as_array().expect("findings");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let found = all.iter().filter(|one| one["code"] == "PHX055");
    found.map(|one| (text(&one["function"]), text(&one["level"]))).collect()
}

fn of(all: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    all.iter().map(|&(name, level)| (name.to_owned(), level.to_owned())).collect()
}

#[test]
fn copies_of_a_workgroup() {
    if llvm_tools::require("clang").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("k.cl"), OPENCL).expect("file");
    let expected = of(&[
        ("wrong_read", "error"),
        ("wrong_barrier", "warning"),
        ("wrong_write_out", "warning"),
    ]);
    for options in ["-- -O0", "-- -O2", "--mtriple spirv64-unknown-unknown"] {
        let command = format!("check --format json k.cl --cache-dir cache {options}");
        assert_eq!(pending(folder.path(), &command), expected, "{options}");
    }
    let arguments = "--arg buf:f32:iota*64 --arg buf:f32:zero*64 --mtriple spirv64-unknown-unknown";
    for (kernel, is_race) in [("wrong_read", true), ("right_wait", false)] {
        let command = format!("run k.cl {kernel} --cache-dir cache --group 64 {arguments}");
        let outcome = run(folder.path(), &command);
        assert_eq!(outcome.status, Some(i32::from(is_race)), "{kernel}: {}", outcome.errors());
    }
}

#[test]
fn copies_of_a_thread() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("k.ll"), MODULE).expect("file");
    let found = pending(folder.path(), "check --format json k.ll");
    assert_eq!(found, of(&[("wrong_thread", "warning")]));
}
