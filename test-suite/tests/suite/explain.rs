//! The output of `phalanx explain`, one kind of cause each. `UPDATE_EXPECT=1` accepts changes.

mod calls;
mod source;

use expect_test::{Expect, expect};

/// The output for a function of `ll/`: standard output if the command succeeds, else standard
/// error.
fn explain(arguments: &[&str]) -> String {
    let folder = phalanx_test_suite::folder().join("ll");
    let arguments = ["explain"].iter().chain(arguments).copied();
    let limit = phalanx_testing::llvm_tools::TIME_LIMIT;
    let outcome = crate::phalanx().run_in(Some(&folder), arguments, &[], limit).expect("it starts");
    let text = if outcome.success() { &outcome.stdout } else { &outcome.stderr };
    String::from_utf8_lossy(text).into_owned()
}

#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(arguments: &[&str], expected: Expect) {
    expected.assert_eq(&explain(arguments));
}

/// The first remark only: what comes after are links that other tests show.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check_first(arguments: &[&str], expected: Expect) {
    let text = explain(arguments);
    let end = text.match_indices("because: 2.").next().map_or(text.len(), |(at, _)| at);
    let end = text[..end].rfind('\n').map_or(text.len(), |at| at + 1);
    expected.assert_eq(&text[..end]);
}

