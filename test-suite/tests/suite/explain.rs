//! What `phalanx explain` says, one kind of cause each. `UPDATE_EXPECT=1` accepts changes.

use expect_test::{Expect, expect};

/// What it writes about a function of `ll/`: to standard output if that succeeds, else to standard error.
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
        why.ll:25:3: note: %picked is divergent: it can differ between threads of a wave; 3 links to %id
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
        why.ll:27:3: note: %loaded is divergent: it can differ between threads of a wave; 5 links to %id
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
        alloca_traffic.ll:21:3: note: %id.again is divergent: it can differ between threads of a wave; 1 link to %id
        alloca_traffic.ll:21:3: because: 1. %id.again is read from private memory, where %id was stored or is an index
           |
        21 |   %id.again = load i32, ptr addrspace(5) %id.slot, align 4 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
    "#]],
    );
    check_first(
        &["alloca_traffic.ll", "@alloca_traffic", "%v"],
        expect![[r#"
        alloca_traffic.ll:30:3: note: %v is divergent: it can differ between threads of a wave; 5 links to %id
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
        why.ll:26:3: note: operand 1 of %at is divergent: it can differ between threads of a wave; 4 links to %id
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
        why.ll:12:3: note: the branch at the end of %entry is divergent: it can differ between threads of a wave; 2 links to %id
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
        why.ll:21:1: note: the execution of %under is divergent: it can differ between threads of a wave; 4 links to %id
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
        temporal_divergence.ll:21:3: note: %after is divergent: it can differ between threads of a wave; 3 links to %id
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
        temporal_divergence.ll:21:3: note: operand 0 of %after is divergent: it can differ between threads of a wave; 3 links to %id
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
        irreducible_entry.ll:18:3: note: %a.next is divergent: it can differ between threads of a wave; 3 links to %id
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
        why.ll:11:3: note: %odd is divergent: it can differ between threads of a wave; 1 link to %id
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
            protocol_debug.nvptx.ll:54:3: note: %6 is divergent: it can differ between threads of a wave; 6 links to %2
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
              = compiled from cuda/phalanx_cuda.h:42:60
            protocol_debug.nvptx.ll:12:3: because: 7. %2 is the result of a call: the thread's index x
               |
            12 |   %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !24
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
              = compiled from cuda/phalanx_cuda.h:25:1
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
fn a_call_whose_result_depends_on_an_argument() {
    check(
        &["calls.ll", "@caller", "%picked"],
        expect![[r#"
        calls.ll:12:3: note: %picked is divergent: it can differ between threads of a wave; 4 links to %id
        calls.ll:12:3: because: 1. %picked is the result of a call with %odd as argument 1; @pick uses it for what it returns
           |
        12 |   %picked = call i32 @pick(i32 %n, i1 %odd, i32 7) ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ argument
        calls.ll:25:3: because: 2. in @pick: threads that separate at the end of %entry return different values; the branch of %entry is decided by %which
           |
        25 |   br i1 %which, label %left, label %right ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        calls.ll:23:38: because: 3. in @pick: the argument %which is what the call in @caller passes: %odd
           |
        23 | define internal i32 @pick(i32 %a, i1 %which, i32 %b) {
           |                                      ^^^^^^^^^^^^^^^^^ passed
        calls.ll:11:3: because: 4. %odd is computed from %id
           |
        11 |   %odd = trunc i32 %id to i1 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        calls.ll:10:3: because: 5. %id is the result of a call: the thread's index x
           |
        10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
}

#[test]
fn a_call_of_what_brings_the_source_in() {
    check(
        &["calls.ll", "@caller", "%odd.lane"],
        expect![[r#"
        calls.ll:13:3: note: %odd.lane is divergent: it can differ between threads of a wave; 5 links to %low
        calls.ll:13:3: because: 1. %odd.lane is the result of a call of @mixed, which brings this in by itself
           |
        13 |   %odd.lane = call i32 @mixed(i32 %n) ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ call
        calls.ll:37:3: because: 2. in @mixed: %sum is returned at the end of %0
           |
        37 |   ret i32 %sum
           |   ^^^^^^^^^^^^ return
        calls.ll:36:3: because: 3. in @mixed: %sum is computed from %lane
           |
        36 |   %sum = add i32 %lane, %a ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^ operand
        calls.ll:35:3: because: 4. in @mixed: %lane is the result of a call of @lane, which brings this in by itself
           |
        35 |   %lane = call i32 @lane(i32 %a) ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ call
        calls.ll:42:3: because: 5. in @lane: %low is returned at the end of %0
           |
        42 |   ret i32 %low
           |   ^^^^^^^^^^^^ return
        calls.ll:41:3: because: 6. in @lane: %low is the result of a call: the number of the lane
           |
        41 |   %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0) ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
}

#[test]
fn a_call_of_what_calls_itself() {
    check(
        &["calls.ll", "@caller", "%counted"],
        expect![[r#"
        calls.ll:14:3: note: %counted is divergent: it can differ between threads of a wave; 4 links to %id
        calls.ll:14:3: because: 1. %counted is the result of a call with %id as argument 1; @count uses it for what it returns
           |
        14 |   %counted = call i32 @count(i32 %n, i32 %id) ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ argument
        calls.ll:52:3: because: 2. in @count: %twice is returned at the end of %bottom
           |
        52 |   ret i32 %twice
           |   ^^^^^^^^^^^^^^ return
        calls.ll:51:3: because: 3. in @count: %twice is computed from %what
           |
        51 |   %twice = mul i32 %what, 2 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        calls.ll:45:40: because: 4. in @count: the argument %what is what the call in @caller passes: %id
           |
        45 | define internal i32 @count(i32 %n, i32 %what) {
           |                                        ^^^^^^^^ passed
        calls.ll:10:3: because: 5. %id is the result of a call: the thread's index x
           |
        10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
}

#[test]
fn a_parameter_goes_back_to_the_calls() {
    check(
        &["calls.ll", "@scale", "%scaled"],
        expect![[r#"
        calls.ll:67:3: note: %scaled is divergent: it can differ between threads of a wave; 5 links to %id
        calls.ll:67:3: because: 1. %scaled is computed from %x
           |
        67 |   %scaled = mul i32 %x, 3 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^ operand
        calls.ll:19:3: because: 2. in @caller: the call passes %second for the argument %x of @scale
           |
        19 |   %other = call i32 @scale(i32 %second) ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
        calls.ll:17:3: because: 3. in @caller: %second is a part of the result of a call with %id as an argument; @pair uses it for what it returns
           |
        17 |   %second = extractvalue { i32, i32 } %pair, 1 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ argument
        calls.ll:62:3: because: 4. in @pair: %b is put into what is returned
           |
        62 |   %both = insertvalue { i32, i32 } %one, i32 %b, 1 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ return
        calls.ll:60:48: because: 5. in @pair: the argument %b is what the call in @caller passes: %id
           |
        60 | define internal { i32, i32 } @pair(i32 %a, i32 %b) {
           |                                                ^^^^^ passed
        calls.ll:10:3: because: 6. in @caller: %id is the result of a call: the thread's index x
           |
        10 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
}

#[test]
fn what_is_assumed_of_barriers() {
    let arguments = ["assumed_barrier.nvptx.ll", "@decides", "%after", "--scope", "workgroup"];
    check_first(
        &arguments,
        expect![[r#"
        assumed_barrier.nvptx.ll:22:3: note: %after is divergent: it can differ between threads of a workgroup; 3 links to %flag
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

#[test]
fn what_functions_leave_through_others_and_where_threads_part() {
    check(
        &["out_nested.ll", "kernel", "%nested"],
        expect![[r#"
        out_nested.ll:35:3: note: %nested is divergent: it can differ between threads of a wave; 9 links to %id
        out_nested.ll:35:3: because: 1. %nested is read from private memory: the content of %first
           |
        35 |   %nested = load i32, ptr addrspace(5) %first, align 4 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        out_nested.ll:33:3: because: 2. the content of %first is written by the call of @outer, where it depends on argument 0, which is %id
           |
        33 |   call void @outer(i32 %id, ptr addrspace(5) %first)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        out_nested.ll:14:3: because: 3. in @outer: what %there points to is as it was last written when @outer returns
           |
        14 |   ret void
           |   ^^^^^^^^ return
        out_nested.ll:13:3: because: 4. in @outer: what %there points to is written by the call of @set, where it depends on argument 0, which is %more
           |
        13 |   call void @set(i32 %more, ptr addrspace(5) %there)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        out_nested.ll:8:3: because: 5. in @set: what %to points to is %twice when @set returns
          |
        8 |   ret void
          |   ^^^^^^^^ return
        out_nested.ll:6:3: because: 6. in @set: %twice is computed from %a
          |
        6 |   %twice = shl i32 %a, 1 ; => divergent
          |   ^^^^^^^^^^^^^^^^^^^^^^ operand
        out_nested.ll:5:31: because: 7. in @set: the argument %a is what the call in @outer passes: %more
          |
        5 | define internal void @set(i32 %a, ptr addrspace(5) %to) {
          |                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
        out_nested.ll:12:3: because: 8. in @outer: %more is computed from %b
           |
        12 |   %more = add i32 %b, 3 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^ operand
        out_nested.ll:11:33: because: 9. in @outer: the argument %b is what the call in @kernel passes: %id
           |
        11 | define internal void @outer(i32 %b, ptr addrspace(5) %there) {
           |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
        out_nested.ll:32:3: because: 10. %id is the result of a call: the thread's index x
           |
        32 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
    check(
        &["out_nested.ll", "kernel", "%chosen"],
        expect![[r#"
        out_nested.ll:36:3: note: %chosen is divergent: it can differ between threads of a wave; 5 links to %id
        out_nested.ll:36:3: because: 1. %chosen is read from private memory: the content of %second
           |
        36 |   %chosen = load i32, ptr addrspace(5) %second, align 4 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        out_nested.ll:34:3: because: 2. the content of %second is written by the call of @choose, where it depends on argument 0, which is %id
           |
        34 |   call void @choose(i32 %id, ptr addrspace(5) %second)
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        out_nested.ll:20:3: because: 3. in @choose: threads that separate at the end of %entry leave different values in what %at points to; the branch of %entry is decided by %is_small
           |
        20 |   br i1 %is_small, label %small, label %large ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        out_nested.ll:19:3: because: 4. in @choose: %is_small is computed from %c
           |
        19 |   %is_small = icmp ult i32 %c, 7 ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operand
        out_nested.ll:17:34: because: 5. in @choose: the argument %c is what the call in @kernel passes: %id
           |
        17 | define internal void @choose(i32 %c, ptr addrspace(5) %at) {
           |                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
        out_nested.ll:32:3: because: 6. %id is the result of a call: the thread's index x
           |
        32 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
    "#]],
    );
}

#[test]
fn what_a_call_leaves_in_memory_of_its_caller() {
    check(
        &["out_parameter.ll", "kernel", "%more"],
        expect![[r#"
            out_parameter.ll:34:3: note: %more is divergent: it can differ between threads of a wave; 6 links to %id
            out_parameter.ll:34:3: because: 1. %more is read from private memory: the content of %pair
               |
            34 |   %more = load i32, ptr addrspace(5) %second, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:33:3: because: 2. the content of %pair is what the call of @bump makes of the content of %pair
               |
            33 |   %found = call i32 @bump(ptr addrspace(5) %second) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:30:3: because: 3. the content of %pair is written by the call of @next, where it depends on argument 0, which is %id
               |
            30 |   call void @next(i32 %id, ptr addrspace(5) %second)
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:8:3: because: 4. in @next: what %out points to is %sum when @next returns
              |
            8 |   ret void
              |   ^^^^^^^^ return
            out_parameter.ll:6:3: because: 5. in @next: %sum is computed from %a
              |
            6 |   %sum = add i32 %a, 1 ; => divergent
              |   ^^^^^^^^^^^^^^^^^^^^ operand
            out_parameter.ll:5:32: because: 6. in @next: the argument %a is what the call in @kernel passes: %id
              |
            5 | define internal void @next(i32 %a, ptr addrspace(5) %out) {
              |                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ passed
            out_parameter.ll:28:3: because: 7. %id is the result of a call: the thread's index x
               |
            28 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
    check_first(
        &["out_parameter.ll", "kernel", "%found"],
        expect![[r#"
            out_parameter.ll:33:3: note: %found is divergent: it can differ between threads of a wave; 5 links to %id
            out_parameter.ll:33:3: because: 1. %found is what @bump returns, which reads the content of %pair
               |
            33 |   %found = call i32 @bump(ptr addrspace(5) %second) ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
        "#]],
    );
    check(
        &["out_parameter.ll", "kernel", "%numbered"],
        expect![[r#"
            out_parameter.ll:36:3: note: %numbered is divergent: it can differ between threads of a wave; 3 links to %id
            out_parameter.ll:36:3: because: 1. %numbered is read from private memory: the content of %own
               |
            36 |   %numbered = load i32, ptr addrspace(5) %own, align 4 ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ memory
            out_parameter.ll:35:3: because: 2. the content of %own is what the call of @number leaves there: the thread's index x
               |
            35 |   call void @number(ptr addrspace(5) %own)
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ call
            out_parameter.ll:21:3: because: 3. in @number: what %out points to is %id when @number returns
               |
            21 |   ret void
               |   ^^^^^^^^ return
            out_parameter.ll:19:3: because: 4. in @number: %id is the result of a call: the thread's index x
               |
            19 |   %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ source
        "#]],
    );
}
