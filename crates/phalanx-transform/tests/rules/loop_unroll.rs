//! `loop-unroll`

use expect_test::{Expect, expect};
use phalanx_transform::loop_unroll::{Decision, LoopUnroll};

use crate::{check, check_unchanged, load};

/// The decision of the pass about each loop of the only function.
fn decide(functions: &str, expected: &Expect) {
    let (db, module) = load(functions);
    let defined = module.functions(&db).iter().find(|entry| entry.is_definition);
    let function = defined.expect("there is a function").input;
    let mut text = String::new();
    for (header, decision) in LoopUnroll::default().decisions(&db, function) {
        let name = function.extras(&db).names.block(header).unwrap_or_default();
        let decision = match decision {
            Decision::Full { rounds } => format!("{rounds} rounds"),
            Decision::Partial { count } => format!("by {count}"),
            Decision::Stays(reason) => reason.to_string(),
        };
        text.push_str(&format!("{}: {decision}\n", String::from_utf8_lossy(name)));
    }
    expected.assert_eq(&text);
}

/// A loop that counts from 0, with something in it, and with what it has computed read behind it.
fn counted(bound: &str, inside: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %next, %loop ]
           %sum = phi i32 [ 7, %entry ], [ %new, %loop ]
           {inside}
           %new = add i32 %sum, %i
           %next = add nuw i32 %i, 1
           %c = icmp ult i32 %next, {bound}
           br i1 %c, label %loop, label %exit
         exit:
           store i32 %new, ptr addrspace(1) %p, align 4
           ret void
         }}"
    )
}

