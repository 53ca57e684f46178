//! `simplifycfg`

use expect_test::expect;

use crate::{check, check_unchanged, load, print, run};

#[test]
fn constant_branches_unreachable_blocks_straight_lines() {
    check(
        "simplifycfg",
        "define i32 @f(i32 %a) {
         entry:
           br i1 true, label %one, label %two
         one:
           switch i32 7, label %two [ i32 7, label %three
                                      i32 8, label %two ]
         two:
           br label %three
         three:
           %p = phi i32 [ 1, %one ], [ 2, %two ]
           %s = add i32 %p, %a
           ret i32 %s
         }",
        &expect![[r#"
            define i32 @f(i32 %a) {
            entry:
              %s = add i32 1, %a
              ret i32 %s
            }
        "#]],
    );
}

#[test]
fn a_branch_on_poison_stays() {
    check_unchanged(
        "simplifycfg",
        "define i32 @f() {
         entry:
           br i1 poison, label %one, label %two
         one:
           call void @unknown()
           ret i32 1
         two:
           ret i32 2
         }",
    );
}

#[test]
fn a_small_divergent_branch_becomes_a_selection() {
    check(
        "simplifycfg",
        "define amdgpu_kernel void @f(ptr addrspace(1) %out) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %c = icmp ult i32 %x, 5
           br i1 %c, label %then, label %exit
         then:
           %y = add i32 %x, 7
           br label %exit
         exit:
           %p = phi i32 [ %y, %then ], [ 0, %entry ]
           store i32 %p, ptr addrspace(1) %out, align 4
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %out) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %c = icmp ult i32 %x, 5
              %y = add i32 %x, 7
              %p.sel = select i1 %c, i32 %y, i32 0
              store i32 %p.sel, ptr addrspace(1) %out, align 4
              ret void
            }
        "#]],
    );
}

const UNIFORM: &str = "define amdgpu_kernel void @f(ptr addrspace(1) %out, i32 %n) {
entry:
  %c = icmp ult i32 %n, 5
  br i1 %c, label %then, label %exit
then:
  %y = add i32 %n, 7
  br label %exit
exit:
  %p = phi i32 [ %y, %then ], [ 0, %entry ]
  store i32 %p, ptr addrspace(1) %out, align 4
  ret void
}";

#[test]
fn a_uniform_branch_skips_work_and_stays() {
    check_unchanged("simplifycfg", UNIFORM);
    check(
        "simplifycfg<select-uniform>",
        UNIFORM,
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %out, i32 %n) {
        entry:
          %c = icmp ult i32 %n, 5
          %y = add i32 %n, 7
          %p.sel = select i1 %c, i32 %y, i32 0
          store i32 %p.sel, ptr addrspace(1) %out, align 4
          ret void
        }
    "#]],
    );
}

#[test]
fn what_must_not_be_speculated() {
    for side in [
        "%y = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)",
        "%b = call i64 @llvm.amdgcn.ballot.i64(i1 %c)\n%y = trunc i64 %b to i32",
        "%y = udiv i32 7, %x",
        "%y = load i32, ptr addrspace(1) %out, align 4",
        "%y = call i32 @pure(i32 %x)",
    ] {
        check_unchanged(
            "simplifycfg",
            &format!(
                "define amdgpu_kernel void @f(ptr addrspace(1) %out) {{
                 entry:
                   %x = call i32 @llvm.amdgcn.workitem.id.x()
                   %c = icmp ult i32 %x, 5
                   br i1 %c, label %then, label %exit
                 then:
                   {side}
                   br label %exit
                 exit:
                   %p = phi i32 [ %y, %then ], [ 0, %entry ]
                   store i32 %p, ptr addrspace(1) %out, align 4
                   ret void
                 }}"
            ),
        );
    }
}

#[test]
fn jumps_go_past_empty_blocks() {
    check(
        "simplifycfg<no-select>",
        "define i32 @f(i32 %a, i1 %c, i1 %d) {
         entry:
           br i1 %c, label %empty, label %side
         side:
           call void @unknown()
           br i1 %d, label %empty, label %other
         empty:
           %q = phi i32 [ 1, %entry ], [ 2, %side ]
           br label %exit
         other:
           call void @unknown()
           br label %exit
         exit:
           %p = phi i32 [ %q, %empty ], [ 3, %other ]
           ret i32 %p
         }",
        &expect![[r#"
            define i32 @f(i32 %a, i1 %c, i1 %d) {
            entry:
              br i1 %c, label %exit, label %side

            side:                                             ; preds = %entry
              call void @unknown()
              br i1 %d, label %exit, label %other

            other:                                            ; preds = %side
              call void @unknown()
              br label %exit

            exit:                                             ; preds = %other, %side, %entry
              %p = phi i32 [ 3, %other ], [ 1, %entry ], [ 2, %side ]
              ret i32 %p
            }
        "#]],
    );
}

/// Without the empty header the two loops are one: the threads of the inner one would count rounds of the outer.
#[test]
fn an_empty_header_of_a_loop_stays() {
    check_unchanged(
        "simplifycfg<no-select>",
        "define amdgpu_kernel void @f(i32 %n) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %outer
         outer:
           %i = phi i32 [ 0, %entry ], [ %k, %latch ]
           br label %inner
         inner:
           %j = phi i32 [ %i, %outer ], [ %k, %inner ]
           %k = add i32 %j, 1
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           %c = icmp ult i32 %k, %x
           br i1 %c, label %inner, label %latch
         latch:
           call void @unknown()
           %d = icmp ult i32 %k, %n
           br i1 %d, label %outer, label %exit
         exit:
           ret void
         }",
    );
}

