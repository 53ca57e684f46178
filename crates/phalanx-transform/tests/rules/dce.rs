//! `dce`

use expect_test::expect;

use crate::{check, check_unchanged};

#[test]
fn what_only_the_dead_read_is_dead() {
    check(
        "dce",
        "define i32 @f(i32 %a) {
           %1 = add i32 %a, 1
           %2 = mul i32 %1, %1
           %3 = sub i32 %a, 5
           ret i32 %3
         }",
        &expect![[r#"
            define i32 @f(i32 %a) {
              %1 = sub i32 %a, 5
              ret i32 %1
            }
        "#]],
    );
}

#[test]
fn a_counter_that_counts_for_nobody() {
    check(
        "dce",
        "define void @f(i1 %c) {
         entry:
           br label %loop
         loop:
           %n = phi i32 [ 0, %entry ], [ %next, %loop ]
           %next = add i32 %n, 1
           br i1 %c, label %loop, label %exit
         exit:
           ret void
         }",
        &expect![[r#"
            define void @f(i1 %c) {
            entry:
              br label %loop

            loop:                                             ; preds = %loop, %entry
              br i1 %c, label %loop, label %exit

            exit:                                             ; preds = %loop
              ret void
            }
        "#]],
    );
}

#[test]
fn calls_by_what_they_promise() {
    check(
        "dce",
        "define void @f(i32 %a, i1 %c) {
           %1 = call i32 @pure(i32 %a)
           %2 = call i32 @reads(i32 %a)
           %3 = call i32 @pure_but_may_hang(i32 %a)
           %4 = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
           call void @unknown()
           ret void
         }",
        &expect![[r#"
            define void @f(i32 %a, i1 %c) {
              %1 = call i32 @pure_but_may_hang(i32 %a)
              call void @unknown()
              ret void
            }
        "#]],
    );
}

#[test]
fn memory_that_others_may_look_at() {
    check(
        "dce",
        "define void @f(ptr %p) {
           %plain = load i32, ptr %p, align 4
           %volatile = load volatile i32, ptr %p, align 4
           %unordered = load atomic i32, ptr %p unordered, align 4
           %monotonic = load atomic i32, ptr %p monotonic, align 4
           %rmw = atomicrmw add ptr %p, i32 1 monotonic, align 4
           ret void
         }",
        &expect![[r#"
            define void @f(ptr %p) {
              %volatile = load volatile i32, ptr %p, align 4
              %monotonic = load atomic i32, ptr %p monotonic, align 4
              %rmw = atomicrmw add ptr %p, i32 1 monotonic, align 4
              ret void
            }
        "#]],
    );
}

#[test]
fn an_operand_bundle_takes_promises_back() {
    check_unchanged(
        "dce",
        "define void @f(i32 %a) {
           %1 = call i32 @pure(i32 %a) [ \"deopt\"(i32 %a) ]
           ret void
         }",
    );
}

#[test]
fn calls_of_which_one_promise_is_missing() {
    let call = |promises: &str| {
        format!(
            "declare i32 @g(i32) {promises}
             define void @f(i32 %a) {{
               %1 = call i32 @g(i32 %a)
               ret void
             }}"
        )
    };
    check_unchanged("dce", &call("nounwind willreturn"));
    check_unchanged("dce", &call("memory(argmem: write) nounwind willreturn"));
    check_unchanged("dce", &call("memory(none) willreturn"));
    check_unchanged("dce", &call("memory(none) nounwind"));
    let (mut db, module) = crate::load(&call("memory(none) nounwind willreturn"));
    crate::run(&mut db, module, "dce");
    assert!(!crate::print(&db, module).contains("call"));
}
