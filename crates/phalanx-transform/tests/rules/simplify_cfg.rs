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

/// Without the empty header the two loops are one: the threads of the inner one would count rounds
/// of the outer.
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

/// Threads vote in the round in which they find something. Without the edge that is never taken
/// they would all vote together.
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

/// On the other path the attribute was not stated.
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

/// The same is true of its arguments; but attributes of the declaration hold on each path.
#[test]
fn what_is_said_of_the_arguments_of_a_speculated_call() {
    let text = |of_declared: &str| {
        format!(
            "declare i32 @f(i32 {of_declared}, i32) memory(none) nounwind willreturn speculatable
             define i32 @g(i1 %c, i32 %a) {{
             entry:
               br i1 %c, label %then, label %exit
             then:
               %y = call noundef i32 @f(i32 noundef range(i32 0, 9) %a, i32 %a)
               br label %exit
             exit:
               %p = phi i32 [ 20, %entry ], [ %y, %then ]
               ret i32 %p
             }}"
        )
    };
    check(
        "simplifycfg",
        &text(""),
        &expect![[r#"
        define i32 @g(i1 %c, i32 %a) {
        entry:
          %y = call i32 @f(i32 range(i32 0, 9) %a, i32 %a)
          %p.sel = select i1 %c, i32 %y, i32 20
          ret i32 %p.sel
        }
    "#]],
    );
    check_unchanged("simplifycfg", &text("noundef"));
}

/// Threads that left the loop in different rounds have different addresses behind it.
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

/// A kernel where threads come to `@unknown` by way of `%second` only, or by both branches.
fn two_branches(first: &str, second: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(i32 %n) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %a = icmp ult i32 %x, 5
           br i1 %a, {first}
         second:
           %b = icmp eq i32 %x, %n
           br i1 %b, {second}
         common:
           %p = phi i32 [ 1, %entry ], [ 1, %second ], [ 2, %other ]
           ret void
         other:
           call void @unknown()
           br label %common
         }}"
    )
}

#[test]
fn two_branches_with_a_common_target_become_one() {
    let joined = |first: &str, second: &str| {
        let (mut db, file) = load(&two_branches(first, second));
        run(&mut db, file, "simplifycfg");
        let text = print(&db, file);
        let of = |word: &str| text.lines().find(|line| line.contains(word)).map(str::trim);
        format!("{}; {}", of("select").unwrap_or("-"), of("br i1").unwrap_or("-"))
    };
    let (common, other) = ("label %common", "label %other");
    let second = "label %second";
    assert_eq!(
        joined(&format!("{common}, {second}"), &format!("{common}, {other}")),
        "%0 = select i1 %a, i1 true, i1 %b; br i1 %0, label %common, label %other"
    );
    assert_eq!(
        joined(&format!("{common}, {second}"), &format!("{other}, {common}")),
        "%0 = select i1 %a, i1 false, i1 %b; br i1 %0, label %other, label %common"
    );
    assert_eq!(
        joined(&format!("{second}, {common}"), &format!("{common}, {other}")),
        "%0 = select i1 %a, i1 %b, i1 true; br i1 %0, label %common, label %other"
    );
    assert_eq!(
        joined(&format!("{second}, {common}"), &format!("{other}, {common}")),
        "%0 = select i1 %a, i1 %b, i1 false; br i1 %0, label %other, label %common"
    );
}

