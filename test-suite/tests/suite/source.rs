//! `phalanx check` and the other commands on sources: what is compiled and how, the cache, and the
//! places of findings.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use expect_test::{Expect, expect};
use phalanx_testing::llvm_tools::{self, Outcome, TIME_LIMIT};
use serde_json::Value;
use tempfile::TempDir;

/// A barrier that thread 16 does not come to.
const WRONG: &str = "__global__ void wrong(int *p) {\n  if (threadIdx.x < 16)\n    __syncthreads();\n  p[threadIdx.x] = 1;\n}\n";
const RIGHT: &str =
    "__global__ void right(int *p) {\n  __syncthreads();\n  p[threadIdx.x] = 1;\n}\n";

/// A folder with files; none where there is no clang.
pub(crate) fn project(files: &[(&str, &str)]) -> Option<TempDir> {
    llvm_tools::require("clang")?;
    let folder = tempfile::tempdir().expect("folder");
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    Some(folder)
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
    fs::write(path, text).expect("file");
}

/// Runs a command in a folder, with a cache there and our own headers.
pub(crate) fn run(folder: &Path, command: &str) -> Outcome {
    let (command, flags) = match command.split_once(" -- ") {
        Some((command, flags)) => (command, Some(flags)),
        None => (command, None),
    };
    let own = "--cuda-path none --rocm-path none --cache-dir cache --color never";
    let mut arguments: Vec<&str> = command.split_whitespace().chain(own.split(' ')).collect();
    if let Some(flags) = flags {
        arguments.push("--");
        arguments.extend(flags.split_whitespace());
    }
    crate::phalanx().run_in(Some(folder), &arguments, &[], TIME_LIMIT).expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What `check --format line` says about files, without the lines about how they were compiled.
#[track_caller]
pub(crate) fn check(files: &[(&str, &str)], command: &str, expected: &Expect) {
    let Some(folder) = project(files) else { return };
    let outcome = run(folder.path(), &format!("check --format line {command}"));
    let all = text(&outcome.stdout) + &outcome.errors();
    let all: Vec<&str> = all.lines().filter(|line| !line.contains("compiled by clang ")).collect();
    expected.assert_eq(&(all.join("\n") + "\n"));
}

/// clang bounds workgroups of OpenCL kernels for AMD's GPUs, where nothing names one of these.
#[test]
fn workgroups_of_opencl_are_as_large_as_stated() {
    let kernels = "kernel void far(global int *p) {\n  local int t[1024];\n  int i = get_local_id(0);\n  t[i] = i;\n  p[i] = t[1023 - i];\n}\nkernel __attribute__((reqd_work_group_size(16, 16, 1))) void tile(global int *p) {\n  p[get_local_id(0)] = 1;\n}\n";
    let files = [("k.cl", kernels)];
    check(
        &files,
        "k.cl --group 1024",
        &expect![[r#"
        k.cl:5:10: error: threads (1023, 0, 0) and (0, 0, 0) access `t[0]` with no barrier in between, in kernel `far` [PHX050]
        1 error; judged: 2 kernels, 0 barriers
        not judged: `tile` with the stated launch, but as its module says (1024 threads of a workgroup along x: the module says exactly 16)
    "#]],
    );
    check(
        &files,
        "k.cl --group 1024 --mcpu gfx90a",
        &expect![[r#"
            k.cl:5:10: warning: threads (1023, 0, 0) and (0, 0, 0) may access `t[0]` with no barrier in between, in kernel `far` [PHX050]
            1 warning; judged: 2 kernels, 0 barriers
            not judged: `far` with the stated launch, but as its module says (1024 threads of a workgroup along x: the module says at most 256)
            not judged: `tile` with the stated launch, but as its module says (1024 threads of a workgroup along x: the module says exactly 16)
        "#]],
    );
    check(
        &files,
        "k.cl --group 1024 --function tile",
        &expect![[r#"
        error: @tile is not launched with 1024 threads of a workgroup along x: the module says exactly 16
    "#]],
    );
}

/// A project's list of commands names files by whole paths, its `phalanx.toml` by short ones.
#[test]
fn files_are_excepted_by_names_below_the_folder_of_the_settings() {
    let Some(folder) = project(&[("vendor/deep/k.cu", WRONG), ("own/k.cu", WRONG)]) else { return };
    let path = |name: &str| folder.path().join(name).display().to_string();
    let entry = |name: &str| {
        format!(
            "{{\"directory\": \"{}\", \"command\": \"nvcc -c {name}\", \"file\": \"{name}\"}}",
            path("build"),
        )
    };
    let list = format!("[{}, {}]", entry(&path("vendor/deep/k.cu")), entry("../own/k.cu"));
    write(folder.path(), "build/compile_commands.json", &list);
    let count = |settings: &str| {
        write(folder.path(), "phalanx.toml", &format!("[check]\nexcept = [{{ {settings} }}]\n"));
        let outcome = run(folder.path(), "check -p build --format line");
        text(&outcome.stdout).matches("[PHX001]").count()
    };
    assert_eq!(count("rules = [\"PHX002\"], file = \"vendor/*\""), 2);
    assert_eq!(count("rules = [\"PHX001\"], file = \"vendor/*\""), 1);
    assert_eq!(count("rules = [\"all\"], file = \"own/k.cu\""), 1);
    assert_eq!(count("rules = [\"all\"], file = \"deep/*\""), 2);
    // Sources can be left out altogether, too.
    fs::remove_file(folder.path().join("phalanx.toml")).expect("file");
    let skipping = |name: &str| {
        let outcome = run(folder.path(), &format!("check -p build --format line --skip {name}"));
        let notes = outcome.errors();
        let note = notes.lines().find(|line| line.contains("--skip")).unwrap_or_default();
        (text(&outcome.stdout).matches("[PHX001]").count(), note.to_owned())
    };
    let left_out = |name: &str| (1, format!("note: --skip {name} leaves out 1 source"));
    assert_eq!(skipping("vendor/*"), left_out("vendor/*"));
    assert_eq!(skipping("own/k.cu"), left_out("own/k.cu"));
    let error = "error: --skip k.cu names no source of the project".to_owned();
    assert_eq!(skipping("k.cu"), (0, error));
}

/// Of several files, one has to have a function that is named.
#[test]
fn a_function_of_one_of_several_files() {
    let folder = TempDir::new().expect("folder");
    let module = |name: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @{name}() {{\n  ret void\n}}\n"
        )
    };
    write(folder.path(), "a.ll", &module("first"));
    write(folder.path(), "b.ll", &module("second"));
    let named = |name: &str| run(folder.path(), &format!("check a.ll b.ll --function {name}"));
    let outcome = named("second");
    assert_eq!(text(&outcome.stdout), "nothing found; judged: 1 kernel, 0 barriers\n");
    let outcome = named("secnod");
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.errors().contains("is called `secnod` in any of"), "{outcome:?}");
}

#[test]
fn three_languages() {
    let opencl = "kernel void wrong(global int *p) {\n  if (get_local_id(0) < 16)\n    barrier(CLK_LOCAL_MEM_FENCE);\n  p[get_local_id(0)] = 1;\n}\n";
    // The default stream is a null pointer and a flag.
    let hip = format!(
        "#include <hip/hip_runtime.h>\n{WRONG}void host(int *p) {{\n  hipStream_t s;\n  \
         hipStreamCreateWithFlags(&s, hipStreamDefault);\n  \
         wrong<<<1, 64, 0, hipStreamDefault>>>(p);\n}}\n"
    );
    check(
        &[("k.cu", WRONG), ("k.hip", WRONG), ("k.cl", opencl), ("k.cpp", &hip)],
        "k.cu k.hip k.cl k.cpp",
        &expect![[r#"
            k.cu:3:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
            k.hip:3:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
            k.cl:3:5: error: `barrier()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
            k.cpp:4:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
            4 errors; judged: 4 kernels, 4 barriers
        "#]],
    );
}

/// Each target has its own word for what it is compiled for.
#[test]
fn targets_of_opencl() {
    let source = "kernel void wrong(global int *p) {\n  if (get_local_id(0) < 16)\n    barrier(CLK_LOCAL_MEM_FENCE);\n  p[get_local_id(0)] = 1;\n}\n";
    let check = |target: &str, expected: &Expect| {
        check(&[("k.cl", source)], &format!("k.cl {target}"), expected);
    };
    // For NVIDIA's the barrier is in the function that the kernel calls.
    check(
        "--mcpu sm_80",
        &expect![[r#"
            k.cl:3:5: error: `barrier()` is not executed by all threads of a workgroup, in function `wrong` [PHX001]
            1 error; judged: 1 kernel, 1 barrier
        "#]],
    );
    let in_kernel = expect![[r#"
        k.cl:3:5: error: `barrier()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
        1 error; judged: 1 kernel, 1 barrier
    "#]];
    check("--mtriple spirv64-unknown-unknown", &in_kernel);
    check("--mcpu gfx1100", &in_kernel);
}

/// libclc reads the sizes of a workgroup from one word, two at once.
#[test]
fn both_sizes_of_a_workgroup() {
    let source = "kernel void k(global int *out) {
  local int tile[128];
  int x = get_local_id(0), y = get_local_id(1), height = get_local_size(1);
  tile[x * height + y] = out[y];
  BARRIER;
  out[x * height + y] = tile[127 - (x * height + y)];
}
";
    let right = source.replace("BARRIER", "barrier(CLK_LOCAL_MEM_FENCE)");
    for level in ["-O0", "-O2"] {
        let command = format!("k.cl --group 16x8 -- {level}");
        check(
            &[("k.cl", &right)],
            &command,
            &expect![[r#"
                nothing found; judged: 1 kernel, 1 barrier
            "#]],
        );
    }
    check(
        &[("k.cl", &source.replace("BARRIER;", ""))],
        "k.cl --group 16x8 -- -O2",
        &expect![[r#"
            k.cl:6:25: error: threads (15, 7, 0) and (0, 0, 0) access `tile[0]` with no barrier in between, in kernel `k` [PHX050]
            1 error; judged: 1 kernel, 0 barriers
        "#]],
    );
}

/// What ordinary CUDA files have: a host part, the C++ library, atomics, shuffles, mathematics.
#[test]
fn our_header_is_enough_for_ordinary_kernels() {
    let source = "#include <cuda_runtime.h>\n#include <vector>\n#include <cstdio>\n\
        __constant__ float scale[4];\n__device__ int count;\n\
        template <typename T> __global__ void __launch_bounds__(64) k(const T *in, T *out, int n) {\n\
          extern __shared__ char bytes[];\n  T *tile = reinterpret_cast<T *>(bytes);\n\
          int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
          tile[threadIdx.x] = i < n ? __expf(in[i]) * scale[1] : T(0);\n  __syncthreads();\n\
          T sum = tile[threadIdx.x ^ 1] + sqrtf(fmaxf(out[0], 1.f)) + min(n, 3);\n\
          sum += __shfl_xor_sync(0xffffffffu, sum, 1);\n\
          if (__any_sync(0xffffffffu, i == 7)) atomicAdd(&count, 1);\n\
          float4 v = make_float4(1, 2, 3, 4);\n  dim3 size = blockDim;\n\
          if (i == 0) printf(\"%d\", n);\n  if (i < n) out[i] = sum + v.x + size.y + __popc(i) + __ldg(in);\n}\n\
        int main() {\n  std::vector<float> host(64);\n  float *device = nullptr;\n\
          cudaMalloc(&device, 64 * sizeof(float));\n\
          cudaMemcpy(device, host.data(), 256, cudaMemcpyHostToDevice);\n\
          k<float><<<dim3(1), dim3(64), 256>>>(device, device, 64);\n\
          cudaError_t error = cudaGetLastError();\n\
          if (error != cudaSuccess) printf(\"%s\", cudaGetErrorString(error));\n\
          return cudaDeviceSynchronize() != cudaSuccess;\n}\n";
    check(
        &[("k.cu", source)],
        "k.cu",
        &expect![[r#"
            nothing found; judged: 1 kernel, 1 barrier
        "#]],
    );
}

/// Places are the user's own lines: not the header of a wrapper, not the caller of a wrong helper.
#[test]
fn places_are_those_of_the_user() {
    let header = "#pragma once\n__device__ inline void meet() { __syncthreads(); }\n\
        __device__ inline void wrong_by_itself(int n) {\n  if (threadIdx.x < 16 + n * 0)\n    __syncthreads();\n}\n";
    let source = "#include \"meet.h\"\n__global__ void calls(int *p) {\n  if (threadIdx.x < 16)\n    meet();\n  p[0] = 1;\n}\n\
        __global__ void both(int *p) {\n  wrong_by_itself(*p);\n  p[threadIdx.x] = 1;\n}\n\
        __global__ void lanes(int *p) {\n  if (threadIdx.x < 16)\n    p[1] = __shfl_down_sync(0xffffffffu, p[0], 1);\n}\n";
    check(
        &[("k.cu", source), ("meet.h", header)],
        "k.cu",
        &expect![[r#"
            k.cu:4:5: error: the barrier in `meet` is not executed by all threads of a workgroup, in kernel `calls` [PHX001]
            meet.h:5:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `both` [PHX001]
            k.cu:13:12: note: the mask of `__shfl_down_sync` includes lanes that may not execute it, in kernel `lanes` [PHX006]
            2 errors, 1 note; judged: 3 kernels, 2 barriers
        "#]],
    );
}

#[test]
fn functions_have_the_names_of_the_program() {
    let source = "namespace app { template <typename T, int N> __global__ void sum(T *p) {\n  if (threadIdx.x < N)\n    __syncthreads();\n  p[threadIdx.x] = 1;\n} }\n\
        template __global__ void app::sum<float, 8>(float *);\ntemplate __global__ void app::sum<int, 4>(int *);\n";
    let Some(folder) = project(&[("k.cu", source)]) else { return };
    let said = |name: &str| {
        let outcome = run(folder.path(), &format!("check --format line --function {name} k.cu"));
        text(&outcome.stdout) + &outcome.errors()
    };
    assert!(said("app::sum<float,8>").contains("in kernel `app::sum<float, 8>` [PHX001]"));
    assert!(said("app::sun<int,4>").contains("did you mean app::sum<int, 4>"));
    let several = said("sum");
    assert!(several.starts_with("error: several functions are called sum: `app::"), "{several}");
    assert!(several.contains("`app::sum<float, 8>` (@_ZN3app3sumIfLi8EEEvPT_)"), "{several}");
    assert!(said("_ZN3app3sumIfLi8EEEvPT_").contains("in kernel `app::sum<float, 8>` [PHX001]"));
}

/// Stores to constant memory are undefined, and gone at -O2.
#[test]
fn stores_to_constant_memory() {
    let source = "__constant__ int table[4];\n__global__ void k(int *p) {\n  table[threadIdx.x & 3] = p[0];\n}\n";
    check(
        &[("k.cu", source)],
        "k.cu",
        &expect![[r#"
            k.cu:3:26: error: constant memory is written, in kernel `k` [PHX030]
            1 error; judged: 1 kernel, 0 barriers
        "#]],
    );
}

#[test]
fn what_does_not_compile_is_clangs_to_tell() {
    let Some(folder) = project(&[("k.cu", "__global__ void k() {\n  int x = y;\n}\n")]) else {
        return;
    };
    write(folder.path(), "right.cu", RIGHT);
    let outcome = run(folder.path(), "check k.cu right.cu");
    assert_eq!(outcome.status, Some(2));
    let errors = outcome.errors();
    assert!(errors.starts_with("k.cu:2:11: error: use of undeclared identifier 'y'"), "{errors}");
    assert!(errors.contains("error: k.cu does not compile with clang 22"), "{errors}");
    // The other file is checked all the same.
    assert!(text(&outcome.stdout).starts_with("nothing found; judged: 1 kernel, 1 barrier"));
}

#[test]
fn what_is_missing_is_said() {
    let Some(folder) = project(&[("k.cu", RIGHT), ("host.cpp", "int main() {}\n")]) else { return };
    for (command, says) in [
        ("check --clang nowhere/clang k.cu", "error: cannot run nowhere/clang: "),
        (
            "check --clang /bin/true k.cu",
            "error: /bin/true: `--version` does not say that it is clang",
        ),
        ("check host.cpp", "error: host.cpp: neither CUDA, HIP nor OpenCL by its name and text"),
        ("check none.cu", "error: cannot open none.cu"),
        ("check -p .", "error: cannot read ./compile_commands.json"),
        ("check --explain PHX01", "error: no rule is called PHX01; did you mean PHX001"),
        (
            "check --deny divergent-barier k.cu",
            "error: no rule is called divergent-barier; did you mean",
        ),
        ("opt -passes=lcim k.cu", "error: no pass is called lcim; did you mean licm?"),
        ("explain k.cu rihgt --line 2", "error: no function is called rihgt; did you mean right?"),
    ] {
        let outcome = run(folder.path(), command);
        let errors = outcome.errors();
        let errors: Vec<&str> = errors.lines().filter(|line| !line.starts_with("note: ")).collect();
        assert!(errors.first().is_some_and(|line| line.starts_with(says)), "{command}: {errors:?}");
        assert_eq!(outcome.status, Some(2), "{command}");
    }
}

/// Each command takes a source, bitcode, and flags of clang, and says how it was compiled.
#[test]
fn all_commands_take_sources() {
    let source = "__global__ void right(int *p) {\n  p[threadIdx.x] = SCALE * threadIdx.x;\n}\n";
    let Some(folder) = project(&[("k.cu", source)]) else { return };
    for (command, says) in [
        ("analyze k.cu -- -DSCALE=2", "right"),
        ("graph k.cu -- -DSCALE=2", "digraph"),
        ("explain k.cu right --line 2 -- -DSCALE=2", "because: 1."),
        ("opt -passes=verify -S k.cu -- -DSCALE=2", "target triple = \"nvptx64-nvidia-cuda\""),
        ("run k.cu right --group 4 --arg buf:i32:zero*4 -- -DSCALE=2", "0: 0 2 4 6"),
        ("check k.cu -- -DSCALE=2 -O1 --cuda-gpu-arch=sm_90", "at -O1 for sm_90"),
    ] {
        let outcome = run(folder.path(), command);
        assert_eq!(outcome.status, Some(0), "{command}: {}", outcome.errors());
        assert!(text(&outcome.stdout).contains(says), "{command}: {}", text(&outcome.stdout));
        let all = text(&outcome.stdout) + &outcome.errors();
        assert!(all.contains("with phalanx's own CUDA header"), "{command}: {all}");
    }
    let Some(assembler) = llvm_tools::require("llvm-as") else { return };
    let module =
        "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() { ret void }\n";
    write(folder.path(), "m.ll", module);
    let outcome = assembler.run_in(Some(folder.path()), ["m.ll", "-o", "m.bc"], &[], TIME_LIMIT);
    assert!(outcome.expect("it starts").success());
    let outcome = run(folder.path(), "check m.bc");
    assert_eq!(text(&outcome.stdout), "nothing found; judged: 1 kernel, 0 barriers\n");
}

/// A compiler that writes down what it compiles.
fn counting_clang(folder: &Path) -> Option<PathBuf> {
    let clang = llvm_tools::require("clang")?.path().to_owned();
    let path = folder.join("clang");
    let script = format!(
        "#!/bin/sh\nfor last; do :; done\ncase \"$1\" in -x) echo \"$last\" >> '{}';; esac\nexec '{}' \"$@\"\n",
        folder.join("log").display(),
        clang.display()
    );
    fs::write(&path, script).expect("script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    Some(path)
}

/// What was compiled since the last time, in the order of names.
fn compiled(folder: &Path) -> Vec<String> {
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let _ = fs::remove_file(folder.join("log"));
    let mut files: Vec<String> = log.lines().map(str::to_owned).collect();
    files.sort();
    files
}

#[test]
fn a_second_run_of_a_project_costs_what_changed() {
    let list = r#"[
        {"directory": "..", "file": "a.cu", "command": "nvcc -O3 -gencode arch=compute_75,code=sm_75 -Iinclude -c a.cu -o a.o"},
        {"directory": "..", "file": "b.cu", "command": "nvcc -arch=sm_86 -Xcompiler -fPIC -Iinclude -c b.cu"},
        {"directory": "..", "file": "host.cpp", "command": "g++ -c host.cpp"},
        {"directory": "..", "file": "c.cpp", "command": "hipcc --offload-arch=gfx90a -c c.cpp"}
    ]"#;
    let b = format!("#include \"limit.h\"\n{}", WRONG.replace("16", "LIMIT"));
    let files = [
        ("build/compile_commands.json", list),
        ("a.cu", RIGHT),
        ("b.cu", &b),
        ("c.cpp", WRONG),
        ("include/limit.h", "#define LIMIT 8\n"),
    ];
    let Some(folder) = project(&files) else { return };
    let folder = folder.path();
    let Some(clang) = counting_clang(folder) else { return };
    let check = |more: &str| {
        let command = format!("check --format line --clang {} -p build {more}", clang.display());
        let outcome = run(folder, &command);
        assert_eq!(outcome.status, Some(1), "{}", outcome.errors());
        text(&outcome.stdout)
    };
    let first = check("-j 4");
    expect![[r#"
        b.cu:4:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
        c.cpp:3:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
        2 errors; judged: 3 kernels, 3 barriers
    "#]]
    .assert_eq(&first.lines().take(3).map(|line| format!("{line}\n")).collect::<String>());
    for way in ["CUDA", "HIP"].iter().zip(["sm_75", "gfx90a"]) {
        let says = format!("{} compiled by clang 22", way.0);
        assert!(first.contains(&says) && first.contains(way.1), "{first}");
    }
    assert_eq!(compiled(folder), ["a.cu", "b.cu", "c.cpp"]);
    assert_eq!(check("-j 1"), first);
    assert_eq!(compiled(folder), [""; 0]);
    // A header, then a source, then a damaged entry, then no cache.
    write(folder, "include/limit.h", "#define LIMIT 9\n");
    assert_eq!(check(""), first);
    assert_eq!(compiled(folder), ["b.cu"]);
    write(folder, "a.cu", &format!("// changed\n{RIGHT}"));
    assert_eq!(check(""), first);
    assert_eq!(compiled(folder), ["a.cu"]);
    let entries = fs::read_dir(folder.join("cache")).expect("cache");
    for entry in entries.flatten().filter(|entry| entry.file_name().len() == 2) {
        for file in fs::read_dir(entry.path()).expect("folder").flatten() {
            let bytes = fs::read(file.path()).expect("entry");
            fs::write(file.path(), &bytes[..bytes.len() / 2]).expect("entry");
        }
    }
    assert_eq!(check(""), first);
    assert_eq!(compiled(folder), ["a.cu", "b.cu", "c.cpp"]);
    assert_eq!(check("--no-cache"), first);
    assert_eq!(compiled(folder), ["a.cu", "b.cu", "c.cpp"]);
}

#[test]
fn folders_are_looked_through() {
    check(
        &[("src/b/k.cu", WRONG), ("src/a.cu", RIGHT), ("src/.git/x.cu", WRONG), ("src/t.txt", "")],
        "src",
        &expect![[r#"
            src/b/k.cu:3:5: error: `__syncthreads()` is not executed by all threads of a workgroup, in kernel `wrong` [PHX001]
            1 error; judged: 2 kernels, 2 barriers
        "#]],
    );
}

/// A line of a file that has changed is not shown; the output says so.
#[test]
fn sources_that_changed_are_said() {
    let Some(folder) = project(&[("k.cu", WRONG)]) else { return };
    let folder = folder.path();
    let module = run(folder, "opt -passes=verify -S k.cu -o k.ll");
    assert!(module.success(), "{}", module.errors());
    let said = || text(&run(folder, "check k.ll").stdout);
    assert!(said().contains("3 |     __syncthreads();"), "{}", said());
    write(folder, "k.cu", &format!("// one line more\n{WRONG}"));
    let stale = said();
    assert!(stale.contains("the file has changed since it was compiled"), "{stale}");
    assert!(!stale.contains(" | "), "{stale}");
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {}", outcome.errors()))
}

/// The published schema describes what is written, of sources and of modules.
#[test]
fn the_schema_of_the_json() {
    let schema = llvm_tools::workspace_root().join("docs/check.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).expect("schema")).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let folder = phalanx_test_suite::folder();
    let modules = "check --format json --performance check/ll/nvptx_barriers.ll check/guarded.ll";
    let arguments: Vec<&str> = modules.split(' ').collect();
    let run_there = crate::phalanx().run_in(Some(&folder), &arguments, &[], TIME_LIMIT);
    let mut written = vec![json(&run_there.expect("it starts"))];
    let braced = WRONG.replace("    __syncthreads();", "{ __syncthreads(); }");
    if let Some(folder) = project(&[("k.cu", &braced)]) {
        written.push(json(&run(folder.path(), "check --format json k.cu")));
        let fix = &written[1][0]["diagnostics"][0]["fix"];
        assert!(fix.is_object(), "a fix is held against the schema, too");
    }
    for value in written {
        let errors: Vec<String> = schema.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let mut wrong = value.clone();
        wrong[0]["diagnostics"][0]["level"] = Value::from("fatal");
        assert!(!schema.is_valid(&wrong), "levels are fixed");
    }
}

#[test]
fn names_are_relative_to_the_root() {
    let Some(folder) = project(&[("src/a/../k.cu", WRONG)]) else { return };
    let outcome = run(folder.path(), "check --format sarif --srcroot src ./src/a/../k.cu");
    let log = json(&outcome);
    let run = &log["runs"][0];
    let place = &run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(place["uri"], "k.cu", "{log:#}");
    let base = run["originalUriBaseIds"]["SRCROOT"]["uri"].as_str().expect("a folder");
    assert!(base.starts_with("file:///") && base.ends_with("/src/"), "{base}");
}

/// With the headers of NVIDIA's Python packages, where `PHALANX_CUDA_WHEELS` names their folder.
#[test]
fn the_headers_of_packages() {
    let Some(wheels) = std::env::var_os("PHALANX_CUDA_WHEELS") else {
        llvm_tools::skipped("PHALANX_CUDA_WHEELS names no folder with NVIDIA's Python packages");
        return;
    };
    let source = format!(
        "#include <cuda_runtime.h>\n#include <cstdio>\n{WRONG}\
        int main() {{ wrong<<<1, 32>>>(nullptr); return cudaDeviceSynchronize(); }}\n"
    );
    let Some(folder) = project(&[("k.cu", &source)]) else { return };
    let wheels = wheels.to_string_lossy();
    let arguments =
        ["check", "k.cu", "--cuda-path", &wheels, "--cache-dir", "cache", "--format", "line"];
    let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
    let said = text(&outcome.expect("it starts").stdout);
    assert!(said.starts_with("k.cu:5:5: error: `__syncthreads()` is not executed"), "{said}");
    assert!(said.contains("with the CUDA headers in "), "{said}");
}
