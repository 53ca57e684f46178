//! More of `check` on sources: sizes of workgroups by name, functions that were inlined, what the
//! optimizer deletes.

use expect_test::expect;

use crate::source::{check, project, run};

/// Kernels that are launched with several sizes, by the command line and by the file. A name that
/// no function has is an error.
#[test]
fn sizes_of_workgroups_by_name() {
    let kernel = |name: &str, size: u32| {
        format!(
            "__global__ void {name}(const float *in, float *out) {{
  __shared__ float tile[{size}];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[{} - threadIdx.x];
}}
",
            size - 1
        )
    };
    let kernels = kernel("narrow", 64) + &kernel("wide", 512);
    let files = [("k.cu", kernels.as_str())];
    check(
        &files,
        "k.cu --group 64",
        &expect![[r#"
            k.cu:11:22: error: thread (0, 0, 0) reads `tile[511]`, which no thread has written, in kernel `wide` [PHX052]
            1 error; judged: 2 kernels, 2 barriers
        "#]],
    );
    check(
        &files,
        "k.cu --group 64 --group wid*=512",
        &expect![[r#"
            nothing found; judged: 2 kernels, 2 barriers
        "#]],
    );
    check(
        &files,
        "k.cu --group 64 --group _Z4widePKfPf=512 --group other=8",
        &expect![[r#"
            nothing found; judged: 2 kernels, 2 barriers
            error: --group: no function is called `other`
        "#]],
    );
    let stated = "[check.group]\nnarrow = \"64\"\nwide = \"512\"\nelsewhere = \"32\"\n";
    check(
        &[files[0], ("phalanx.toml", stated)],
        "k.cu",
        &expect![[r#"
            nothing found; judged: 2 kernels, 2 barriers
        "#]],
    );
    let wrong = "[check.group]\nwide = 512\n";
    let Some(folder) = project(&[files[0], ("phalanx.toml", wrong)]) else { return };
    let outcome = run(folder.path(), "check k.cu");
    let said = outcome.errors();
    assert!(said.ends_with("phalanx.toml: `check.group.wide` is no string\n"), "{said}");
    assert_eq!(outcome.status, Some(2));
}

/// A function that is not static stays in the module, though its copy in the kernel was judged.
#[test]
fn a_function_that_was_inlined_is_judged() {
    let text = "\
__device__ float exchange(float *s, float v) {
  s[threadIdx.x] = v;
  __syncthreads();
  return s[threadIdx.x ^ 1];
}
";
    let kernel = "\
__global__ void k(float *d) {
  __shared__ float s[256];
  d[threadIdx.x] = exchange(s, d[threadIdx.x]);
}
";
    let both = text.to_owned() + kernel;
    check(
        &[("k.cu", both.as_str())],
        "k.cu",
        &expect![[r#"
            nothing found; judged: 1 kernel, 1 barrier
        "#]],
    );
    let other = text.to_owned() + "__global__ void other(float *d) { *d = 1; }\n";
    check(
        &[("k.cu", other.as_str())],
        "k.cu",
        &expect![[r#"
            nothing found; judged: 1 kernel, 0 barriers
            not judged: `exchange`, which no kernel of the module calls
        "#]],
    );
}

/// The optimizer deletes an access of null, and all of the kernel with it. One that it has to keep
/// faults when it is executed.
#[test]
fn an_access_of_null_that_is_deleted() {
    let text = "\
__global__ void k(int *out) {
  int *from = nullptr;
  out[threadIdx.x] = from[1];
}
__global__ void stops(int *out) {
  if (!out)
    __builtin_trap();
  *out = 1;
}
";
    check(
        &[("k.cu", text)],
        "k.cu",
        &expect![[r#"
            k.cu:3:22: error: a null pointer is accessed: byte 4 of what it leads to, in kernel `k` [PHX034]
            1 error; judged: 2 kernels, 0 barriers
        "#]],
    );
    let kept = text.replace("int *from", "volatile int *from");
    let Some(folder) = project(&[("k.cu", kept.as_str())]) else { return };
    let said = run(folder.path(), "run k.cu k --group 32 --arg buf:i32:zero*32").errors();
    assert!(said.contains("the address is null"), "{said}");
}

/// Two conditions on arguments, one of them on a quotient, may contradict each other. They count if
/// a launch is found that fulfils both, and else the report says what was not compared.
#[test]
fn conditions_that_a_launch_fulfils_together() {
    let body = "\
  __shared__ int tile[256];
  int t = threadIdx.x;
  tile[t] = a[t];
  __syncthreads();
  int d = tile[255 - t];
  if (CONDITION)
    tile[t] = d;
  __syncthreads();
  a[t] = d + tile[0];
}
";
    let kernel = |name: &str, condition: &str| {
        let head = format!("__global__ void {name}(int *a, int n, int x) {{\n");
        head + &body.replace("CONDITION", condition)
    };
    let text = kernel("both", "blockIdx.x / n == blockIdx.x % n && blockIdx.x / n == x + 1")
        + &kernel("neither", "n % 6u == 2 && n % 4u == 3 && x / n == 5");
    check(
        &[("k.cu", text.as_str())],
        "--group 256 k.cu",
        &expect![[r#"
            k.cu:8:13: error: threads (0, 0, 0) and (255, 0, 0) access `tile[0]` with no barrier in between, in kernel `both` [PHX050]
            1 error; judged: 2 kernels, 4 barriers
            not judged: accesses of workgroup memory under conditions on arguments that may contradict each other: not compared with all others (k.cu:17:11 and 1 more place)
        "#]],
    );
    let Some(folder) = project(&[("k.cu", text.as_str())]) else { return };
    let checked = run(folder.path(), "check --group 256 k.cu");
    let said = String::from_utf8_lossy(&checked.stdout);
    let example = "help: the conditions on the way there hold, for example, when `blockIdx.x` is 8, \
                   `n` is 3 and `x` is 1";
    assert!(said.contains(example), "{said}");
    // Workgroup 8 is in row 2 and column 2.
    let arguments = "--grid 9 --group 256 --arg buf:i32:zero*256 --arg i32:3 --arg i32:1";
    let outcome = run(folder.path(), &format!("run --races k.cu both {arguments}"));
    assert_eq!(outcome.status, Some(1), "{}", outcome.errors());
}

/// Numbers with which several conditions hold together may have loops go round more often than was
/// assumed, so it is no error. An access outside of an array under such conditions is not compared:
/// the kernel is not made for large arguments.
#[test]
fn conditions_beside_loops_and_bounds() {
    let text = "\
__global__ void rounds(int *a, int n, int x) {
  __shared__ int tile[256];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < n; i++)
    sum += a[i];
  tile[t] = sum;
  __syncthreads();
  int d = tile[255 - t];
  if (blockIdx.x / n == blockIdx.x % n && blockIdx.x / n == x + 1)
    tile[t] = d;
  __syncthreads();
  a[t] = d + tile[0];
}
__global__ void bounds(int *a, int n, int x) {
  __shared__ int tile[256];
  int t = threadIdx.x;
  tile[t] = a[t];
  __syncthreads();
  if (blockIdx.x / n == blockIdx.x % n && blockIdx.x / n == x + 1)
    a[t] = tile[t + 1];
}
";
    check(
        &[("k.cu", text)],
        "--group 256 k.cu",
        &expect![[r#"
        k.cu:10:13: warning: threads (0, 0, 0) and (255, 0, 0) may access `tile[0]` with no barrier in between, in kernel `rounds` [PHX050]
        1 warning; judged: 2 kernels, 3 barriers
        not judged: accesses of workgroup memory under conditions on arguments that may contradict each other: not compared with all others (k.cu:20:12)
    "#]],
    );
}

/// A tile may have a border of one element around what the threads of a workgroup have. Kernels for
/// such a size are silent without `--group`, though larger workgroups fit the tile. What is wrong
/// in such a size only is no finding: it may not be meant either, as in the last kernel.
#[test]
fn tiles_with_a_border() {
    let text = "\
__global__ void plane(float *data) {
  __shared__ float tile[10][10];
  int one = threadIdx.x + 8 * threadIdx.y;
  (&tile[1][1])[one] = data[threadIdx.x];
  __syncthreads();
  data[one] = tile[threadIdx.y][threadIdx.x];
}
__global__ void volume(float *data) {
  __shared__ float tile[3][10][10];
  int one = threadIdx.x + 8 * threadIdx.y + 64 * threadIdx.z;
  (&tile[0][1][1])[one] = data[threadIdx.x];
  __syncthreads();
  data[one] = tile[threadIdx.z][threadIdx.y][threadIdx.x];
}
__global__ void no_barrier(float *data) {
  __shared__ float tile[10][10];
  int one = threadIdx.x + 8 * threadIdx.y;
  (&tile[1][1])[one] = data[threadIdx.x];
  data[one] = (&tile[1][1])[(one + 33) % 64];
}
__global__ void rows_of_four(float *data) {
  __shared__ float tile[16][17];
  int x = threadIdx.x, y = threadIdx.y;
  for (int i = 0; i < 16; i += 4)
    tile[x][y + i] = data[x + i];
  __syncthreads();
  data[x] = tile[y][x];
}
";
    check(
        &[("k.cu", text)],
        "k.cu",
        &expect![[r#"
            k.cu:19:15: warning: threads (7, 3, 0) and (0, 0, 0) may access `tile[1][1]` with no barrier in between, in kernel `no_barrier` [PHX050]
            1 warning; judged: 4 kernels, 3 barriers
        "#]],
    );
}

/// Clang unrolls a loop, knows that none of the copies is the last round, and leaves a loop that
/// never ends. A thread that comes there has undefined behaviour, unless others notice the loop.
#[test]
fn a_loop_without_an_end() {
    let text = "\
__global__ void quiet(int *out, int n) {
  if (threadIdx.x == n)
    for (;;)
      out[n] = n;
  __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void noticed(int *out, int n) {
  if (threadIdx.x == n)
    for (;;)
      *(volatile int *)out = n;
  __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void remainder(const int *in, int *out, int k) {
  int p[5] = {-1}, at = 0, sum = 0;
  if (threadIdx.x < in[0]) {
    while (k > 1)
      p[at++] = in[k--];
    for (int i = at + 1; i < 4; i++)
      p[i] = -1;
    for (int j = 0; j < 4 && p[j] >= 0; j++)
      sum += in[p[j]];
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}
";
    check(
        &[("k.cu", text)],
        "k.cu",
        &expect![[r#"
            k.cu:12:3: note: `__syncthreads()` is executed after some threads of a workgroup may have returned, in kernel `noticed` [PHX003]
            1 note; judged: 3 kernels, 3 barriers
        "#]],
    );
}
