//! Library functions that are known by name: findings and execution must be the same before and
//! after the library is linked.
//!
//! The library is libclc, where it is installed. Linked into the kernels of `library/`, its code
//! defines its functions. Without it, the same kernels rely on Phalanx's table of names.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use expect_test::expect;
use phalanx_testing::llvm_tools::{self, Outcome, Program, TIME_LIMIT};
use serde_json::Value;

fn folder() -> PathBuf {
    phalanx_test_suite::folder().join("library")
}

/// The library for a target.
fn libclc(target: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/lib/clc").join(format!("{target}.bc"));
    if !path.is_file() {
        llvm_tools::skipped("libclc-22 not found");
        return None;
    }
    Some(path)
}

/// Compiles a source of `library/` for a target at a level, with a library linked into it or none.
fn compile(
    clang: &Program,
    (source, target): (&str, &str),
    level: &str,
    linked: Option<&Path>,
) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("library");
    fs::create_dir_all(&folder).expect("a folder");
    let form = if linked.is_some() { "linked" } else { "alone" };
    let output = folder.join(format!("{source}.{target}{level}.{form}.ll"));
    let mut arguments: Vec<String> =
        ["-x", "cl", "-cl-std=CL2.0", "-g", "-S", "-emit-llvm", "-nogpulib", level]
            .map(str::to_owned)
            .to_vec();
    arguments.push(format!("--target={target}"));
    let mut of_front_end = |argument: &str| {
        arguments.extend(["-Xclang".to_owned(), argument.to_owned()]);
    };
    ["-finclude-default-header", "-disable-O0-optnone"].into_iter().for_each(&mut of_front_end);
    if let Some(library) = linked {
        of_front_end("-mlink-builtin-bitcode");
        of_front_end(&library.to_string_lossy());
    }
    arguments.extend(["-o".to_owned(), output.display().to_string(), format!("{source}.cl")]);
    let outcome = clang.run_in(Some(&self::folder()), &arguments, &[], TIME_LIMIT);
    let outcome = outcome.expect("it starts");
    assert!(outcome.success(), "{}", outcome.summary());
    output
}

fn phalanx(arguments: &[&str]) -> Outcome {
    crate::phalanx().run_in(None, arguments, &[], TIME_LIMIT).expect("it starts")
}

/// Code, level and line of each finding.
fn findings(file: &Path) -> BTreeSet<(String, String, u64)> {
    let outcome = phalanx(&["check", "--format", "json", &file.to_string_lossy()]);
    let modules: Vec<Value> = serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", outcome.summary()));
    let all = modules.iter().flat_map(|m| m["diagnostics"].as_array().cloned().unwrap_or_default());
    all.map(|found| {
        let line = found["location"]["source"]["line"].as_u64().unwrap_or_default();
        (text(&found["code"]), text(&found["level"]), line)
    })
    .collect()
}

