//! The output of `phalanx run`: results, tables, faults and hangs. `UPDATE_EXPECT=1` accepts
//! changes.

use expect_test::{Expect, expect};

/// Output, errors and exit status of a run of a file of `semantics/` or `ll/`.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(arguments: &[&str], status: i32, expected: Expect) {
    let folder = phalanx_test_suite::folder();
    let arguments = ["run"].iter().chain(arguments).copied();
    let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
    let outcome = crate::phalanx().run_in(Some(&folder), arguments, &[], limit).expect("it starts");
    let text = [&outcome.stdout[..], &outcome.stderr].concat();
    expected.assert_eq(&String::from_utf8_lossy(&text));
    assert_eq!(outcome.status, Some(status));
}

#[test]
fn results() {
    check(
        &["semantics/overrun.ll", "@overrun", "--group", "4x1", "--arg", "buf:i32:zero*5"],
        0,
        expect![[r#"
            argument 0: 5 x i32
                 0: 0 1 2 3 0
            16 instructions, 0 group operations, 0 barriers
        "#]],
    );
}

#[test]
fn a_smaller_workgroup_at_the_edge_of_the_grid() {
    let arguments = ["semantics/overrun.ll", "@overrun", "--group", "4"];
    let buffer = ["--arg", "buf:i32:zero*4"];
    check(
        &[&arguments[..], &["--partial", "2"], &buffer].concat(),
        0,
        expect![[r#"
        argument 0: 4 x i32
             0: 0 1 0 0
        8 instructions, 0 group operations, 0 barriers
    "#]],
    );
    check(
        &[&arguments[..], &["--partial", "5"], &buffer].concat(),
        2,
        expect![[r#"
        error: workgroups at the edge of a grid are not larger than others
    "#]],
    );
}

#[test]
fn results_for_programs() {
    check(
        &[
            "semantics/overrun.ll",
            "overrun",
            "--group",
            "2",
            "--format",
            "json",
            "--arg",
            "buf:f32:1,2,3",
        ],
        0,
        expect![[r#"
            {
              "status": "ended",
              "instructions": 8,
              "group_operations": 0,
              "barriers": 0,
              "barriers_opened_early": 0,
              "buffers": [
                {
                  "argument": 0,
                  "type": "f32",
                  "values": [
                    0.0,
                    1e-45,
                    3.0
                  ]
                }
              ],
              "races": [],
              "broken": [],
              "unwritten": []
            }
        "#]],
    );
}

#[test]
fn a_table_of_converged_instances() {
    check(
        &["semantics/natural_loop.ll", "@natural_loop", "--group", "2", "--trace"],
        0,
        expect![[r#"
                          1   2   3   4   5   6   7   8   9  10    11
            thread 0  Entry  H   B   L   H       L               Exit
            thread 1  Entry  H       L   H   B   L   H   B   L   Exit
            67 instructions, 0 group operations, 0 barriers
        "#]],
    );
}

#[test]
fn a_fault_has_a_thread_and_a_place() {
    check(
        &["semantics/overrun.ll", "@overrun", "--group", "4", "--arg", "buf:i32:zero*3"],
        1,
        expect![[r#"
            argument 0: 3 x i32
                 0: 0 1 2
            semantics/overrun.ll:7:3: error: thread 3: store of 4 bytes at global address 0x10c: out of bounds
              |
            7 |   store i32 %id, ptr addrspace(1) %at, align 4
              |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_hang_says_who_waits_where() {
    check(
        &["semantics/hang.ll", "@hang", "--group", "64"],
        1,
        expect![[r#"
        semantics/hang.ll: error: hang: 64 threads wait at barriers that cannot be satisfied
        semantics/hang.ll:11:3: note: here: threads 0-31
           |
        11 |   call void @llvm.nvvm.barrier.cta.sync.all(i32 1)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        semantics/hang.ll:14:3: note: here: threads 32-63
           |
        14 |   call void @llvm.nvvm.barrier.cta.sync.all(i32 2)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
}

#[test]
fn a_race_has_threads_and_places() {
    let arguments =
        ["semantics/race.ll", "@neighbours", "--group", "4", "--races", "--arg", "buf:i32:zero*4"];
    check(
        &[&arguments[..], &["--arg", "i1:0"]].concat(),
        1,
        expect![[r#"
            argument 0: 4 x i32
                 0: 9 0 1 4
            48 instructions, 0 group operations, 0 barriers
            semantics/race.ll:20:3: error: data race at byte 12 of `left`: thread 0 reads what thread 3 writes, in no order
               |
            20 |   %value = load i32, ptr addrspace(3) %other
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            semantics/race.ll:11:3: note: thread 3 writes here; the two instructions race on 16 bytes in all
               |
            11 |   store i32 %square, ptr addrspace(3) %mine
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
    check(
        &[&arguments[..], &["--arg", "i1:-1"]].concat(),
        0,
        expect![[r#"
        argument 0: 4 x i32
             0: 9 0 1 4
        56 instructions, 0 group operations, 1 barriers
    "#]],
    );
    check(
        &[&arguments[..], &["--arg", "i1:0", "--format", "json"]].concat(),
        1,
        expect![[r#"
            {
              "status": "ended",
              "instructions": 48,
              "group_operations": 0,
              "barriers": 0,
              "barriers_opened_early": 0,
              "buffers": [
                {
                  "argument": 0,
                  "type": "i32",
                  "values": [
                    9,
                    0,
                    1,
                    4
                  ]
                }
              ],
              "races": [
                {
                  "space": "shared",
                  "address": 12,
                  "bytes": 16,
                  "first": {
                    "thread": 3,
                    "line": 11,
                    "writes": true,
                    "atomic": false
                  },
                  "second": {
                    "thread": 0,
                    "line": 20,
                    "writes": false,
                    "atomic": false
                  }
                }
              ],
              "broken": [],
              "unwritten": []
            }
        "#]],
    );
}

/// Writes a source to a folder and runs a kernel of it; nothing without a compiler.
fn run_source(text: &str, arguments: &str) -> Option<(Option<i32>, String)> {
    run_source_with(text, &format!("{arguments} --no-cache"))
}

/// The same with all arguments.
fn run_source_with(text: &str, arguments: &str) -> Option<(Option<i32>, String)> {
    phalanx_testing::llvm_tools::require("clang")?;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.cl"), text).expect("it is written");
    let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
    let arguments = format!("run k.cl {arguments}");
    let outcome = crate::phalanx()
        .run_in(Some(folder.path()), arguments.split(' '), &[], limit)
        .expect("it starts");
    let text = [&outcome.stdout[..], &outcome.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines = text.lines().filter(|line| !line.contains("compiled by clang"));
    Some((outcome.status, lines.map(|line| format!("{line}\n")).collect()))
}

/// The global id of the first thread is 0, whether libclc defines it or clang does not link it; on
/// AMD GPUs libclc reads the offset of the grid from implicit arguments.
#[test]
fn global_ids_begin_with_zero() {
    let source = "kernel void k(global int *out) {
  int i = get_global_id(0) + 4 * get_global_id(1);
  out[i] = 100 + i;
}
";
    let arguments = "k --group 2x2 --grid 2x2 --arg buf:i32:zero*16";
    for level in ["-O0", "-O2"] {
        let arguments = format!("{arguments} --no-cache -- {level}");
        let Some((status, text)) = run_source_with(source, &arguments) else { return };
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("100 101 102 103 104 105 106 107"), "{level}: {text}");
        assert!(text.contains("108 109 110 111 112 113 114 115"), "{level}: {text}");
    }
}

/// Every error of `check` is also an error here, at the same lines.
#[test]
fn workgroup_memory_is_watched_unasked() {
    let source = "kernel void k(global int *out) {
  local int tile[65];
  int t = get_local_id(0);
  tile[t] = t;
BARRIER
  out[t] = tile[t + 1] / 64;
}
";
    let arguments = "k --group 64 --arg buf:i32:zero*64";
    let Some((status, text)) = run_source(&source.replace("BARRIER", ""), arguments) else {
        return;
    };
    let errors = &text[text.find("k.cl:").expect("an error")..];
    expect![[r#"
        k.cl:6:12: error: data race at byte 4 of `k.tile`: thread 0 reads what thread 1 writes, in no order
          |
        6 |   out[t] = tile[t + 1] / 64;
          |            ^^^^
        k.cl:4:11: note: thread 1 writes here; the two instructions race on 252 bytes in all
          |
        4 |   tile[t] = t;
          |           ^
        k.cl:6:12: error: thread 63 reads byte 256 of `k.tile`, which no thread has written
          |
        6 |   out[t] = tile[t + 1] / 64;
          |            ^^^^
    "#]]
    .assert_eq(errors);
    assert_eq!(status, Some(1));
    let silent = run_source(&source.replace("BARRIER", ""), &format!("{arguments} --no-races"));
    assert_eq!(silent.expect("as before").0, Some(0));
    let right =
        source.replace("BARRIER", "  barrier(CLK_LOCAL_MEM_FENCE);").replace("t + 1", "63 - t");
    let (status, text) = run_source(&right, arguments).expect("as before");
    assert_eq!(status, Some(0), "{text}");
}

/// A flag that several threads set has one value in every order.
#[test]
fn writes_of_one_value_race_on_request_only() {
    let source = "kernel void k(global int *out) {
  local int found;
  if (get_local_id(0) == 0) found = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (out[get_local_id(0)] == 0) found = VALUE;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_local_id(0)] = found;
}
";
    let arguments = "k --group 64 --arg buf:i32:zero*64";
    let status = |value: &str, more: &str| {
        run_source(&source.replace("VALUE", value), &format!("{arguments}{more}")).map(|all| all.0)
    };
    let Some(one_value) = status("7", "") else { return };
    assert_eq!(one_value, Some(0));
    assert_eq!(status("7", " --races"), Some(Some(1)));
    assert_eq!(status("get_local_id(0)", ""), Some(Some(1)));
}

#[test]
fn large_buffers_are_cut() {
    let arguments = ["semantics/overrun.ll", "@overrun", "--group", "1", "--arg"];
    check(
        &[&arguments[..], &["buf:i32:zero*259"]].concat(),
        0,
        expect![[r#"
            argument 0: 259 x i32
                 0: 0 0 0 0 0 0 0 0
                 8: 0 0 0 0 0 0 0 0
                16: 0 0 0 0 0 0 0 0
                24: 0 0 0 0 0 0 0 0
                32: 0 0 0 0 0 0 0 0
                40: 0 0 0 0 0 0 0 0
                48: 0 0 0 0 0 0 0 0
                56: 0 0 0 0 0 0 0 0
                    184 more (`--all` prints them)
               248: 0 0 0 0 0 0 0 0
               256: 0 0 0
            4 instructions, 0 group operations, 0 barriers
        "#]],
    );
    let folder = phalanx_test_suite::folder();
    let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
    let arguments = ["run"].iter().chain(&arguments).chain(&["buf:i32:zero*259", "--all"]).copied();
    let outcome = crate::phalanx().run_in(Some(&folder), arguments, &[], limit).expect("it starts");
    assert_eq!(String::from_utf8_lossy(&outcome.stdout).lines().count(), 1 + 33 + 1);
}

/// A split barrier orders accesses, at its wait.
#[test]
fn halves_of_a_barrier_order_accesses() {
    for (wait, status, expected) in [
        (
            "i1:0",
            1,
            expect![[r#"
        argument 0: 4 x i32
             0: 9 0 1 4
        52 instructions, 0 group operations, 1 barriers
        semantics/race_split.ll:22:3: error: data race at byte 12 of `left`: thread 0 reads what thread 3 writes, in no order
           |
        22 |   %value = load i32, ptr addrspace(3) %other
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        semantics/race_split.ll:12:3: note: thread 3 writes here; the two instructions race on 16 bytes in all
           |
        12 |   store i32 %square, ptr addrspace(3) %mine
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]],
        ),
        (
            "i1:-1",
            0,
            expect![[r#"
        argument 0: 4 x i32
             0: 9 0 1 4
        60 instructions, 0 group operations, 1 barriers
    "#]],
        ),
    ] {
        let arguments = ["semantics/race_split.ll", "@neighbours", "--group", "4", "--races"];
        let buffers = ["--arg", "buf:i32:zero*4", "--arg", wait];
        check(&[&arguments[..], &buffers].concat(), status, expected);
    }
}

/// Assembly of one instruction that an intrinsic stands for is executed; other text is refused by
/// name.
#[test]
fn assembly() {
    check(
        &[
            "semantics/assembly.ll",
            "@known",
            "--group",
            "40",
            "--grid",
            "2",
            "--arg",
            "buf:i32:zero*4",
        ],
        0,
        expect![[r#"
            argument 0: 4 x i32
                 0:  1 39  8  0
            880 instructions, 8 group operations, 2 barriers
        "#]],
    );
    check(
        &["semantics/assembly.ll", "@hangs", "--group", "64"],
        1,
        expect![[r#"
            semantics/assembly.ll: error: hang: 64 threads wait at barriers that cannot be satisfied
            semantics/assembly.ll:23:3: note: here: threads 0-63
               |
            23 |   call void asm sideeffect "barrier.sync $0;", "r"(i32 %number) convergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
    check(
        &["semantics/assembly.ll", "@unknown", "--group", "4"],
        1,
        expect![[r#"
            semantics/assembly.ll:28:3: error: thread 0: not interpreted: a call of inline assembly `bar.sync 0; frobnicate;`
               |
            28 |   call void asm sideeffect "bar.sync 0; frobnicate;", ""() convergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_barrier_that_opens_early() {
    check(
        &["check/ll/amdgcn_barriers.ll", "@wrong_twice", "--group", "64", "--order", "turns:9"],
        0,
        expect![[r#"
            256 instructions, 0 group operations, 2 barriers
            2 barriers opened before all threads had come
        "#]],
    );
    check(
        &["check/ll/nvptx_barriers.ll", "@wrong_wait", "--grid", "2", "--cluster", "2"],
        1,
        expect![[r#"
            check/ll/nvptx_barriers.ll: error: hang: 2 threads wait at barriers that cannot be satisfied
            check/ll/nvptx_barriers.ll:120:3: note: here: threads 0-1
                |
            120 |   call void @llvm.nvvm.barrier.cluster.wait()
                |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
    check(
        &["check/ll/nvptx_barriers.ll", "@wrong_wait", "--grid", "3", "--cluster", "2"],
        2,
        expect![[r#"
            error: a grid has whole clusters
        "#]],
    );
}

#[test]
fn bad_usage() {
    check(
        &["semantics/hang.ll", "@hung"],
        2,
        expect![[r#"
            error: no function is called @hung; did you mean @hang?
        "#]],
    );
    check(
        &["semantics/overrun.ll", "@overrun", "--arg", "u8:3"],
        2,
        expect![[r#"
        error: in --arg u8:3: unknown type `u8` (known: i8, i16, i32, i64, f32, f64)
    "#]],
    );
    check(
        &["semantics/overrun.ll", "@overrun", "--group", "0"],
        2,
        expect![[r#"
            error: in --group: `0` has an extent of 0, and a launch has at least 1 in each dimension
        "#]],
    );
}
