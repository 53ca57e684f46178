//! Explanations of programs that are compiled from a source: its lines, and its variables.

use expect_test::{Expect, expect};
use phalanx_testing::llvm_tools::{self, TIME_LIMIT};

const SUMS: &str = "\
__global__ void sums(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = i; k < n; k += 64) sum += in[k];
  if (sum > 3.0f)
    out[i] = sum;
}
";

const COUNT: &str = "\
kernel void count(global float *out) {
  int i = get_local_id(0);
  float all = 0;
  for (int k = 0; k < i; k++) all += k;
  out[i] = all;
}
";

/// What `explain` says of a file, compiled at -O1 or with other flags after `--`.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check((name, text): (&str, &str), command: &str, expected: Expect) {
    if llvm_tools::require("clang").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    std::fs::write(folder.path().join(name), text).expect("file");
    let own = "--cuda-path none --rocm-path none --cache-dir cache --color never";
    let (command, flags) = command.split_once(" -- ").unwrap_or((command, "-O1"));
    let mut arguments: Vec<&str> = vec!["explain", name];
    arguments.extend(command.split(' ').chain(own.split(' ')).chain(["--"]));
    arguments.extend(flags.split(' '));
    let outcome = crate::phalanx().run_in(Some(folder.path()), &arguments, &[], TIME_LIMIT);
    let outcome = outcome.expect("it starts");
    let errors = outcome.errors();
    let errors = errors.lines().filter(|line| !line.starts_with("note: "));
    let text = String::from_utf8_lossy(&outcome.stdout);
    let all: Vec<&str> = text.lines().chain(errors).collect();
    expected.assert_eq(&(all.join("\n") + "\n"));
}