#[test]
fn all_rounds_of_a_loop() {
    check(
        "loop-unroll",
        &counted("3", ""),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              br label %loop

            loop:                                             ; preds = %entry
              %new = add i32 7, 0
              %next = add nuw i32 0, 1
              %c = icmp ult i32 %next, 3
              br label %loop2

            loop2:                                            ; preds = %loop
              %new2 = add i32 %new, %next
              %next2 = add nuw i32 %next, 1
              %c2 = icmp ult i32 %next2, 3
              br label %loop1

            loop1:                                            ; preds = %loop2
              %new1 = add i32 %new2, %next2
              %next1 = add nuw i32 %next2, 1
              %c1 = icmp ult i32 %next1, 3
              br label %exit

            exit:                                             ; preds = %loop1
              store i32 %new1, ptr addrspace(1) %p, align 4
              ret void
            }
        "#]],
    );
    check(
        "loop-unroll,instsimplify,simplifycfg,dce",
        &counted("3", ""),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
            entry:
              store i32 10, ptr addrspace(1) %p, align 4
              ret void
            }
        "#]],
    );
    decide(
        &counted("3", ""),
        &expect![[r#"
        loop: 3 rounds
    "#]],
    );
    decide(
        &counted("%n", ""),
        &expect![[r#"
        loop: how many rounds it makes is not known
    "#]],
    );
    decide(
        &counted("1000", ""),
        &expect![[r#"
        loop: how many rounds it makes is not known
    "#]],
    );
    check_unchanged("loop-unroll", &counted("%n", ""));
    check_unchanged("loop-unroll<full-size=8>", &counted("3", ""));
    check_unchanged("loop-unroll<full-size=0>", &counted("3", ""));
}

#[test]
fn copies_with_exits_need_no_number_of_rounds() {
    let vote = "%b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
                store i64 %b, ptr addrspace(1) %p, align 8";
    // The exit is divergent; each round keeps its group in either loop.
    check(
        "loop-unroll<count=2>",
        &counted("%x", vote),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          br label %loop

        loop:                                             ; preds = %loop1, %entry
          %i = phi i32 [ 0, %entry ], [ %next1, %loop1 ]
          %sum = phi i32 [ 7, %entry ], [ %new1, %loop1 ]
          %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b, ptr addrspace(1) %p, align 8
          %new = add i32 %sum, %i
          %next = add nuw i32 %i, 1
          %c = icmp ult i32 %next, %x
          br i1 %c, label %loop1, label %exit

        loop1:                                            ; preds = %loop
          %b1 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b1, ptr addrspace(1) %p, align 8
          %new1 = add i32 %new, %next
          %next1 = add nuw i32 %next, 1
          %c1 = icmp ult i32 %next1, %x
          br i1 %c1, label %loop, label %exit, !llvm.loop !0

        exit:                                             ; preds = %loop1, %loop
          %new2 = phi i32 [ %new, %loop ], [ %new1, %loop1 ]
          store i32 %new2, ptr addrspace(1) %p, align 4
          ret void
        }
    "#]],
    );
    // A multiple: the first copy never leaves.
    check(
        "loop-unroll<full-size=0;count=2>",
        &counted("100", ""),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          br label %loop

        loop:                                             ; preds = %loop, %entry
          %i = phi i32 [ 0, %entry ], [ %next, %loop ]
          %sum = phi i32 [ 7, %entry ], [ %new, %loop ]
          %new = add i32 %sum, %i
          %next = add nuw i32 %i, 1
          %c = icmp ult i32 %next, 100
          br i1 %c, label %loop, label %exit

        exit:                                             ; preds = %loop
          store i32 %new, ptr addrspace(1) %p, align 4
          ret void
        }
    "#]],
    );
    check_unchanged("loop-unroll<count=1>", &counted("%x", vote));
}

/// Two back edges, and an exit in the middle with an unknown condition.
#[test]
fn several_latches_and_exits() {
    let text = "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
         entry:
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %next, %odd ], [ %next, %even ]
           %a = phi i32 [ 5, %entry ], [ %b, %odd ], [ %a, %even ]
           %next = add i32 %i, 1
           %done = icmp eq i32 %i, 2
           br i1 %done, label %exit, label %body
         body:
           %b = call i32 @pure(i32 %a)
           %found = icmp eq i32 %b, %n
           br i1 %found, label %exit, label %choose
         choose:
           %c = trunc i32 %b to i1
           br i1 %c, label %odd, label %even
         odd:
           br label %loop
         even:
           br label %loop
         exit:
           %r = phi i32 [ %a, %loop ], [ %b, %body ]
           %s = add i32 %r, %next
           store i32 %s, ptr addrspace(1) %p, align 4
           ret void
         }";
    check(
        "loop-unroll,simplifycfg<no-select>",
        text,
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
            entry:
              %next = add i32 0, 1
              %done = icmp eq i32 0, 2
              %b = call i32 @pure(i32 5)
              %found = icmp eq i32 %b, %n
              br i1 %found, label %exit, label %choose

            choose:                                           ; preds = %entry
              %c = trunc i32 %b to i1
              br i1 %c, label %loop.latch, label %even

            loop.latch:                                       ; preds = %even, %choose
              %a2 = phi i32 [ 5, %even ], [ %b, %choose ]
              %next2 = add i32 %next, 1
              %done2 = icmp eq i32 %next, 2
              %b2 = call i32 @pure(i32 %a2)
              %found2 = icmp eq i32 %b2, %n
              br i1 %found2, label %exit, label %choose2

            even:                                             ; preds = %choose
              br label %loop.latch

            choose2:                                          ; preds = %loop.latch
              %c2 = trunc i32 %b2 to i1
              br i1 %c2, label %odd2, label %loop.latch2

            odd2:                                             ; preds = %choose2
              br label %loop.latch2

            loop.latch2:                                      ; preds = %odd2, %choose2
              %a1 = phi i32 [ %b2, %odd2 ], [ %a2, %choose2 ]
              %next1 = add i32 %next2, 1
              %done1 = icmp eq i32 %next2, 2
              br label %exit

            exit:                                             ; preds = %loop.latch2, %loop.latch, %entry
              %r = phi i32 [ %b, %entry ], [ %a1, %loop.latch2 ], [ %b2, %loop.latch ]
              %next3 = phi i32 [ %next, %entry ], [ %next1, %loop.latch2 ], [ %next2, %loop.latch ]
              %s = add i32 %r, %next3
              store i32 %s, ptr addrspace(1) %p, align 4
              ret void
            }
        "#]],
    );
}

