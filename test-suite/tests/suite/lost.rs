//! Stores to global memory whose index lost its dependence on the thread (PHX054) or on the
//! workgroup (PHX056). Kernels with the mistake have a finding at each level, and execution shows
//! the fault; correct twins have none.

use std::{collections::BTreeSet, fs, path::Path};

use phalanx_testing::llvm_tools::{self, TIME_LIMIT};
use serde_json::Value;

const CUDA: &str = "\
__global__ void wrong_constant(int *out) { out[0] = threadIdx.x; }
__global__ void wrong_block(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[blockIdx.x] = in[i];
}
__global__ void wrong_behind_bounds(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[0] = in[i] * 2.0f + 1.0f;
}
__global__ void parted_index(const float *in, float *out) {
  out[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void parted_constant(const float *in, float *out, int n) {
  if (blockIdx.x >= n)
    return;
  if (threadIdx.x == 0)
    out[0] = in[blockIdx.x] + 1.0f;
}
__global__ void parted_number(int *out, int n) {
  if (threadIdx.x == 0)
    out[n] = blockIdx.x * 2;
}
__global__ void right_group(const float *in, float *out, int n) {
  if (blockIdx.x == n)
    out[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void right_first_groups(int *out) {
  if (blockIdx.x < 1 && threadIdx.x == 0)
    out[0] = blockIdx.x + 7;
}
__global__ void right_first(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    out[1] = in[i];
}
__global__ void right_guard(const float *in, float *out) {
  if (threadIdx.x == 0)
    out[blockIdx.x] = in[blockIdx.x];
}
__global__ void right_lane(const float *in, float *out) {
  int lane = threadIdx.x % 32;
  float x = in[threadIdx.x];
  if (lane == 0 && threadIdx.x / 32 == 0)
    out[blockIdx.x] = x;
}
__global__ void right_one_value(int *out, int n) { out[0] = n; out[blockIdx.x] = blockDim.x; }
__global__ void right_search(const int *in, int *out, int key) {
  if (in[threadIdx.x] == key)
    *out = threadIdx.x;
}
__global__ void right_reduction(const float *in, float *out) {
  float x = in[threadIdx.x];
  for (int by = 16; by > 0; by /= 2)
    x += __shfl_xor_sync(0xffffffff, x, by);
  out[blockIdx.x] = x;
}
__global__ void right_shared(const float *in, float *out) {
  __shared__ float all[256];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[blockIdx.x] = all[0] + all[255];
}
__global__ void right_atomic(int *out) { atomicExch(&out[0], threadIdx.x); }
__global__ void right_index(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }
";

const OPENCL: &str = "\
kernel void wrong_constant(global int *out) { out[0] = get_local_id(0); }
kernel void wrong_group(global const float *in, global float *out) {
  out[get_group_id(0)] = in[get_global_id(0)];
}
kernel void parted_index(global const float *in, global float *out) {
  out[get_local_id(0)] = in[get_global_id(0)];
}
kernel void parted_number(global int *out) {
  if (get_local_id(0) == 0)
    out[0] = get_group_id(0);
}
kernel void right_first(global const float *in, global float *out) {
  if (get_group_id(0) == 0)
    out[get_local_id(0)] = in[get_global_id(0)];
}
kernel void right_guard(global const float *in, global float *out) {
  if (get_local_id(0) == 0)
    out[get_group_id(0)] = in[get_global_id(0)];
}
kernel void right_index(global const float *in, global float *out) {
  out[get_global_id(0)] = in[get_global_id(0)];
}
kernel void right_search(global const float *in, global int *out) {
  if (in[get_global_id(0)] > 0)
    out[0] = get_global_id(0);
}
";

/// Kernels, how they are launched, and whether `run --races` shows a race. A write of one value by
/// all threads is a race to it, so nothing is said of those.
const LAUNCHES: [(&str, &str, bool); 20] = [
    ("k.cu wrong_constant", "--arg buf:i32:0", true),
    ("k.cu wrong_block", "--arg buf:f32:iota*64 --arg buf:f32:0", true),
    ("k.cu wrong_behind_bounds", "--arg buf:f32:iota*64 --arg buf:f32:0 --arg i32:64", true),
    ("k.cu parted_index", "--grid 2 --arg buf:f32:iota*128 --arg buf:f32:zero*64", true),
    ("k.cu parted_constant", "--grid 2 --arg buf:f32:iota*64 --arg buf:f32:0 --arg i32:9", true),
    ("k.cu parted_number", "--grid 2 --arg buf:i32:zero*4 --arg i32:3", true),
    (
        "k.cu right_group",
        "--grid 2 --arg buf:f32:iota*128 --arg buf:f32:zero*64 --arg i32:1",
        false,
    ),
    ("k.cu right_first_groups", "--grid 2 --arg buf:i32:0", false),
    ("k.cu right_first", "--grid 2 --arg buf:f32:iota*64 --arg buf:f32:zero*2", false),
    ("k.cu right_guard", "--arg buf:f32:iota*64 --arg buf:f32:0", false),
    ("k.cu right_lane", "--arg buf:f32:iota*64 --arg buf:f32:0", false),
    ("k.cu right_atomic", "--arg buf:i32:0", false),
    ("k.cu right_index", "--arg buf:f32:iota*128 --arg buf:f32:zero*128", false),
    ("k.cl wrong_constant", "--arg buf:i32:0", true),
    ("k.cl wrong_group", "--arg buf:f32:iota*128 --arg buf:f32:0", true),
    ("k.cl parted_index", "--grid 2 --arg buf:f32:iota*128 --arg buf:f32:zero*64", true),
    ("k.cl parted_number", "--grid 2 --arg buf:i32:0", true),
    ("k.cl right_guard", "--arg buf:f32:iota*64 --arg buf:f32:0", false),
    ("k.cl right_index", "--arg buf:f32:iota*128 --arg buf:f32:zero*128", false),
    ("k.cl right_search", "--arg buf:f32:zero*128 --arg buf:i32:0", false),
];

fn run(folder: &Path, command: &str) -> llvm_tools::Outcome {
    let arguments: Vec<&str> = command.split_whitespace().collect();
    crate::phalanx().run_in(Some(folder), &arguments, &[], TIME_LIMIT).expect("it starts")
}

#[test]
fn stores_that_lost_the_thread() {
    if llvm_tools::require("clang").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("k.cu"), CUDA).expect("file");
    fs::write(folder.path().join("k.cl"), OPENCL).expect("file");
    let own = "--cache-dir cache --cuda-path none";
    for (file, text) in [("k.cu", CUDA), ("k.cl", OPENCL)] {
        for options in [" -- -O0", " -- -O2", "--group 64 -- -O0", "--group 64 -- -O2"] {
            let command = format!("check --format json {file} {own} {options}");
            let outcome = run(folder.path(), &command);
            let log: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
            let all = log[0]["diagnostics"].as_array().expect("findings");
            for (code, start) in [("PHX054", "wrong_"), ("PHX056", "parted_")] {
                let lost = all.iter().filter(|one| one["code"] == code);
                let found: BTreeSet<&str> =
                    lost.filter_map(|one| one["function"].as_str()).collect();
                let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                let wrong: BTreeSet<&str> = words.filter(|word| word.starts_with(start)).collect();
                assert_eq!(found, wrong, "{code}, {file} {options}: {log:#}");
            }
        }
    }
    for (kernel, arguments, is_race) in LAUNCHES {
        let command = format!("run --races {kernel} --group 64 {arguments} {own}");
        let outcome = run(folder.path(), &command);
        assert_eq!(outcome.status, Some(i32::from(is_race)), "{kernel}: {}", outcome.errors());
    }
}

/// Each thread compares another value with each case, which must not use up the steps that
/// executing a kernel may take.
#[test]
fn a_store_behind_a_switch_of_thousands_of_cases() {
    let cases: String = (0..4_000).map(|i| format!(" i32 {}, label %case", 3 * i)).collect();
    let text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"
        declare i32 @llvm.amdgcn.workitem.id.x()
        define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %n) {{
        entry:
          %t = call i32 @llvm.amdgcn.workitem.id.x()
          %s = add i32 %t, %n
          switch i32 %s, label %exit [{cases} ]
        case:
          %x = mul i32 %s, 3
          br label %exit
        exit:
          %r = phi i32 [ %s, %entry ], [ %x, %case ]
          store i32 %r, ptr addrspace(1) %out
          ret void
        }}
        "
    );
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("k.ll"), text).expect("file");
    let outcome = run(folder.path(), "check --format line --group 256 k.ll");
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert!(said.contains("[PHX054]"), "{said}");
}
