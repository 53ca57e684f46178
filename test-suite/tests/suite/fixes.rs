//! Fixes of `phalanx check`: after `--fix` the source compiles, has no finding, and the kernel runs
//! to its end without a race.

use std::{fs, path::Path};

use expect_test::{Expect, expect};
use phalanx_testing::llvm_tools::{self, Outcome, TIME_LIMIT};
use serde_json::Value;
use tempfile::TempDir;

use crate::sarif_format::validate;

/// A folder with a file; none where there is no clang.
fn folder_with(file: &str, text: &str) -> Option<TempDir> {
    llvm_tools::require("clang")?;
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join(file), text).expect("file");
    Some(folder)
}

fn run(folder: &Path, command: &str) -> Outcome {
    let own = "--cuda-path none --cache-dir cache --color never";
    let (command, flags) = command.split_once(" -- ").unwrap_or((command, ""));
    let mut arguments: Vec<&str> = command.split_whitespace().chain(own.split(' ')).collect();
    if !flags.is_empty() {
        arguments.push("--");
        arguments.extend(flags.split_whitespace());
    }
    crate::phalanx().run_in(Some(folder), &arguments, &[], TIME_LIMIT).expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is wrong with a source, and how it is looked at.
struct Case {
    file: &'static str,
    text: &'static str,
    /// Arguments of `check` beside the file.
    options: &'static str,
    /// Those of `run` behind the file.
    launch: &'static str,
    /// Whether `run` shows what is wrong.
    is_shown: bool,
}

/// Checks the lines that differ after `--fix`, and that the result is correct.
#[track_caller]
fn fixed(case: &Case, expected: &Expect) {
    let Case { file, text: before, options, launch, is_shown } = *case;
    let Some(folder) = folder_with(file, before) else { return };
    let launched = |folder: &Path| run(folder, &format!("run {file} {launch}"));
    let shown = launched(folder.path());
    assert_eq!(shown.status, Some(i32::from(is_shown)), "{}", shown.errors());
    let outcome = run(folder.path(), &format!("check --fix {file} {options}"));
    let said = outcome.errors();
    assert!(said.starts_with(&format!("fixed {file}:")), "{said}{}", text(&outcome.stdout));
    assert_eq!(outcome.status, Some(0), "{}", text(&outcome.stdout));
    assert!(text(&outcome.stdout).starts_with("nothing found;"), "{}", text(&outcome.stdout));
    let after = fs::read_to_string(folder.path().join(file)).expect("file");
    let shown = launched(folder.path());
    assert_eq!(shown.status, Some(0), "{}\n{after}", shown.errors());
    let is_new = |line: &&str| {
        !before.lines().any(|old| old == *line)
            || line.contains("barrier")
            || line.contains("__sync")
    };
    let new: Vec<&str> = after.lines().filter(is_new).map(str::trim).collect();
    expected.assert_eq(&(new.join("\n") + "\n"));
}

const SHIFT: &str = "\
__global__ void shift(const float *in, float *out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  // the neighbour
  out[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}
";

#[test]
fn a_missing_barrier() {
    let case = Case {
        file: "k.cu",
        text: SHIFT,
        options: "--group 64",
        launch: "shift --group 64 --arg buf:f32:iota*64 --arg buf:f32:zero*64",
        is_shown: true,
    };
    fixed(
        &case,
        &expect![[r#"
              __syncthreads();
        "#]],
    );
    let text = "\
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void shift(global const float *in, global float *out) {
  local float tile[128];
  int t = get_local_id(0);
  tile[t] = in[t]; out[t] = tile[(t + 1) % 128];
}
";
    let launch = "shift --group 128 --arg buf:f32:iota*128 --arg buf:f32:zero*128";
    let case = Case { file: "k.cl", text, options: "", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
              tile[t] = in[t]; barrier(CLK_LOCAL_MEM_FENCE); out[t] = tile[(t + 1) % 128];
        "#]],
    );
}

/// One behind the writes of a round, and one behind its reads.
#[test]
fn barriers_of_a_loop() {
    let text = "\
__global__ void rounds(const int *in, int *out) {
  __shared__ int tile[64];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 4; i++) {
    tile[t] = in[i * 64 + t];
    if (t < 60)
      out[i * 64 + t] = tile[63 - t];
  }
}
";
    let launch = "rounds --group 64 --arg buf:i32:iota*256 --arg buf:i32:zero*256";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
                __syncthreads();
                __syncthreads();
        "#]],
    );
    let text = "\
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void sum(global const int *in, global int *out) {
  local int tile[256];
  int t = get_local_id(0);
  tile[t] = in[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int by = 128; by > 0; by /= 2)
    if (t < by)
      tile[t] += tile[t + by];
  if (t == 0)
    out[0] = tile[0];
}
";
    let launch = "sum --group 256 --arg buf:i32:iota*256 --arg buf:i32:zero*1";
    let case = Case { file: "k.cl", text, options: "", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
              barrier(CLK_LOCAL_MEM_FENCE);
              for (int by = 128; by > 0; by /= 2) {
              barrier(CLK_LOCAL_MEM_FENCE);
              }
        "#]],
    );
}