/// A line is drawn once, and a step without a source line shows its IR line; the second chain ends
/// like the first.
#[test]
fn everything_on_a_line_with_the_lines_of_the_program() {
    check(
        ("k.cu", SUMS),
        "sums --line 5",
        expect![[r#"
        k.cu:5:11: note: the branch at the end of %10 is divergent: it can differ between threads of a wave; 7 steps to %7
        k.cu:5:11: because: 1. the branch of %10 is decided by %12
          |
        5 |   if (sum > 3.0f)
          |           ^
          = line 25 of the IR: br i1 %12, label %22, label %25
        k.cu:5:11: because: 2. %12 is computed from %11
          = line 24 of the IR: %12 = fcmp contract ogt float %11, 3.000000e+00
        k.cu (IR):23:3: because: 3. %11 merges different values for threads that separate at the end of %3 (k.cu:4)
          = line 23 of the IR: %11 = phi float [ 0.000000e+00, %3 ], [ %19, %13 ]
          = one way:   %3 -> %13 -> %10
          = the other: %3 -> %10
        k.cu:4:3: because: 4. the branch of %3 is decided by %9
          |
        4 |   for (int k = i; k < n; k += 64) sum += in[k];
          |   ^^^
          = line 20 of the IR: br i1 %9, label %13, label %10
        k.cu:4:21: because: 5. %9 is computed from `i` (%8)
          = line 19 of the IR: %9 = icmp slt i32 %8, %2
        k.cu:2:35: because: 6. `i` (%8) is computed from %7
          |
        2 |   int i = blockIdx.x * blockDim.x + threadIdx.x;
          |                                   ^
          = line 15 of the IR: %8 = add i32 %6, %7
        k.cu:2:37: because: 7. %7 is the result of a call: `threadIdx.x`
          = line 14 of the IR: %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    "#]],
    );
}

#[test]
fn a_variable_by_its_name() {
    check(
        ("k.cu", SUMS),
        "sums i",
        expect![[r#"
        k.cu:2:35: note: `i` (%8) is divergent: it can differ between threads of a wave; 2 steps to %7
        k.cu:2:35: because: 1. `i` (%8) is computed from %7
          |
        2 |   int i = blockIdx.x * blockDim.x + threadIdx.x;
          |                                   ^
          = line 15 of the IR: %8 = add i32 %6, %7
        k.cu:2:37: because: 2. %7 is the result of a call: `threadIdx.x`
          = line 14 of the IR: %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    "#]],
    );
    check(
        ("k.cu", SUMS),
        "sums n",
        expect![[r#"
        k.cu (IR):7:142: note: `n` (%2) is uniform: equal for all threads of a wave that execute it together
    "#]],
    );
}

/// Without optimisation a variable is a stack slot, and the kernel's code another function.
#[test]
fn a_variable_that_is_kept_in_memory() {
    check(
        ("k.cl", COUNT),
        "count i -- -O0 -cl-std=CL2.0",
        expect![[r#"
        k.cl:4:23: note: `i` (%14) is divergent: it can differ between threads of a wave; 7 steps to %3
        k.cl:4:23: because: 1. `i` (%14) is read from private memory, where `i` (%11) was stored or is an index
          |
        4 |   for (int k = 0; k < i; k++) all += k;
          |                       ^
          = line 32 of the IR: %14 = load i32, ptr addrspace(5) %3, align 4
        k.cl:2:11: because: 2. `i` (%11) is computed from %10
          |
        2 |   int i = get_local_id(0);
          |           ^^^^^^^^^^^^
          = line 22 of the IR: %11 = trunc i64 %10 to i32
        k.cl:2:11: because: 3. %10 is the result of a call of @_Z12get_local_idj, which brings this in by itself
          = line 21 of the IR: %10 = call i64 @_Z12get_local_idj(i32 noundef 0) #4
        k.cl (IR):129:3: because: 4. in @_Z12get_local_idj: %10 is returned at the end of %8
          = line 129 of the IR: ret i64 %10
        k.cl (IR):128:3: because: 5. in @_Z12get_local_idj: %10 is computed from %9
          = line 128 of the IR: %10 = zext nneg i32 %9 to i64
        k.cl (IR):127:3: because: 6. in @_Z12get_local_idj: %9 is %3 for threads that come from %2
          = line 127 of the IR: %9 = phi i32 [ %7, %6 ], [ %3, %2 ], [ %5, %4 ], [ 0, %1 ]
        k.cl (IR):115:3: because: 7. in @_Z12get_local_idj: %3 is the result of a call: `get_local_id(0)`
          = line 115 of the IR: %3 = tail call i32 @llvm.amdgcn.workitem.id.x()

        k.cl:5:7: note: `i` (%26) is divergent: it can differ between threads of a wave; 7 steps to %3
        k.cl:5:7: because: 1. `i` (%26) is read from private memory, where `i` (%11) was stored or is an index
          |
        5 |   out[i] = all;
          |       ^
          = line 50 of the IR: %26 = load i32, ptr addrspace(5) %3, align 4
        steps 2 to 7 are steps 2 to 7 of `i` (%14), above
    "#]],
    );
}

#[test]
fn stores_say_what_differs() {
    check(
        ("k.cu", SUMS),
        "sums --line 6",
        expect![[r#"
        k.cu:6:12: note: the store is divergent: it can differ between threads of a wave; 5 steps to %7
        k.cu:6:12: because: 1. the store goes to the address %24
          |
        6 |     out[i] = sum;
          |            ^
          = line 45 of the IR: store float %11, ptr %24, align 4
        k.cu:6:5: because: 2. %24 is computed from %23
          = line 44 of the IR: %24 = getelementptr inbounds float, ptr %1, i64 %23
        k.cu:6:5: because: 3. %23 is computed from `i` (%8)
          = line 43 of the IR: %23 = sext i32 %8 to i64
        k.cu:2:35: because: 4. `i` (%8) is computed from %7
          |
        2 |   int i = blockIdx.x * blockDim.x + threadIdx.x;
          |                                   ^
          = line 15 of the IR: %8 = add i32 %6, %7
        k.cu:2:37: because: 5. %7 is the result of a call: `threadIdx.x`
          = line 14 of the IR: %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    "#]],
    );
}

/// A function whose code is not known is named as the program names it.
#[test]
fn a_call_of_an_unknown_function() {
    let text = "\
__device__ int other(int);
__global__ void k(int *out, int n) {
  int a = other(n);
  out[a] = n;
}
";
    check(
        ("k.cu", text),
        "k a",
        expect![[r#"
        k.cu:3:11: note: `a` (%3) is divergent: it can differ between threads of a wave; it is the source itself
        k.cu:3:11: because: 1. `a` (%3) is the result of a call of `other`: a value that may differ between any two threads
          |
        3 |   int a = other(n);
          |           ^^^^^
          = line 10 of the IR: %3 = tail call noundef i32 @_Z5otheri(i32 noundef %1) #2
    "#]],
    );
}

#[test]
fn names_that_are_no_variable() {
    check(
        ("k.cu", SUMS),
        "sums summ",
        expect![[r#"
        error: no variable or value is called summ; did you mean sum?
    "#]],
    );
}

/// A file that differs from the compiled one is not shown.
#[test]
fn a_variable_of_a_module_without_its_source() {
    let module = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %p) !dbg !3 {
  %1 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !7
    #dbg_value(i32 %1, !6, !DIExpression(), !7)
  %2 = add i32 %1, 1, !dbg !7
    #dbg_value(i32 %2, !8, !DIExpression(DW_OP_plus_uconst, 4, DW_OP_stack_value), !7)
  %b = add i32 %2, 1, !dbg !7
    #dbg_value(i32 %b, !9, !DIExpression(), !7)
  store i32 %b, ptr %p, !dbg !7
  ret void
}
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !2, emissionKind: FullDebug)
!2 = !DIFile(filename: "gone.cu", directory: "/nowhere")
!3 = distinct !DISubprogram(name: "k", file: !2, line: 1, type: !4, unit: !1, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !5)
!5 = !{null}
!6 = !DILocalVariable(name: "tid", scope: !3, file: !2, line: 2, type: !10)
!7 = !DILocation(line: 3, column: 4, scope: !3)
!8 = !DILocalVariable(name: "part", scope: !3, file: !2, line: 2, type: !10)
!9 = !DILocalVariable(name: "b", scope: !3, file: !2, line: 2, type: !10)
!10 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
"#;
    let folder = tempfile::tempdir().expect("folder");
    std::fs::write(folder.path().join("m.ll"), module).expect("file");
    let arguments = ["explain", "m.ll", "k", "b", "--color", "never"];
    let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
    let text = outcome.expect("it starts").stdout;
    expect![[r#"
        m.ll:9:3: note: %b is divergent: it can differ between threads of a wave; 3 steps to `tid` (%1)
        m.ll:9:3: because: 1. %b is computed from %2
          |
        9 |   %b = add i32 %2, 1, !dbg !7
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
          = compiled from gone.cu:3:4
        m.ll:7:3: because: 2. %2 is computed from `tid` (%1)
          |
        7 |   %2 = add i32 %1, 1, !dbg !7
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
          = compiled from gone.cu:3:4
        m.ll:5:3: because: 3. `tid` (%1) is the result of a call: `threadIdx.x`
          |
        5 |   %1 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !7
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
          = compiled from gone.cu:3:4
    "#]].assert_eq(&String::from_utf8_lossy(&text));
}
