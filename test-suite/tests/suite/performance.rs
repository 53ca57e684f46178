//! `phalanx performance`: each kind of cost, what is assumed, and the order. `UPDATE_EXPECT=1`
//! accepts changes.

use std::fs;

use expect_test::{Expect, expect};
use phalanx_testing::llvm_tools::{self, TIME_LIMIT};
use serde_json::Value;
use tempfile::TempDir;

/// What is printed for a source that is compiled with -O2.
fn written(file: &str, source: &str, options: &str) -> Option<(TempDir, String)> {
    llvm_tools::require("clang")?;
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join(file), source).expect("file");
    let command = format!("performance {file} --cache-dir cache --cuda-path none {options}");
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let outcome = crate::phalanx().run_in(Some(folder.path()), &arguments, &[], TIME_LIMIT);
    let outcome = outcome.expect("it starts");
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    Some((folder, String::from_utf8_lossy(&outcome.stdout).into_owned()))
}

#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(file: &str, source: &str, options: &str, expected: Expect) {
    if let Some((_, text)) = written(file, source, options) {
        expected.assert_eq(&text);
    }
}

#[test]
fn a_stride_that_is_known_at_run_time() {
    check(
        "k.cu",
        "__global__ void column(const float *in, float *out, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * width];
}
",
        "",
        expect![[r#"
            kernel `column`
              <=28  k.cu:3:12  load of 4 bytes of global memory, 4 * width bytes from lane to lane of a row: up to 32 transactions where 4 would do for 32 lanes
                      assumed: no index wraps; a wave is in one row of the workgroup
                      fix: let lanes that follow each other access what follows each other: exchange the loops or the indices, go through workgroup memory, or make a structure of arrays
                    1 more costs nothing that is known

        "#]],
    );
}

#[test]
fn a_stride_in_a_loop() {
    check(
        "k.cu",
        "__global__ void rows(const float *in, float *out, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < width; k++)
    sum += in[row * width + k];
  out[row] = sum;
}
",
        "",
        expect![[r#"
            kernel `rows`
             <=224  k.cu:5:12  load of 4 bytes of global memory, 4 * width bytes from lane to lane of a row: up to 32 transactions where 4 would do for 32 lanes (5 copies)
                      assumed: no index wraps; a wave is in one row of the workgroup
                      fix: let lanes that follow each other access what follows each other: exchange the loops or the indices, go through workgroup memory, or make a structure of arrays
                    1 more costs nothing that is known

        "#]],
    );
}

#[test]
fn an_array_of_structures() {
    check(
        "k.cl",
        "typedef struct { float x, y, z, mass; } particle;
kernel void masses(global const particle *all, global float *out) {
  int i = get_global_id(0);
  out[i] = all[i].mass;
}
",
        "",
        expect![[r#"
            kernel `masses`
                24  k.cl:4:19  load of 4 bytes of global memory, 16 bytes from lane to lane of a row: 32 transactions where 8 would do for 64 lanes
                      assumed: no index wraps; a wave is in one row of the workgroup
                      fix: let lanes that follow each other access what follows each other: exchange the loops or the indices, go through workgroup memory, or make a structure of arrays
                    1 more costs nothing that is known

        "#]],
    );
}

#[test]
fn a_gather() {
    check(
        "k.cl",
        "kernel void gather(global const float *in, global const int *where, global float *out) {
  int i = get_global_id(0);
  out[i] = in[where[i]];
}
",
        "",
        expect![[r#"
            kernel `gather`
              <=56  k.cl:3:12  load of 4 bytes of global memory, lanes where loaded data say: up to 64 transactions where 8 would do for 64 lanes
                      fix: let lanes of a wave want neighbours: sort or group the indices, or keep the table in workgroup memory
                    2 more cost nothing that is known

        "#]],
    );
}

#[test]
fn a_bank_conflict_and_the_size_of_workgroups() {
    check(
        "k.cu",
        "__global__ void transpose(const float *in, float *out, int width) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  out[y * width + x] = tile[threadIdx.x][threadIdx.y];
}
",
        "--group 32x32 --all",
        expect![[r#"
            kernel `transpose`
                31  k.cu:7:24  load of 4 bytes of workgroup memory, 128 bytes from lane to lane: 32 bank cycles where 1 would do for 32 lanes
                      fix: make rows one element longer than they have to be, so that columns go through all banks
                 0  k.cu:4:36  load of 4 bytes of global memory, lanes follow each other: 4 transactions for 32 lanes
                 0  k.cu:4:34  store of 4 bytes of workgroup memory, lanes follow each other: 1 bank cycle for 32 lanes
                 0  k.cu:7:22  store of 4 bytes of global memory, lanes follow each other: 4 transactions for 32 lanes

        "#]],
    );
}

#[test]
fn updates_of_one_address() {
    check(
        "k.cu",
        "__global__ void sum(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(out, in[i]);
  if (threadIdx.x == 0)
    atomicAdd(out + 1, 1);
}
",
        "",
        expect![[r#"
            kernel `sum`
                31  k.cu:4:5  atomic of 4 bytes of global memory, one address for all lanes: 32 updates where 1 would do for 32 lanes
                      fix: let lanes sum up among themselves first, and one of them update memory
                    4 more cost nothing that is known

        "#]],
    );
}

#[test]
fn a_branch_with_two_sides() {
    check(
        "k.cu",
        "__global__ void sides(const float *in, float *out) {
  int i = threadIdx.x;
  float v = in[i];
  if (v > 0) {
    out[i] = v * v * v / (v + 1);
    out[i + 4096] = v;
  } else {
    out[2 * i + 8192] = 1 / v;
  }
}
",
        "",
        expect![[r#"
            kernel `sides`
                 6  k.cu:4:9  lanes part, and a wave executes both sides: 8 and 6 instructions
                      depends on `threadIdx.x`
                      fix: let whole waves go one way: group the work by what the branch asks for, or move what both sides do out of it
                 4  k.cu:8:23  store of 4 bytes of global memory, 8 bytes from lane to lane of a row: 8 transactions where 4 would do for 32 lanes
                      assumed: a wave is in one row of the workgroup
                    3 more cost nothing that is known

        "#]],
    );
}

#[test]
fn a_loop_that_lanes_leave_one_by_one() {
    check(
        "k.cu",
        "__global__ void lists(const int *next, int *out) {
  int length = 0;
  for (int at = threadIdx.x; at >= 0; at = next[at])
    length++;
  out[threadIdx.x] = length;
}
",
        "",
        expect![[r#"
            kernel `lists`
             <=224  k.cu:3:44  load of 4 bytes of global memory, lanes where loaded data say: up to 32 transactions where 4 would do for 32 lanes
                      fix: let lanes of a wave want neighbours: sort or group the indices, or keep the table in workgroup memory
                 6  k.cu:3:3  lanes leave the loop in different rounds, and wait for the last: 6 instructions a round
                      depends on `threadIdx.x`
                      fix: give the lanes of a wave equally many rounds: group the work by length, or let a wave share the rounds of each piece
                    1 more costs nothing that is known

        "#]],
    );
}

const ALL_KINDS: &str = "__global__ void all(const int *next, int *out, int *sum, int width) {
  int length = 0, i = threadIdx.x;
  for (int at = i; at >= 0; at = next[at])
    length++;
  if (length > 7)
    out[i * width] = length / 3;
  else
    out[i * 8] = length % 5;
  atomicAdd(sum, length);
}
";

/// The published schema describes what is written, which has the most expensive entry first.
#[test]
fn the_schema_of_the_json() {
    let schema = llvm_tools::workspace_root().join("docs/performance.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).expect("schema")).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let Some((_, text)) = written("k.cu", ALL_KINDS, "--format json") else { return };
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let errors: Vec<String> = schema.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let entries = value[0]["functions"][0]["entries"].as_array().expect("entries");
    for kind in ["access", "branch", "loop"] {
        assert!(entries.iter().any(|entry| entry["kind"] == kind), "{kind}: {value:#}");
    }
    let costs: Vec<u64> = entries.iter().filter_map(|entry| entry["cost"].as_u64()).collect();
    assert!(costs.len() == entries.len() && costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
    let mut wrong = value.clone();
    wrong[0]["functions"][0]["entries"][0]["kind"] = Value::from("guess");
    assert!(!schema.is_valid(&wrong), "kinds are fixed");
}