#[test]
fn a_warp_that_relies_on_lockstep() {
    let text = "\
__global__ void last(int *p) {
  __shared__ int line[64];
  int t = threadIdx.x;
  line[t] = p[t];
  __syncthreads();
  if (t < 32) {
    line[t] += line[t + 32];
    p[t] = line[t ^ 1];
  }
}
";
    let launch = "last --group 64 --arg buf:i32:iota*64";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
            __syncthreads();
            __syncwarp();
        "#]],
    );
}

/// A barrier that ends a branch goes behind it, one that begins it before it.
#[test]
fn a_barrier_in_a_branch() {
    let text = "\
__global__ void copy(int *p, int *q) {
  __shared__ int tile[64];
  if (threadIdx.x < 48) {
    tile[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
  }
  q[threadIdx.x] = tile[threadIdx.x % 48];
}
";
    let launch = "copy --group 64 --arg buf:i32:iota*64 --arg buf:i32:zero*64";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
              __syncthreads();
        "#]],
    );
    let text = "\
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void turn(global int *p, global int *q) {
  local int tile[256];
  int t = get_local_id(0);
  tile[t] = p[t];
  if (t < 128) {
    barrier(CLK_LOCAL_MEM_FENCE);
    q[t] = tile[255 - t];
  }
}
";
    let launch = "turn --group 256 --arg buf:i32:iota*256 --arg buf:i32:zero*256";
    let case = Case { file: "k.cl", text, options: "", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
              barrier(CLK_LOCAL_MEM_FENCE);
        "#]],
    );
}

/// Without braces the `if` goes, and the barrier stays where it is.
#[test]
fn a_barrier_that_is_all_of_an_if() {
    let text = "\
__global__ void turn(int *p) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  tile[t] = p[t];
  if (t < 48)
    __syncthreads();
  p[t] = tile[63 - t];
}
";
    let launch = "turn --group 64 --arg buf:i32:iota*64";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
        __syncthreads();
    "#]],
    );
}

/// PHX003: the barrier stands just behind the return.
#[test]
fn a_barrier_after_some_have_returned() {
    let text = "\
__global__ void tail(int *p, int n) {
  if (threadIdx.x >= n)
    return;
  __syncthreads();
  p[threadIdx.x] = 1;
}
";
    let launch = "tail --group 64 --arg buf:i32:iota*64 --arg i32:48";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: false };
    fixed(
        &case,
        &expect![[r#"
            __syncthreads();
        "#]],
    );
}

/// PHX016: what is read is not in the mask; PHX014, nor is who reads.
#[test]
fn a_mask_without_the_lanes_that_are_read() {
    let text = "\
__global__ void swap(int *p) {
  int t = threadIdx.x;
  p[t] = __shfl_xor_sync(0xffff, p[t], 16);
}
";
    let launch = "swap --group 64 --arg buf:i32:iota*64";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
        p[t] = __shfl_xor_sync(0xffffffff, p[t], 16);
    "#]],
    );
}