#[test]
fn a_chain_of_branches_becomes_one() {
    check(
        "simplifycfg",
        "define amdgpu_kernel void @f(i32 %n) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %first = icmp eq i32 %x, 0
           br i1 %first, label %in, label %zero
         zero:
           call void @unknown()
           %a = icmp ult i32 %x, 5
           br i1 %a, label %one, label %out
         one:
           %b = icmp ult i32 %n, %x
           br i1 %b, label %two, label %out
         two:
           %c = icmp ne i32 %n, 7
           %d = xor i1 %c, %b
           br i1 %d, label %in, label %out
         in:
           %p = phi i1 [ true, %entry ], [ %c, %two ]
           call void @unknown()
           br label %out
         out:
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(i32 %n) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %first = icmp eq i32 %x, 0
              br i1 %first, label %in, label %zero

            zero:                                             ; preds = %entry
              call void @unknown()
              %a = icmp ult i32 %x, 5
              %b = icmp ult i32 %n, %x
              %0 = select i1 %a, i1 %b, i1 false
              %c = icmp ne i32 %n, 7
              %d = xor i1 %c, %b
              %1 = select i1 %0, i1 %d, i1 false
              br i1 %1, label %in, label %out

            in:                                               ; preds = %zero, %entry
              %p = phi i1 [ true, %entry ], [ %c, %zero ]
              call void @unknown()
              br label %out

            out:                                              ; preds = %in, %zero
              ret void
            }
        "#]],
    );
}

#[test]
fn branches_that_stay_two() {
    let check = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        check_unchanged("simplifycfg", &text.replacen(from, to, 1));
    };
    let text = two_branches("label %common, label %second", "label %common, label %other");
    // The common target asks which way a thread came.
    check(&text, "[ 1, %second ]", "[ 3, %second ]");
    // One uniform, one divergent.
    check(&text, "%a = icmp ult i32 %x, 5", "%a = icmp ult i32 %n, 5");
    // What the second would do for everybody.
    check(&text, "%b = icmp eq", "%d = udiv i32 %n, %x\n%b = icmp eq");
    check(&text, "%b = icmp eq", "call void @unknown()\n%b = icmp eq");
    let vote = "%b = call i1 @llvm.amdgcn.inverse.ballot.i64(i64 5)";
    check(&text, "%b = icmp eq i32 %x, %n", vote);
}

#[test]
fn a_loop_keeps_the_branches_that_leave_it() {
    check_unchanged(
        "simplifycfg",
        "define amdgpu_kernel void @f(i32 %n) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %next, %latch ]
           %a = icmp ult i32 %i, %x
           br i1 %a, label %second, label %out
         second:
           %y = mul i32 %x, %i
           %b = icmp eq i32 %y, 9
           br i1 %b, label %out, label %latch
         latch:
           call void @unknown()
           %next = add i32 %i, 1
           br label %loop
         out:
           ret void
         }",
    );
}

/// An indirect branch may jump to a block whose address is taken, so the block is neither removed
/// nor merged.
#[test]
fn blocks_whose_address_is_taken() {
    for body in [
        // A side of a selection.
        "br i1 %c, label %here, label %join
         here:
         br label %join
         join:
         %1 = phi i32 [ 1, %entry ], [ 2, %here ]
         ret i32 %1",
        // What follows a jump.
        "call void @unknown()
         br label %here
         here:
         ret i32 1",
        // The second of two branches with a common target.
        "br i1 %c, label %here, label %out
         here:
         br i1 %d, label %in, label %out
         in:
         call void @unknown()
         ret i32 1
         out:
         ret i32 2",
        // Nothing but a jump.
        "br i1 %c, label %here, label %other
         other:
         call void @unknown()
         br i1 %d, label %here, label %out
         here:
         br label %join
         out:
         call void @unknown()
         br label %join
         join:
         %1 = phi i32 [ 1, %here ], [ 2, %out ]
         ret i32 %1",
    ] {
        let text = format!(
            "define i32 @f(i1 %c, i1 %d) {{
             entry:
               {body}
             }}"
        );
        let taken = format!("@a = constant ptr blockaddress(@f, %here)\n{text}");
        let has_block = |text: &str| {
            let (mut db, module) = load(text);
            run(&mut db, module, "simplifycfg");
            print(&db, module).contains("\nhere:")
        };
        assert!(!has_block(&text), "{text}");
        assert!(has_block(&taken), "{text}");
    }
}