#[test]
fn a_join_of_a_branch_of_an_operand_of_a_source() {
    check(
        &["why.ll", "@causes", "%picked"],
        expect![[r#"
            why.ll:25:3: note: %picked is divergent: it can differ between threads of a wave; 4 steps to %id
            why.ll:25:3: because: 1. %picked merges different values for threads that separate at the end of %entry
               |
            25 |   %picked = phi i32 [ 1, %left ], [ 2, %right ], [ 2, %under ] ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ join
              = one way:   %entry -> %left -> %join
              = the other: %entry -> %right -> %join
            why.ll:12:3: because: 2. the branch of %entry is decided by %odd
               |
            12 |   br i1 %odd, label %left, label %right ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            why.ll:11:3: because: 3. %odd is computed from %id
               |
            11 |   %odd = trunc i32 %id to i1 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            why.ll:10:3: because: 4. %id is the result of a call: the thread's index x
               |
            10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}

#[test]
fn an_address() {
    check_first(
        &["why.ll", "@causes", "%loaded"],
        expect![[r#"
            why.ll:27:3: note: %loaded is divergent: it can differ between threads of a wave; 6 steps to %id
            why.ll:27:3: because: 1. %loaded is loaded from the address %at
               |
            27 |   %loaded = load i32, ptr addrspace(1) %at ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ address
        "#]],
    );
}

#[test]
fn an_argument_of_a_call() {
    check_first(
        &["why.ll", "@causes", "%lane"],
        expect![[r#"
        why.ll:28:3: note: %lane is divergent: it can differ between threads of a wave; it is the source itself
        why.ll:28:3: because: 1. %lane is the result of a call: the number of the lane
           |
        28 |   %lane = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 %loaded) ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
}

#[test]
fn private_memory() {
    check_first(
        &["alloca_traffic.ll", "@alloca_traffic", "%id.again"],
        expect![[r#"
            alloca_traffic.ll:21:3: note: %id.again is divergent: it can differ between threads of a wave; 2 steps to %id
            alloca_traffic.ll:21:3: because: 1. %id.again is read from private memory, where %id was stored or is an index
               |
            21 |   %id.again = load i32, ptr addrspace(5) %id.slot, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        "#]],
    );
    check_first(
        &["alloca_traffic.ll", "@alloca_traffic", "%v"],
        expect![[r#"
            alloca_traffic.ll:30:3: note: %v is divergent: it can differ between threads of a wave; 6 steps to %id
            alloca_traffic.ll:30:3: because: 1. %v is read from private memory: the content of %v.slot
               |
            30 |   %v = load i32, ptr addrspace(5) %v.slot, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        "#]],
    );
}

#[test]
fn a_use() {
    check_first(
        &["why.ll", "@causes", "--use", "%at:1"],
        expect![[r#"
            why.ll:26:3: note: operand 1 of %at is divergent: it can differ between threads of a wave; 5 steps to %id
            why.ll:26:3: because: 1. %at reads %picked, which differs where it is computed
               |
            26 |   %at = getelementptr i32, ptr addrspace(1) %out, i32 %picked ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        "#]],
    );
    check(
        &["why.ll", "@causes", "--use", "%at:0"],
        expect![[r#"
        why.ll:26:3: note: operand 0 of %at is uniform: equal for all threads of a wave that execute it together
    "#]],
    );
    check(
        &["why.ll", "@causes", "--use", "%at:7"],
        expect![[r#"
        error: %at has 2 operands, counted from 0
    "#]],
    );
}

#[test]
fn a_branch() {
    check_first(
        &["why.ll", "@causes", "--branch", "entry"],
        expect![[r#"
            why.ll:12:3: note: the branch at the end of %entry is divergent: it can differ between threads of a wave; 3 steps to %id
            why.ll:12:3: because: 1. the branch of %entry is decided by %odd
               |
            12 |   br i1 %odd, label %left, label %right ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        "#]],
    );
    check(
        &["why.ll", "@causes", "--branch", "right"],
        expect![[r#"
        why.ll:19:3: note: the branch at the end of %right is uniform: threads of a wave that come together go the same way
    "#]],
    );
}

#[test]
fn a_block() {
    check(
        &["why.ll", "@causes", "--block", "under"],
        expect![[r#"
            why.ll:21:1: note: the execution of %under is divergent: it can differ between threads of a wave; 5 steps to %id
            why.ll:21:1: because: 1. whether %under is executed is decided at the end of %right, which not all threads reach
               |
            21 | under:
               | ^^^^^^ control
            why.ll:17:1: because: 2. whether %right is executed is decided at the end of %entry
               |
            17 | right:
               | ^^^^^^ control
            why.ll:12:3: because: 3. the branch of %entry is decided by %odd
               |
            12 |   br i1 %odd, label %left, label %right ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            why.ll:11:3: because: 4. %odd is computed from %id
               |
            11 |   %odd = trunc i32 %id to i1 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            why.ll:10:3: because: 5. %id is the result of a call: the thread's index x
               |
            10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
    check(
        &["why.ll", "@causes", "--block", "join"],
        expect![[r#"
        why.ll:24:1: note: the execution of %join is uniform: threads of a wave that meet before it all execute it, or none does
    "#]],
    );
}

#[test]
fn leaving_a_cycle_in_different_iterations() {
    check_first(
        &["temporal_divergence.ll", "divergent_exit", "after"],
        expect![[r#"
            temporal_divergence.ll:21:3: note: %after is divergent: it can differ between threads of a wave; 4 steps to %id
            temporal_divergence.ll:21:3: because: 1. %after reads %i outside of the cycle of %loop, which threads leave from %loop to %exit in different iterations because they separate at the end of %loop
               |
            21 |   %after = mul i32 %i, 3 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^ temporal
        "#]],
    );
}

#[test]
fn a_use_that_differs_where_its_value_does_not() {
    let arguments = ["temporal_divergence.ll", "divergent_exit", "--use", "after:0"];
    check_first(
        &arguments,
        expect![[r#"
            temporal_divergence.ll:21:3: note: operand 0 of %after is divergent: it can differ between threads of a wave; 4 steps to %id
            temporal_divergence.ll:21:3: because: 1. %after reads %i outside of the cycle of %loop, which threads leave from %loop to %exit in different iterations because they separate at the end of %loop
               |
            21 |   %after = mul i32 %i, 3 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^ temporal
        "#]],
    );
}

#[test]
fn an_irreducible_cycle() {
    check_first(
        &["irreducible_entry.ll", "divergent_entry", "a.next"],
        expect![[r#"
            irreducible_entry.ll:18:3: note: %a.next is divergent: it can differ between threads of a wave; 4 steps to %id
            irreducible_entry.ll:18:3: because: 1. %a.next is computed in an irreducible cycle (entries %pong, %ping), in which threads that separate at the end of %entry cannot be expected to stay together
               |
            18 |   %a.next = add i32 %a, 1 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^ assumed
        "#]],
    );
}

#[test]
fn a_line() {
    check(
        &["why.ll", "@causes", "--line", "11"],
        expect![[r#"
            why.ll:11:3: note: %odd is divergent: it can differ between threads of a wave; 2 steps to %id
            why.ll:11:3: because: 1. %odd is computed from %id
               |
            11 |   %odd = trunc i32 %id to i1 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
            why.ll:10:3: because: 2. %id is the result of a call: the thread's index x
               |
            10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
    check(
        &["why.ll", "@causes", "--line", "18"],
        expect![[r#"
        nothing on line 18 differs between threads of a wave
    "#]],
    );
}

#[test]
fn a_line_of_the_program_that_was_compiled() {
    check(
        &["protocol_debug.nvptx.ll", "protocol", "--line", "38"],
        expect![[r#"
            protocol_debug.nvptx.ll:54:3: note: %6 is divergent: it can differ between threads of a wave; 7 steps to %2
            protocol_debug.nvptx.ll:54:3: because: 1. %6 is computed from %5
               |
            54 |   %6 = and i8 %5, 1, !dbg !42
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
              = compiled from cuda/state_machine.cu:38:37
            protocol_debug.nvptx.ll:45:3: because: 2. %5 is loaded from the address %arrayidx
               |
            45 |   %5 = load i8, ptr %arrayidx, align 1, !dbg !39, !tbaa !40
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ address
              = compiled from cuda/state_machine.cu:36:27
            protocol_debug.nvptx.ll:44:3: because: 3. %arrayidx is computed from %idxprom
               |
            44 |   %arrayidx = getelementptr inbounds i8, ptr %events, i64 %idxprom, !dbg !39
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
              = compiled from cuda/state_machine.cu:36:27
            protocol_debug.nvptx.ll:43:3: because: 4. %idxprom is computed from %add
               |
            43 |   %idxprom = sext i32 %add to i64, !dbg !39
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
              = compiled from cuda/state_machine.cu:36:27
            protocol_debug.nvptx.ll:42:3: because: 5. %add is computed from %add.i
               |
            42 |   %add = add nsw i32 %mul, %add.i, !dbg !38
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
              = compiled from cuda/state_machine.cu:36:55
            protocol_debug.nvptx.ll:13:3: because: 6. %add.i is computed from %2
               |
            13 |   %add.i = add i32 %mul.i, %2, !dbg !27
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
              = compiled from cuda/state_machine.cu:33:11
            protocol_debug.nvptx.ll:12:3: because: 7. %2 is the result of a call: `threadIdx.x`
               |
            12 |   %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !24
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
              = compiled from cuda/state_machine.cu:33:11
        "#]],
    );
}

#[test]
fn scopes() {
    check_first(
        &["nvptx_registers.ll", "@registers", "--scope", "grid", "%block"],
        expect![[r#"
        nvptx_registers.ll:14:3: note: %block is divergent: it can differ between threads of the launch; it is the source itself
        nvptx_registers.ll:14:3: because: 1. %block is the result of a call: the workgroup's index x
           |
        14 |   %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() ; => uniform (LLVM 22: divergent)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
}

/// Along an extent of one, workgroups of a cluster have the same index.
#[test]
fn clusters_of_a_stated_size() {
    let arguments = ["nvptx_registers.ll", "@registers", "--scope", "cluster", "%block"];
    check_first(
        &arguments,
        expect![[r#"
        nvptx_registers.ll:14:3: note: %block is divergent: it can differ between threads of a cluster; it is the source itself
        nvptx_registers.ll:14:3: because: 1. %block is the result of a call: the workgroup's index x
           |
        14 |   %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() ; => uniform (LLVM 22: divergent)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
    let with = |size| arguments.into_iter().chain(["--cluster", size]).collect::<Vec<_>>();
    check_first(
        &with("2x1"),
        expect![[r#"
        nvptx_registers.ll:14:3: note: %block is divergent: it can differ between threads of a cluster; it is the source itself
        nvptx_registers.ll:14:3: because: 1. %block is the result of a call: the workgroup's index x
           |
        14 |   %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() ; => uniform (LLVM 22: divergent)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
    check_first(
        &with("1x2"),
        expect![[r#"
        nvptx_registers.ll:14:3: note: %block is uniform: equal for all threads of a cluster that execute it together
    "#]],
    );
    check_first(
        &with("0"),
        expect![[r#"
            error: --cluster: `0` has an extent of 0, and a launch has at least 1 in each dimension
        "#]],
    );
}

#[test]
fn what_is_assumed_of_barriers() {
    let arguments = ["assumed_barrier.nvptx.ll", "@decides", "%after", "--scope", "workgroup"];
    check_first(
        &arguments,
        expect![[r#"
            assumed_barrier.nvptx.ll:22:3: note: %after is divergent: it can differ between threads of a workgroup; 4 steps to %flag
            assumed_barrier.nvptx.ll:22:3: because: 1. %after merges different values for threads that separate at the end of %entry
               |
            22 |   %after = phi i32 [ 0, %entry ], [ 1, %meet ] ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ join
              = one way:   %entry -> %join
              = the other: %entry -> %meet -> %join
        "#]],
    );
    let assumed: Vec<&str> = arguments.into_iter().chain(["--assume-barriers"]).collect();
    check(
        &assumed,
        expect![[r#"
        assumed_barrier.nvptx.ll:22:3: note: %after is uniform: equal for all threads of a workgroup that execute it together
    "#]],
    );
}

#[test]
fn names_that_do_not_exist() {
    check(
        &["why.ll", "@causes", "%pick"],
        expect![[r#"
        error: no value is called %pick; did you mean %picked?
    "#]],
    );
    check(
        &["why.ll", "@cause", "%picked"],
        expect![[r#"
        error: no function is called @cause; did you mean @causes?
    "#]],
    );
    check(
        &["why.ll", "@causes", "--block", "unde"],
        expect![[r#"
        error: no block is called %unde; did you mean %under?
    "#]],
    );
    check(
        &["why.ll", "@causes", "--use", "%at"],
        expect![[r#"
        error: --use takes the name of an instruction and a number: %v:0
    "#]],
    );
}

#[test]
fn json() {
    check(
        &["--json", "why.ll", "@causes", "--branch", "entry"],
        expect![[r#"
        [
          {
            "subject": "%entry",
            "kind": "branch",
            "place": {
              "line": 12,
              "column": 3
            },
            "scope": "wave",
            "divergent": true,
            "sources": [
              "x"
            ],
            "steps": [
              {
                "kind": "operand",
                "what": "the branch of %entry",
                "text": "br i1 %odd, label %left, label %right",
                "source": "x",
                "place": {
                  "line": 12,
                  "column": 3
                },
                "sentence": "the branch of %entry is decided by %odd"
              },
              {
                "kind": "operand",
                "what": "%odd",
                "text": "%odd = trunc i32 %id to i1",
                "source": "x",
                "place": {
                  "line": 11,
                  "column": 3
                },
                "sentence": "%odd is computed from %id"
              },
              {
                "kind": "source",
                "what": "%id",
                "text": "%id = call i32 @llvm.amdgcn.workitem.id.x()",
                "source": "x",
                "place": {
                  "line": 10,
                  "column": 3
                },
                "sentence": "%id is the result of a call: the thread's index x"
              }
            ]
          }
        ]
    "#]],
    );
}

/// A barrier gives nothing that could differ: what differs is which threads execute it.
#[test]
fn a_line_with_a_barrier() {
    check_first(
        &["divergent_barrier.ll", "hangs", "--line", "17"],
        expect![[r#"
            divergent_barrier.ll:17:3: note: the execution of %meet is divergent: it can differ between threads of a wave; 4 steps to %id
            divergent_barrier.ll:15:1: because: 1. whether %meet is executed is decided at the end of %entry
               |
            15 | meet:
               | ^^^^^ control
        "#]],
    );
    check(
        &["divergent_barrier.ll", "safe", "--line", "30"],
        expect![[r#"
        nothing on line 30 differs between threads of a wave
    "#]],
    );
}