/// PHX043: a wave may write the flag of the next round before another has read it.
#[test]
fn a_flag_that_is_written_too_soon() {
    let text = "\
__global__ void rounds(int *p, unsigned *next) {
  __shared__ unsigned job;
  for (;;) {
    if (threadIdx.x == 0)
      job = atomicAdd(next, 1u);
    __syncthreads();
    unsigned mine = job;
    if (mine >= 8)
      break;
    p[mine * 64 + threadIdx.x] = mine;
  }
}
";
    let launch = "rounds --group 64 --arg buf:i32:zero*512 --arg buf:i32:zero*1";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
            __syncthreads();
            __syncthreads();
        "#]],
    );
}

#[test]
fn a_mask_without_the_lanes_that_come() {
    let text = "\
__global__ void pairs(int *p) {
  int t = threadIdx.x;
  p[t] = __shfl_xor_sync(0xffff, p[t], 1);
}
";
    let launch = "pairs --group 64 --arg buf:i32:iota*64";
    let case = Case { file: "k.cu", text, options: "--group 64", launch, is_shown: true };
    fixed(
        &case,
        &expect![[r#"
              p[t] = __shfl_xor_sync(0xffffffff, p[t], 1);
        "#]],
    );
}

#[test]
fn rows_of_a_tile() {
    let cuda = "\
__global__ void transpose(const float *in, float *out) {
  __shared__ float tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 32 + x];
  __syncthreads();
  out[y * 32 + x] = tile[x][y];
}
";
    let launch = "transpose --group 32x32 --arg buf:f32:iota*1024 --arg buf:f32:zero*1024";
    let options = "--group 32x32 --performance";
    let case = Case { file: "k.cu", text: cuda, options, launch, is_shown: false };
    fixed(
        &case,
        &expect![[r#"
            __shared__ float tile[32][32 + 1];
            __syncthreads();
        "#]],
    );
    // A pointer to the first row would lead elsewhere.
    let flat = cuda.replace("tile[x][y]", "tile[x][y] + (&tile[0][0])[0] + *(float *)tile");
    assert_no_fix("k.cu", &flat, "--group 32x32 --performance");
}

/// Nothing is changed, although something is found.
#[track_caller]
fn assert_no_fix(file: &str, source: &str, options: &str) {
    let Some(folder) = folder_with(file, source) else { return };
    let outcome = run(folder.path(), &format!("check --fix --format json {file} {options}"));
    let log: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let found = log[0]["diagnostics"].as_array().expect("findings");
    assert!(!found.is_empty());
    assert!(found.iter().all(|one| one.get("fix").is_none()), "{log:#}");
    assert_eq!(fs::read_to_string(folder.path().join(file)).expect("file"), source);
}

/// A barrier is wrong where threads have left early, and in a branch; a header does not belong to
/// one kernel alone.
#[test]
fn no_fix_that_is_wrong() {
    let left = SHIFT.replace("  tile[", "  if (in[threadIdx.x] > 0.5f)\n    return;\n  tile[");
    // Data decides: nothing is found in what is under it.
    let Some(folder) = folder_with("k.cu", &left) else { return };
    let outcome = run(folder.path(), "check --fix k.cu --group 64");
    assert!(!outcome.errors().contains("fixed"), "{}", outcome.errors());
    let branch = "\
__global__ void half(const float *in, float *out) {
  __shared__ float tile[64];
  if (threadIdx.x < 48) {
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[47 - threadIdx.x];
  }
}
";
    assert_no_fix("k.cu", branch, "--group 64");
    // Within one statement there is no place for a barrier.
    let within = "\
__global__ void within(float *out) {
  __shared__ float tile[65];
  tile[threadIdx.x] = tile[threadIdx.x + 1];
  out[threadIdx.x] = tile[threadIdx.x];
}
";
    assert_no_fix("k.cu", within, "--group 64");
    let Some(folder) = folder_with("shift.h", SHIFT) else { return };
    fs::write(folder.path().join("k.cu"), "#include \"shift.h\"\n").expect("file");
    let outcome = run(folder.path(), "check --fix k.cu --group 64");
    assert_eq!((outcome.status, outcome.errors()), (Some(1), String::new()));
    assert_eq!(fs::read_to_string(folder.path().join("shift.h")).expect("file"), SHIFT);
}

