//! Findings of `phalanx run` about operations that threads execute together; `check` finds the
//! same.

use std::fs;

use expect_test::{Expect, expect};
use phalanx_testing::llvm_tools::{self, TIME_LIMIT};

/// The lines with errors and notes of a run; the exit status is 1 if there are any.
#[track_caller]
fn reported(folder: &std::path::Path, command: &str, expected: &Expect) {
    let arguments = format!("run --color never {command}");
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let outcome = crate::phalanx().run_in(Some(folder), &arguments, &[], TIME_LIMIT);
    let outcome = outcome.expect("it starts");
    let errors = outcome.errors();
    let is_said = |line: &&str| line.contains(": error: ") || line.contains(": note: thread");
    let said: Vec<&str> = errors.lines().filter(is_said).collect();
    assert_eq!(outcome.status, Some(i32::from(!said.is_empty())), "{errors}");
    expected.assert_eq(&said.join("\n"));
}

#[track_caller]
fn of_module(kernel: &str, expected: &Expect) {
    reported(&phalanx_test_suite::folder(), &format!("semantics/rules.ll {kernel}"), expected);
}

#[test]
fn threads_wait_at_one_barrier() {
    of_module(
        "@two_barriers --group 64 --arg buf:i32:0",
        &expect![[r#"
            semantics/rules.ll:15:3: error: threads of a workgroup wait at different barriers: thread 0 waits here
            semantics/rules.ll:12:3: note: thread 1 waits here"#]],
    );
    of_module("@one_barrier --group 64 --arg buf:i32:0", &expect![""]);
}

#[test]
fn lanes_are_in_their_masks() {
    of_module(
        "@own_mask --group 32",
        &expect![
            "semantics/rules.ll:38:3: error: thread 16 executes this with the mask 0x0000ffff, which it is not in"
        ],
    );
    of_module("@own_mask --group 16", &expect![""]);
    of_module("@halves --group 32", &expect![""]);
    of_module(
        "@two_masks --group 32",
        &expect![
            "semantics/rules.ll:55:3: error: threads 0 and 16 execute this with different masks: 0xffffffff and 0xffff0000"
        ],
    );
}

#[test]
fn lanes_that_a_mask_names_come_or_have_ended() {
    of_module(
        "@named_lanes --group 64",
        &expect![
            "semantics/rules.ll:65:3: error: the mask 0xffffffff of thread 0 includes thread 16, which does not execute this and has not ended"
        ],
    );
    of_module("@ended_lanes --group 64", &expect![""]);
    of_module("@named_lanes --group 64 --no-races", &expect![""]);
}

/// Lines are those of the source, and a helper that is called at two places has two barriers.
#[test]
fn barriers_of_sources() {
    if llvm_tools::require("clang").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let write = |name, text| fs::write(folder.path().join(name), text).expect("file");
    write(
        "k.cl",
        "kernel void roles(global int *p) {\n  if (get_local_id(0) & 1) {\n    p[0] = 1;\n    barrier(CLK_LOCAL_MEM_FENCE);\n  } else {\n    p[1] = 1;\n    barrier(CLK_LOCAL_MEM_FENCE);\n    p[2] = 1;\n  }\n}\n\
         kernel void all_of(global int *p) {\n  for (int i = 0; i < 3; i++)\n    barrier(CLK_LOCAL_MEM_FENCE);\n  p[0] = 1;\n}\n",
    );
    write(
        "k.cu",
        "__device__ __noinline__ void meet() { __syncthreads(); }\n__global__ void calls(int *p) {\n  if (threadIdx.x & 1) {\n    meet();\n    p[0] = 1;\n  } else {\n    meet();\n    p[1] = 1;\n  }\n}\n",
    );
    for level in ["-O0", "-O2"] {
        let sources = format!("--no-cache --cuda-path none -- {level}");
        let run = |kernel: &str, expected: &Expect| {
            reported(
                folder.path(),
                &format!("{kernel} --group 128 --arg buf:i32:zero*3 {sources}"),
                expected,
            );
        };
        run("k.cl all_of", &expect![""]);
        let folder = folder.path();
        let of = |kernel: &str| {
            let command = format!("run {kernel} --group 128 --arg buf:i32:zero*3 {sources}");
            let arguments: Vec<&str> = command.split_whitespace().collect();
            let outcome = crate::phalanx().run_in(Some(folder), &arguments, &[], TIME_LIMIT);
            outcome.expect("it starts").errors()
        };
        let roles = of("k.cl roles");
        assert!(
            roles.contains("k.cl:7:5: error: threads of a workgroup wait at different"),
            "{roles}"
        );
        assert!(roles.contains("k.cl:4:5: note: thread 1 waits here"), "{roles}");
        let calls = of("k.cu calls");
        assert!(
            calls.contains("k.cu:7:5: error: threads of a workgroup wait at different"),
            "{calls}"
        );
    }
}