const FALLS_OUT: &str = "define amdgpu_kernel void @f() {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ], [ %i, %found ]
  %c = icmp eq i32 %i, %x
  br i1 %c, label %found, label %next
next:
  %j = add i32 %i, 1
  br label %loop
found:
  VOTE
  br i1 false, label %loop, label %exit
exit:
  ret void
}";

/// Threads vote in the round in which they find something. Without the edge that is never taken they would all vote together.
#[test]
fn a_vote_does_not_fall_out_of_its_loop() {
    let vote = "%b = call i64 @llvm.amdgcn.ballot.i64(i1 true)";
    check_unchanged("simplifycfg", &FALLS_OUT.replace("VOTE", vote));
    check(
        "simplifycfg",
        &FALLS_OUT.replace("VOTE", ""),
        &expect![[r#"
        define amdgpu_kernel void @f() {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          br label %loop

        loop:                                             ; preds = %next, %entry
          %i = phi i32 [ 0, %entry ], [ %j, %next ]
          %c = icmp eq i32 %i, %x
          br i1 %c, label %found, label %next

        next:                                             ; preds = %loop
          %j = add i32 %i, 1
          br label %loop

        found:                                            ; preds = %loop
          ret void
        }
    "#]],
    );
}

/// A loop that never goes round may go with a vote in it.
#[test]
fn a_loop_that_vanishes_whole() {
    check(
        "simplifycfg",
        "define amdgpu_kernel void @f(i1 %c) {
         entry:
           br label %loop
         loop:
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
           br i1 false, label %loop, label %exit
         exit:
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(i1 %c) {
            entry:
              %b = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
              ret void
            }
        "#]],
    );
}

#[test]
fn a_switch_loses_cases_that_lead_to_the_default() {
    check(
        "simplifycfg",
        "define i32 @f(i32 %a) {
         entry:
           switch i32 %a, label %default [ i32 1, label %default
                                           i32 2, label %two
                                           i32 3, label %three ]
         default:
           %p = phi i32 [ 0, %entry ], [ 0, %entry ]
           call void @unknown()
           ret i32 %p
         two:
           call void @unknown()
           ret i32 2
         three:
           call void @unknown()
           ret i32 3
         }",
        &expect![[r#"
            define i32 @f(i32 %a) {
            entry:
              switch i32 %a, label %default [
                i32 2, label %two
                i32 3, label %three
              ]

            default:                                          ; preds = %entry
              call void @unknown()
              ret i32 0

            two:                                              ; preds = %entry
              call void @unknown()
              ret i32 2

            three:                                            ; preds = %entry
              call void @unknown()
              ret i32 3
            }
        "#]],
    );
}

/// On the other way nobody said so.
#[test]
fn what_is_said_of_the_result_of_a_speculated_call() {
    check(
        "simplifycfg",
        "declare i32 @timeless() memory(none) nounwind willreturn speculatable
         define i32 @f(i1 %c) {
         entry:
           br i1 %c, label %then, label %exit
         then:
           %y = call noundef range(i32 0, 9) i32 @timeless()
           br label %exit
         exit:
           %p = phi i32 [ 20, %entry ], [ %y, %then ]
           ret i32 %p
         }",
        &expect![[r#"
            define i32 @f(i1 %c) {
            entry:
              %y = call range(i32 0, 9) i32 @timeless()
              %p.sel = select i1 %c, i32 %y, i32 20
              ret i32 %p.sel
            }
        "#]],
    );
}

/// Who leaves a loop in another round has another address behind it.
#[test]
fn an_address_that_is_read_in_more_places_has_no_mark() {
    let text = "define amdgpu_kernel void @f(ptr addrspace(4) %p, i32 %n) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %loop ]
           %at = getelementptr i32, ptr addrspace(4) %p, i32 %i, !amdgpu.uniform !0
           %u = load i32, ptr addrspace(4) %at, align 4
           %j = add i32 %i, %u
           %e = icmp ult i32 %j, %x
           br i1 %e, label %loop, label %exit
         exit:
           %last = phi ptr addrspace(4) [ %at, %loop ]
           %w = load i32, ptr addrspace(4) %last, align 4
           %up = getelementptr i32, ptr addrspace(4) %last, i32 %w
           %v = load i32, ptr addrspace(4) %up, align 4
           ret void
         }
         !0 = !{}";
    let (mut db, module) = load(text);
    run(&mut db, module, "simplifycfg");
    let text = print(&db, module);
    assert!(!text.contains("%last") && !text.contains("amdgpu.uniform"), "{text}");
}

#[test]
fn an_address_that_is_computed_by_more_threads_has_no_mark() {
    let text = "define amdgpu_kernel void @f(ptr addrspace(1) %p) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %c = icmp eq i32 %x, 7
           br i1 %c, label %then, label %exit
         then:
           %at = getelementptr i32, ptr addrspace(1) %p, i32 %x, !amdgpu.uniform !0
           br label %exit
         exit:
           %to = phi ptr addrspace(1) [ %p, %entry ], [ %at, %then ]
           store i32 0, ptr addrspace(1) %to, align 4
           ret void
         }
         !0 = !{}";
    let (mut db, module) = load(text);
    run(&mut db, module, "simplifycfg");
    let text = print(&db, module);
    assert!(!text.contains("then:") && !text.contains("amdgpu.uniform"), "{text}");
}