/// Modules are not compiled again: their sources are left alone.
#[test]
fn no_fix_of_a_module() {
    let Some(folder) = folder_with("k.cl", "kernel void k(global int *p) { *p = 1; }\n") else {
        return;
    };
    let module = phalanx_test_suite::folder().join("ll/divergent_barrier.ll");
    fs::copy(module, folder.path().join("k.ll")).expect("module");
    let before = fs::read(folder.path().join("k.ll")).expect("module");
    let outcome = run(folder.path(), "check --fix k.ll");
    assert!(!outcome.errors().contains("fixed"), "{}", outcome.errors());
    assert_eq!(fs::read(folder.path().join("k.ll")).expect("module"), before);
}

/// Several fixes of a file, below their findings, in all formats, from the cache likewise.
#[test]
fn fixes_in_all_formats() {
    let source = format!("{SHIFT}\n{}", SHIFT.replace("shift", "again"));
    let Some(folder) = folder_with("k.cu", &source) else { return };
    let shown = run(folder.path(), "check k.cu --group 64");
    let page = text(&shown.stdout);
    let help: Vec<&str> = page.lines().skip_while(|l| !l.contains("is gone")).take(5).collect();
    expect![[r#"
        help: put `__syncthreads()` between the accesses: with this change the finding is gone
          |
        5 ~   __syncthreads();
        6 ~   out[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
          |
    "#]]
    .assert_eq(&(help.join("\n") + "\n"));
    assert_eq!(page.matches("with this change").count(), 2, "{page}");
    assert_eq!(text(&run(folder.path(), "check k.cu --group 64").stdout), page, "from the cache");
    let log = run(folder.path(), "check k.cu --group 64 --format sarif");
    let log: Value = serde_json::from_slice(&log.stdout).expect("JSON");
    validate(&log);
    let change = &log["runs"][0]["results"][1]["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "k.cu");
    let replaced = &change["replacements"][0];
    assert_eq!(replaced["deletedRegion"]["startLine"], 12, "{change:#}");
    assert_eq!(replaced["deletedRegion"]["startColumn"], 3);
    assert_eq!(replaced["insertedContent"]["text"], "__syncthreads();\n  ");
    let lines = run(folder.path(), "check k.cu --group 64 --format github");
    assert!(!text(&lines.stdout).contains("with this change"));
    let fixed = run(folder.path(), "check --fix k.cu --group 64");
    expect![[r#"
        fixed k.cu:5:3: put `__syncthreads()` between the accesses [PHX050]
        fixed k.cu:12:3: put `__syncthreads()` between the accesses [PHX050]
    "#]]
    .assert_eq(&fixed.errors());
    assert_eq!(fixed.status, Some(0));
}

/// Two kernels of one template: text has the finding once and names the other one, JSON has both.
/// No fix is tried for `--format line`; the run after it tries some, although findings are cached.
#[test]
fn kernels_of_a_template_have_one_finding() {
    let text_of = "\
template <typename T> __global__ void shift(const T *in, T *out) {
  __shared__ T tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}
template __global__ void shift<float>(const float *, float *);
template __global__ void shift<int>(const int *, int *);
";
    let Some(folder) = folder_with("k.cu", text_of) else { return };
    let lines = text(&run(folder.path(), "check k.cu --group 64 --format line").stdout);
    assert_eq!(lines.matches("PHX050").count(), 1, "{lines}");
    assert!(lines.contains("1 error; judged: 2 kernels"), "{lines}");
    let page = text(&run(folder.path(), "check k.cu --group 64").stdout);
    assert_eq!(page.matches("PHX050").count(), 1, "{page}");
    assert_eq!(page.matches("the same in `").count(), 1, "{page}");
    assert!(page.contains("with this change the finding is gone"), "{page}");
    let log = run(folder.path(), "check k.cu --group 64 --format json");
    let log: Value = serde_json::from_slice(&log.stdout).expect("JSON");
    assert_eq!(log[0]["diagnostics"].as_array().map(Vec::len), Some(2), "{log:#}");
}