#[test]
fn loops_in_loops() {
    let text = "define amdgpu_kernel void @f(ptr addrspace(1) %p) {
         entry:
           br label %outer
         outer:
           %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
           br label %inner
         inner:
           %j = phi i32 [ 0, %outer ], [ %j.next, %inner ]
           %at = add i32 %i, %j
           store i32 %at, ptr addrspace(1) %p, align 4
           %j.next = add i32 %j, 1
           %c = icmp slt i32 %j.next, 2
           br i1 %c, label %inner, label %latch
         latch:
           %i.next = add i32 %i, 4
           %d = icmp slt i32 %i.next, 8
           br i1 %d, label %outer, label %exit
         exit:
           ret void
         }";
    check(
        "loop-unroll,instsimplify,simplifycfg",
        text,
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p) {
            entry:
              store i32 0, ptr addrspace(1) %p, align 4
              store i32 1, ptr addrspace(1) %p, align 4
              store i32 4, ptr addrspace(1) %p, align 4
              store i32 5, ptr addrspace(1) %p, align 4
              ret void
            }
        "#]],
    );
}

/// The count ends the inner loop. In its last round an edge that is never taken leads on into the
/// outer loop. Only by that edge is the vote in the outer cycle. (On machines with a stack of masks
/// the threads that continue would be apart.)
#[test]
fn an_edge_that_keeps_a_vote_in_its_cycle() {
    let text = "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %outer
         outer:
           br label %inner
         inner:
           %j = phi i32 [ 0, %outer ], [ %j.next, %latch ]
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %b, ptr addrspace(1) %p, align 8
           %c = icmp eq i32 %j, 1
           br i1 %c, label %exit, label %middle
         middle:
           %d = icmp ult i32 %x, %n
           br i1 %d, label %outer, label %latch
         latch:
           %j.next = add i32 %j, 1
           br label %inner
         exit:
           ret void
         }";
    check(
        "loop-unroll<machines=maximal>,simplifycfg<machines=maximal>",
        text,
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          br label %outer

        outer:                                            ; preds = %middle1, %middle, %entry
          %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b, ptr addrspace(1) %p, align 8
          %c = icmp eq i32 0, 1
          br i1 %c, label %exit, label %middle

        middle:                                           ; preds = %outer
          %d = icmp ult i32 %x, %n
          br i1 %d, label %outer, label %latch

        latch:                                            ; preds = %middle
          %j.next = add i32 0, 1
          %b1 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b1, ptr addrspace(1) %p, align 8
          %c1 = icmp eq i32 %j.next, 1
          br i1 %c1, label %exit, label %middle1

        middle1:                                          ; preds = %latch
          %d1 = icmp ult i32 %x, %n
          br i1 %d1, label %outer, label %latch1

        latch1:                                           ; preds = %middle1
          %j.next1 = add i32 %j.next, 1
          unreachable

        exit:                                             ; preds = %latch, %outer
          ret void
        }
    "#]],
    );
}

fn with_loop_metadata(bound: &str, properties: &str) -> String {
    counted(bound, "")
        .replace("label %loop, label %exit\n", "label %loop, label %exit, !llvm.loop !0\n")
        + "\n!0 = distinct !{!0, !1, !2}\n!1 = !{!\"llvm.loop.mustprogress\"}\n"
        + properties
}