/// Findings without their levels.
fn places(findings: &BTreeSet<(String, String, u64)>) -> BTreeSet<(&str, u64)> {
    findings.iter().map(|(code, _, line)| (code.as_str(), *line)).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Lines of a source that are marked.
fn mistakes(source: &str) -> BTreeSet<u64> {
    let source = fs::read_to_string(folder().join(format!("{source}.cl"))).expect("it is there");
    let lines = (1..).zip(source.lines()).filter(|(_, line)| line.contains("// mistake"));
    lines.map(|(number, _)| number).collect()
}

/// Whether a library is linked or not makes no difference to what is found.
#[test]
fn findings_are_those_of_the_linked_library() {
    let Some(clang) = llvm_tools::require("clang") else { return };
    let Some(library) = libclc("amdgcn-amd-amdhsa") else { return };
    for level in ["-O0", "-O2"] {
        let source = ("barriers", "amdgcn-amd-amdhsa");
        let alone = findings(&compile(&clang, source, level, None));
        let linked = findings(&compile(&clang, source, level, Some(&library)));
        match level {
            // Without inlining, callees are not evaluated, so a certain mistake is reported only as
            // possible.
            "-O0" => assert_eq!(places(&alone), places(&linked), "{level}"),
            _ => assert_eq!(alone, linked, "{level}"),
        }
        let lines: BTreeSet<u64> = alone.iter().map(|(_, _, line)| *line).collect();
        assert_eq!(lines, mistakes("barriers"), "{level}");
    }
}

/// Targets that no library is linked for, or that clang gives other names to.
#[test]
fn mistakes_are_found_on_every_target() {
    let Some(clang) = llvm_tools::require("clang") else { return };
    for target in ["nvptx64-nvidia-cuda", "spir64-unknown-unknown", "spirv64-unknown-unknown"] {
        for level in ["-O0", "-O2"] {
            let found = findings(&compile(&clang, ("barriers", target), level, None));
            let lines: BTreeSet<u64> = found.iter().map(|(_, _, line)| *line).collect();
            assert_eq!(lines, mistakes("barriers"), "{target} {level}: {found:?}");
        }
    }
}

/// What a launch leaves in memory, as `phalanx run` prints it.
fn left(file: &Path, launch: &[&str]) -> String {
    let file = file.to_string_lossy();
    let outcome = phalanx(&[&["run", &file], launch].concat());
    assert_eq!(outcome.status, Some(0), "{launch:?} {}", outcome.summary());
    let output = String::from_utf8_lossy(&outcome.stdout).into_owned();
    // The last line counts instructions.
    let memory = output.rsplit_once("\n\n").map_or(&output[..], |(memory, _)| memory);
    let lines: Vec<&str> = memory.lines().filter(|line| !line.contains("instructions")).collect();
    lines.join("\n")
}

/// The interpreter does what the linked library does.
#[test]
fn runs_are_those_of_the_linked_library() {
    let Some(clang) = llvm_tools::require("clang") else { return };
    let Some(library) = libclc("amdgcn-amd-amdhsa") else { return };
    let launches = [
        ("numbers", "places --grid 3x2 --group 4x2 --arg buf:i32:zero*384"),
        ("numbers", "numbers --group 8 --arg buf:i32:zero*64 --arg buf:f32:zero*32"),
        ("numbers", "neighbours --grid 2 --group 8 --arg buf:i32:zero*16 --arg shared:32"),
        ("memory", "first --grid 2 --group 8 --arg buf:i32:zero*544 --arg shared:128"),
        ("memory", "second --grid 2 --group 8 --arg buf:i32:zero*544 --arg shared:128"),
        ("memory", "vectors --grid 2 --group 8 --arg buf:i32:zero*1024 --arg buf:f32:zero*512"),
        ("memory", "halves --grid 2 --group 8 --arg buf:i32:zero*1024 --arg buf:f32:zero*512"),
    ];
    for level in ["-O0", "-O2"] {
        for (source, launch) in launches {
            let source = (source, "amdgcn-amd-amdhsa");
            let launch: Vec<&str> = launch.split(' ').collect();
            let [alone, linked] = [None, Some(library.as_path())]
                .map(|by| left(&compile(&clang, source, level, by), &launch));
            assert_eq!(alone, linked, "{level} {launch:?}");
            assert!(alone.chars().any(|c| ('1'..='9').contains(&c)), "{alone}");
        }
    }
}

/// What clang makes of functions of all a workgroup is executed as OpenCL C says.
#[test]
fn work_group_functions_of_sources() {
    let Some(clang) = llvm_tools::require("clang") else { return };
    let together = "together --group 8 --arg buf:i32:zero*40 --arg i32:4";
    let copies = "copies --group 8 --arg buf:i32:zero*16 --arg buf:i32:9,8,7,6,5,4,3,2";
    for target in ["amdgcn-amd-amdhsa", "spir64-unknown-unknown", "spirv64-unknown-unknown"] {
        for level in ["-O0", "-O2"] {
            let file = compile(&clang, ("groups", target), level, None);
            let launched = |launch: &str| left(&file, &launch.split(' ').collect::<Vec<_>>());
            let both = format!("{}\n{}", launched(together), launched(copies));
            // Threads bring 0, 2, 4, 1, 3, 0, 2, 4.
            let expected = expect![[r#"
                argument 0: 40 x i32
                     0: 16 16 16 16 16 16 16 16
                     8:  0  2  4  4  4  4  4  4
                    16:  0  0  2  6  7 10 10 12
                    24:  2  2  2  2  2  2  2  2
                    32:  1  1  1  1  1  1  1  1
                argument 0: 16 x i32
                     0: 2 3 4 5 6 7 8 9
                     8: 9 9 7 7 5 5 3 3
                argument 1: 8 x i32
                     0: 9 8 7 6 5 4 3 2"#]];
            expected.assert_eq(&both);
        }
    }
}

/// Atomics order memory as their arguments say. Data that a relaxed atomic guards races, data
/// between a release and an acquire does not, and a scope may be too narrow.
#[test]
fn atomics_of_the_library_order() {
    let races = |store: &str, load: &str| {
        let module = format!(
            r#"
            target triple = "amdgcn-amd-amdhsa"
            declare void @_Z21atomic_store_explicitPU3AS1VU7_Atomicii12memory_order12memory_scope(ptr addrspace(1), i32, i32, i32)
            declare i32 @_Z20atomic_load_explicitPU3AS1VU7_Atomici12memory_order12memory_scope(ptr addrspace(1), i32, i32)
            declare i64 @_Z12get_group_idj(i32)
            define amdgpu_kernel void @k(ptr addrspace(1) %data, ptr addrspace(1) %flag) {{
              %g = call i64 @_Z12get_group_idj(i32 0)
              %is.first = icmp eq i64 %g, 0
              br i1 %is.first, label %writes, label %waits
            writes:
              store i32 7, ptr addrspace(1) %data
              call void @_Z21atomic_store_explicitPU3AS1VU7_Atomicii12memory_order12memory_scope(ptr addrspace(1) %flag, i32 1, {store})
              ret void
            waits:
              %f = call i32 @_Z20atomic_load_explicitPU3AS1VU7_Atomici12memory_order12memory_scope(ptr addrspace(1) %flag, {load})
              %is.set = icmp eq i32 %f, 1
              br i1 %is.set, label %reads, label %waits
            reads:
              %d = load i32, ptr addrspace(1) %data
              ret void
            }}
            !opencl.ocl.version = !{{!0}}
            !0 = !{{i32 2, i32 0}}
        "#
        );
        let arguments =
            "run - k --races --grid 2 --group 1 --arg buf:i32:zero*1 --arg buf:i32:zero*1";
        let outcome =
            crate::phalanx().run_in(None, arguments.split(' '), module.as_bytes(), TIME_LIMIT);
        let summary = outcome.expect("it starts").summary();
        let is_race = summary.contains("data race at");
        assert!(is_race || summary.starts_with("status 0"), "{summary}");
        is_race
    };
    // Relaxed, acquire and release, as clang numbers them; among the device or the workgroup.
    assert!(!races("i32 3, i32 2", "i32 2, i32 2"));
    assert!(races("i32 0, i32 2", "i32 2, i32 2"));
    assert!(races("i32 3, i32 2", "i32 0, i32 2"));
    assert!(races("i32 3, i32 1", "i32 2, i32 2"));
}

/// The table of names applies unless an attribute or a definition in the program contradicts it.
#[test]
fn definitions_win() {
    let module = r#"
        target triple = "nvptx64-nvidia-cuda"
        define i64 @_Z12get_local_idj(i32 %d) { ret i64 7 }
        define void @_Z7barrierj(i32 %f) { ret void }
        define ptx_kernel void @k(ptr addrspace(1) %o) {
        e:
          %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %z = icmp eq i32 %t, 0
          br i1 %z, label %a, label %b
        a:
          call void @_Z7barrierj(i32 1)
          %same = call i64 @_Z12get_local_idj(i32 0)
          store i64 %same, ptr addrspace(1) %o
          br label %b
        b:
          ret void
        }
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    "#;
    let limit = TIME_LIMIT;
    let outcome = crate::phalanx().run_in(None, ["check", "-"], module.as_bytes(), limit);
    let outcome = outcome.expect("it starts");
    expect![[r#"
        nothing found; judged: 1 kernel, 0 barriers
    "#]]
    .assert_eq(&String::from_utf8_lossy(&outcome.stdout));
}

/// SPIR-V's built-in variables are no constants of the launch, and an argument of its barriers
/// states the participating threads.
#[test]
fn variables_and_barriers_of_spirv() {
    let module = r#"
        target triple = "spirv64-unknown-unknown"
        @__spirv_BuiltInLocalInvocationId = external addrspace(1) constant <3 x i64>
        @__spirv_BuiltInWorkgroupId = external addrspace(1) constant <3 x i64>
        declare void @_Z22__spirv_ControlBarrierjjj(i32, i32, i32)
        define spir_kernel void @k(ptr addrspace(1) %o, i32 %s) {
        e:
          %v = load <3 x i64>, ptr addrspace(1) @__spirv_BuiltInLocalInvocationId
          %t = extractelement <3 x i64> %v, i64 0
          %w = load <3 x i64>, ptr addrspace(1) @__spirv_BuiltInWorkgroupId
          %g = extractelement <3 x i64> %w, i64 0
          %z = icmp eq i64 %g, 0
          br i1 %z, label %a, label %b
        a:
          call void @_Z22__spirv_ControlBarrierjjj(i32 2, i32 2, i32 16)
          br label %b
        b:
          %y = icmp eq i64 %t, 0
          br i1 %y, label %c, label %d
        c:
          call void @_Z22__spirv_ControlBarrierjjj(i32 2, i32 2, i32 16)
          br label %d
        d:
          call void @_Z22__spirv_ControlBarrierjjj(i32 %s, i32 2, i32 16)
          store i64 0, ptr addrspace(1) %o
          ret void
        }
    "#;
    let run = |arguments: &[&str]| {
        let outcome = crate::phalanx().run_in(None, arguments, module.as_bytes(), TIME_LIMIT);
        String::from_utf8_lossy(&outcome.expect("it starts").stdout).into_owned()
    };
    expect![[r#"
        warning[PHX001]: the barrier may not be executed by all threads of a workgroup, in kernel `k`
          --> <stdin>:21:11
           |
        21 |           call void @_Z22__spirv_ControlBarrierjjj(i32 2, i32 2, i32 16)
           |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ some may wait here for others that do not come
           |
        note: threads part here: the way depends on the thread's index x, the thread's index y and the thread's index z
          --> <stdin>:19:11
           |
        19 |           br i1 %y, label %c, label %d
           |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        note: because the branch of %b is decided by %y (<stdin>:19:11)
        note: because %y is computed from %t (<stdin>:18:11)
        note: because %t is computed from %v (<stdin>:9:11)
        note: because %v is loaded from memory: the thread's index x (<stdin>:8:11)
        help: move it to where all threads of a workgroup come, and leave only the rest under the condition

        1 warning; judged: 1 kernel, 2 barriers
        not judged: calls of `__spirv_ControlBarrier`, whose code is not seen here: it may have a barrier (<stdin>:24:11)
    "#]].assert_eq(&run(&["check", "-"]));
    expect![[r#"
        <stdin>: spirv64-unknown-unknown, wave scope

        kernel @k line 6
          3 of 6 values divergent, 1 of 2 branches, 0 of 0 cycles

          branches
              13  uniform   {block.x, block.y, block.z}  br i1 %z, label %a, label %b
              19  divergent {x, y, z}                    br i1 %y, label %c, label %d

          divergent values
               8  divergent {x, y, z}  %v = load <3 x i64>, ptr addrspace(1) @__spirv_BuiltInLocalInvocationId, align 32
               9  divergent {x, y, z}  %t = extractelement <3 x i64> %v, i64 0
              18  divergent {x, y, z}  %y = icmp eq i64 %t, 0

        Braces list what something depends on:
          x        the thread's index x
          y        the thread's index y
          z        the thread's index z
          block.x  the workgroup's index x
          block.y  the workgroup's index y
          block.z  the workgroup's index z
    "#]].assert_eq(&run(&["analyze", "-"]));
}

/// A call through a pointer to one of several named functions is judged by the effects of these:
/// threads that call different functions do not meet at a barrier in one of them.
#[test]
fn functions_that_are_chosen() {
    let first_line = |condition: &str, other: &str| {
        let module = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
             declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
             declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
             declare void @unknown() convergent
             define internal void @waits() convergent {{
               call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)
               ret void
             }}
             define internal void @nothing() convergent {{
               ret void
             }}
             define ptx_kernel void @k() {{
               %i = call i32 @llvm.nvvm.read.ptx.sreg.{condition}.x()
               %c = icmp ult i32 %i, 7
               %p = select i1 %c, ptr @waits, ptr @{other}
               call void %p() convergent
               ret void
             }}"
        );
        let outcome = crate::phalanx().run_in(None, ["check", "-"], module.as_bytes(), TIME_LIMIT);
        let text = String::from_utf8_lossy(&outcome.expect("it starts").stdout).into_owned();
        let is_said = |line: &&str| !line.starts_with([' ', '|']) && !line.is_empty();
        let said: Vec<&str> = text.lines().filter(is_said).collect();
        format!("{}\n{}\n", said[0], said[said.len() - 1])
    };
    expect![[r#"
        warning[PHX001]: the barrier in `waits` may not be executed by all threads of a workgroup, in kernel `k`
        1 warning; judged: 1 kernel, 1 barrier
    "#]]
    .assert_eq(&first_line("tid", "nothing"));
    expect![[r#"
        nothing found; judged: 1 kernel, 1 barrier
        nothing found; judged: 1 kernel, 1 barrier
    "#]]
    .assert_eq(&first_line("ctaid", "nothing"));
    expect![[r#"
        nothing found; judged: 1 kernel, 1 barrier
        not judged: calls of `unknown`, whose code is not seen here: it may have a barrier (<stdin>:17:16)
    "#]]
    .assert_eq(&first_line("ctaid", "unknown"));
}
