//! `--own-functions`: a table of functions that a module only declares, and of its machine.

use std::fs;

use expect_test::{Expect, expect};
use phalanx_testing::llvm_tools::TIME_LIMIT;

/// A kernel of a machine of its own, with a barrier under a divergent branch.
const TOY: &str = "target triple = \"toygpu\"
declare i32 @toy_thread()
declare void @toy_sync() convergent
define cc 200 void @k(ptr addrspace(7) %tile) {
  %x = call i32 @toy_thread()
  %few = icmp ult i32 %x, 3
  br i1 %few, label %a, label %b
a:
  call void @toy_sync()
  br label %b
b:
  ret void
}
";

/// A kernel of NVIDIA's that calls a barrier of a library, between two accesses.
const KNOWN: &str = "target triple = \"nvptx64-nvidia-cuda\"
@part = internal addrspace(3) global [64 x i32] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @toy_sync() convergent
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = getelementptr i32, ptr addrspace(3) @part, i32 %x
  store i32 %x, ptr addrspace(3) %mine
  call void @toy_sync()
  %other = sub i32 63, %x
  %its = getelementptr i32, ptr addrspace(3) @part, i32 %other
  %value = load i32, ptr addrspace(3) %its
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %x
  store i32 %value, ptr addrspace(1) %to
  ret void
}
";

const ROWS: &str = "! target toygpu wave=4
! space 7 workgroup tile
! kernel 200

@ propagate(x)  memory=none speculatable willreturn nosync
    toy_thread
@ -  memory=any convergent willreturn barrier(workgroup,aligned)
    toy_sync
";

/// Runs a command in a folder that has the files, and shows its status and what it says.
#[track_caller]
fn check(arguments: &str, expected: &Expect) {
    let folder = tempfile::tempdir().expect("folder");
    let wrong = ROWS.replace("workgroup,aligned", "everywhere");
    for (name, text) in
        [("toy.ll", TOY), ("known.ll", KNOWN), ("rows.txt", ROWS), ("wrong.txt", &*wrong)]
    {
        fs::write(folder.path().join(name), text).expect("file");
    }
    let arguments = arguments.split(' ');
    let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
    let outcome = outcome.expect("it starts");
    let out = String::from_utf8_lossy(&outcome.stdout).into_owned();
    expected.assert_eq(&format!("{out}{}status {:?}\n", outcome.errors(), outcome.status));
}

#[test]
fn a_machine_of_its_own() {
    check(
        "check --format line toy.ll",
        &expect![[r#"
        nothing found; judged: 0 kernels, 0 barriers
        not judged: `toygpu` is not a GPU that is known
        not judged: the module has no kernel
        not judged: `k`, which no kernel of the module calls
        status Some(0)
    "#]],
    );
    check(
        "check --format line --own-functions rows.txt toy.ll",
        &expect![[r#"
        toy.ll:9:3: warning: the barrier may not be executed by all threads of a workgroup, in kernel `k` [PHX001]
        1 warning; judged: 1 kernel, 1 barrier
        status Some(0)
    "#]],
    );
    check(
        "analyze --print branches --own-functions rows.txt toy.ll",
        &expect![[r#"
        toy.ll: toygpu, wave scope

        kernel @k line 4
          2 of 2 values divergent, 1 of 1 branches, 0 of 0 cycles

          branches
               7  divergent {x}  br i1 %few, label %a, label %b

        Braces list what something depends on:
          x  the thread's index x
        status Some(0)
    "#]],
    );
    check(
        "explain --own-functions rows.txt toy.ll @k %few",
        &expect![[r#"
        toy.ll:6:3: note: %few is divergent: it can differ between threads of a wave; 2 steps to %x
        toy.ll:6:3: because: 1. %few is computed from %x
          |
        6 |   %few = icmp ult i32 %x, 3
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        toy.ll:5:3: because: 2. %x is the result of a call: the thread's index x
          |
        5 |   %x = call i32 @toy_thread()
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        status Some(0)
    "#]],
    );
}

/// A machine has waves of its own width: 8 threads are two waves of 4.
#[test]
fn waves_of_a_machine() {
    let text = "target triple = \"toygpu\"
declare void @toy_meet() convergent
define cc 200 void @k() {
  call void @toy_meet()
  ret void
}
";
    let rows = "! target toygpu wave=4
! kernel 200
@ -  memory=any convergent willreturn barrier(wave,aligned)
    toy_meet
";
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("k.ll"), text).expect("file");
    fs::write(folder.path().join("rows.txt"), rows).expect("file");
    let run = |options: &str| {
        let command = format!("run k.ll @k --group 8 --own-functions rows.txt {options}");
        let arguments = command.split_whitespace();
        let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
        String::from_utf8_lossy(&outcome.expect("it starts").stdout).into_owned()
    };
    assert_eq!(run(""), "16 instructions, 2 group operations, 0 barriers\n");
    assert_eq!(run("--wave 8"), "16 instructions, 1 group operations, 0 barriers\n");
}

#[test]
fn a_barrier_of_a_library() {
    check(
        "check --format line --group 64 known.ll",
        &expect![[r#"
        nothing found; judged: 1 kernel, 0 barriers
        not judged: calls of `toy_sync`, whose code is not seen here: it may have a barrier (known.ll:9:3)
        not judged: accesses of workgroup memory that the check did not come to: not compared with all others (known.ll:12:3)
        status Some(0)
    "#]],
    );
    check(
        "check --format line --group 64 --own-functions rows.txt known.ll",
        &expect![[r#"
        nothing found; judged: 1 kernel, 1 barrier
        status Some(0)
    "#]],
    );
    let run = "run --group 64 --arg buf:i32:zero*4 known.ll @k";
    check(
        run,
        &expect![[r#"
        argument 0: 4 x i32
             0: 0 0 0 0
        known.ll:9:3: error: thread 0: not interpreted: a call of `@toy_sync`
          |
        9 |   call void @toy_sync()
          |   ^^^^^^^^^^^^^^^^^^^^^
        status Some(1)
    "#]],
    );
    let run = "run --group 64 --arg buf:i32:zero*64 --own-functions rows.txt known.ll @k";
    check(
        run,
        &expect![[r#"
        argument 0: 64 x i32
             0: 63 62 61 60 59 58 57 56
             8: 55 54 53 52 51 50 49 48
            16: 47 46 45 44 43 42 41 40
            24: 39 38 37 36 35 34 33 32
            32: 31 30 29 28 27 26 25 24
            40: 23 22 21 20 19 18 17 16
            48: 15 14 13 12 11 10  9  8
            56:  7  6  5  4  3  2  1  0
        640 instructions, 0 group operations, 1 barriers
        status Some(0)
    "#]],
    );
}

#[test]
fn rows_that_cannot_be_read() {
    check(
        "check --own-functions wrong.txt toy.ll",
        &expect![[r#"
        error: in wrong.txt: line 7: a barrier starts with its scope
        status Some(2)
    "#]],
    );
    check(
        "opt -S -passes=dce --own-functions none.txt toy.ll",
        &expect![[r#"
        error: cannot read none.txt: No such file or directory (os error 2)
        status Some(2)
    "#]],
    );
}