#[test]
fn what_metadata_says() {
    let full = "!2 = !{!\"llvm.loop.unroll.full\"}";
    decide(
        &with_loop_metadata("200", full),
        &expect![[r#"
        loop: 200 rounds
    "#]],
    );
    decide(
        &with_loop_metadata("200", "!2 = !{!\"llvm.loop.unroll.count\", i32 3}"),
        &expect![[r#"
        loop: by 3
    "#]],
    );
    decide(
        &with_loop_metadata("%n", "!2 = !{!\"llvm.loop.unroll.count\", i32 3}"),
        &expect![[r#"
        loop: by 3
    "#]],
    );
    decide(
        &with_loop_metadata("%n", "!2 = !{!\"llvm.loop.unroll.enable\"}"),
        &expect![[r#"
        loop: by 4
    "#]],
    );
    decide(
        &with_loop_metadata("3", "!2 = !{!\"llvm.loop.unroll.disable\"}"),
        &expect![[r#"
        loop: its metadata says that it stays
    "#]],
    );
    decide(
        &with_loop_metadata("3", "!2 = !{!\"llvm.loop.unroll.count\", i32 1}"),
        &expect![[r#"
        loop: its metadata says that it stays
    "#]],
    );
    decide(
        &with_loop_metadata("3", "!2 = !{!\"llvm.loop.vectorize.width\", i32 1}"),
        &expect![[r#"
        loop: 3 rounds
    "#]],
    );
}

/// A loop that was unrolled by a factor is marked, and not unrolled again.
#[test]
fn once_is_enough() {
    let (mut db, module) =
        load(&with_loop_metadata("%n", "!2 = !{!\"llvm.loop.unroll.count\", i32 2}"));
    crate::run(&mut db, module, "loop-unroll");
    let once = crate::print(&db, module);
    crate::run(&mut db, module, "loop-unroll,loop-unroll<count=4>");
    assert_eq!(crate::print(&db, module), once);
    let mut whole = Vec::new();
    let views = module.functions(&db).iter().map(|entry| entry.input.view(&db)).collect();
    phalanx_llvm::ModulePrinter::with_functions(module.shell(&db), views).module(&mut whole);
    let whole = String::from_utf8_lossy(&whole);
    let metadata: Vec<&str> = whole.lines().filter(|line| line.starts_with('!')).collect();
    expect![[r#"
        !0 = distinct !{!0, !1, !2}
        !1 = !{!"llvm.loop.mustprogress"}
        !2 = !{!"llvm.loop.unroll.disable"}"#]]
    .assert_eq(&metadata.join("\n"));
}

#[test]
fn what_may_not_be_there_twice() {
    let refused = |declaration: &str, inside: &str| {
        check_unchanged("loop-unroll", &format!("{declaration}\n{}", counted("3", inside)));
        format!("{declaration}\n{}", counted("3", inside))
    };
    let text = refused("declare void @once() noduplicate", "call void @once()");
    decide(
        &text,
        &expect![[r#"
        loop: an instruction in it may not be there twice
    "#]],
    );
    let text = refused("declare void @often()", "call void @often() noduplicate");
    decide(
        &text,
        &expect![[r#"
        loop: an instruction in it may not be there twice
    "#]],
    );
    refused(
        "declare void @llvm.experimental.noalias.scope.decl(metadata)
         !0 = !{!1}
         !1 = distinct !{!1, !2}
         !2 = distinct !{!2}",
        "call void @llvm.experimental.noalias.scope.decl(metadata !0)",
    );
}

/// A heart counts the rounds; an anchor is another one in each round anyway.
#[test]
fn tokens() {
    let declarations = "declare token @llvm.experimental.convergence.entry()
        declare token @llvm.experimental.convergence.anchor()
        declare token @llvm.experimental.convergence.loop()\n";
    let text = counted(
        "3",
        "%t = call token @llvm.experimental.convergence.loop() [ \"convergencectrl\"(token %e) ]
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ \"convergencectrl\"(token %t) ]",
    )
    .replace("%x = ", "%e = call token @llvm.experimental.convergence.anchor()\n           %x = ");
    let text = format!("{declarations}{text}");
    check_unchanged("loop-unroll", &text);
    decide(
        &text,
        &expect![[r#"
        loop: a convergence token comes into it, or is used outside of it
    "#]],
    );
    let text = counted(
        "2",
        "%t = call token @llvm.experimental.convergence.anchor()
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ \"convergencectrl\"(token %t) ]",
    );
    decide(
        &format!("{declarations}{text}"),
        &expect![[r#"
        loop: 2 rounds
    "#]],
    );
}
