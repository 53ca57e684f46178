//! `early-cse`

use expect_test::expect;

use crate::{check, check_unchanged};

#[test]
fn the_kept_one_promises_what_both_do() {
    check(
        "early-cse",
        "define i32 @f(i32 %a, i32 %b) {
           %1 = add nuw nsw i32 %a, %b
           %2 = add nsw i32 %b, %a
           %3 = mul i32 %1, %2
           ret i32 %3
         }",
        &expect![[r#"
            define i32 @f(i32 %a, i32 %b) {
              %1 = add nsw i32 %a, %b
              %2 = mul i32 %1, %1
              ret i32 %2
            }
        "#]],
    );
}

#[test]
fn loads_and_stores_of_one_generation() {
    check(
        "early-cse",
        "define i32 @f(ptr addrspace(1) %p, ptr addrspace(1) %q) {
           %1 = load i32, ptr addrspace(1) %p, align 4
           %2 = load i32, ptr addrspace(1) %p, align 4
           store i32 %2, ptr addrspace(1) %q, align 4
           %3 = load i32, ptr addrspace(1) %q, align 4
           %4 = load i32, ptr addrspace(1) %p, align 4
           %5 = add i32 %3, %4
           ret i32 %5
         }",
        &expect![[r#"
            define i32 @f(ptr addrspace(1) %p, ptr addrspace(1) %q) {
              %1 = load i32, ptr addrspace(1) %p, align 4
              store i32 %1, ptr addrspace(1) %q, align 4
              %2 = load i32, ptr addrspace(1) %p, align 4
              %3 = add i32 %1, %2
              ret i32 %3
            }
        "#]],
    );
}

/// Other threads may write in between.
#[test]
fn memory_behind_a_barrier_is_new() {
    check_unchanged(
        "early-cse",
        "define i32 @f(ptr addrspace(3) %p) {
           %1 = load i32, ptr addrspace(3) %p, align 4
           call void @llvm.amdgcn.s.barrier()
           %2 = load i32, ptr addrspace(3) %p, align 4
           %3 = add i32 %1, %2
           ret i32 %3
         }",
    );
}

#[test]
fn constant_memory_never_is() {
    check(
        "early-cse",
        "define i32 @f(ptr addrspace(4) %p) {
           %1 = load i32, ptr addrspace(4) %p, align 4
           call void @llvm.amdgcn.s.barrier()
           %2 = load i32, ptr addrspace(4) %p, align 4
           %3 = add i32 %1, %2
           ret i32 %3
         }",
        &expect![[r#"
            define i32 @f(ptr addrspace(4) %p) {
              %1 = load i32, ptr addrspace(4) %p, align 4
              call void @llvm.amdgcn.s.barrier()
              %2 = add i32 %1, %1
              ret i32 %2
            }
        "#]],
    );
}

#[test]
fn volatile_loads_are_each_their_own() {
    check_unchanged(
        "early-cse",
        "define i32 @f(ptr %p) {
           %1 = load volatile i32, ptr %p, align 4
           %2 = load volatile i32, ptr %p, align 4
           %3 = add i32 %1, %2
           ret i32 %3
         }",
    );
}

/// Loads are replaced by the stored values. The volatile or atomic loads that these come from stay
/// as they are.
#[test]
fn what_was_stored_keeps_how_it_was_loaded() {
    check(
        "early-cse",
        "define i32 @f(ptr %p, ptr %q) {
           %1 = load volatile i32, ptr %p, align 4, !range !0
           store i32 %1, ptr %q, align 4
           %2 = load i32, ptr %q, align 4
           %3 = load atomic i32, ptr %p acquire, align 4
           store i32 %3, ptr %q, align 4
           %4 = load i32, ptr %q, align 4
           %5 = add i32 %2, %4
           ret i32 %5
         }
         !0 = !{i32 0, i32 8}",
        &expect![[r#"
            define i32 @f(ptr %p, ptr %q) {
              %1 = load volatile i32, ptr %p, align 4, !range !0
              store i32 %1, ptr %q, align 4
              %2 = load atomic i32, ptr %p acquire, align 4
              store i32 %2, ptr %q, align 4
              %3 = add i32 %1, %2
              ret i32 %3
            }
        "#]],
    );
}

/// All threads of the entry are in the join; the side has only some of them.
#[test]
fn a_vote_is_the_same_where_the_same_threads_vote() {
    check(
        "early-cse",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %c = icmp ult i32 %x, 5
           %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           br i1 %c, label %side, label %join
         side:
           %some = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %some, ptr addrspace(1) %p, align 8
           br label %join
         join:
           %again = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           %sum = add i64 %all, %again
           store i64 %sum, ptr addrspace(1) %p, align 8
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %c = icmp ult i32 %x, 5
              %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
              br i1 %c, label %side, label %join

            side:                                             ; preds = %entry
              %some = call i64 @llvm.amdgcn.ballot.i64(i1 true)
              store i64 %some, ptr addrspace(1) %p, align 8
              br label %join

            join:                                             ; preds = %side, %entry
              %sum = add i64 %all, %all
              store i64 %sum, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
}

#[test]
fn a_uniform_branch_takes_everybody_along() {
    check(
        "early-cse",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i1 %c) {
         entry:
           %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           br i1 %c, label %side, label %join
         side:
           %same = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %same, ptr addrspace(1) %p, align 8
           br label %join
         join:
           store i64 %all, ptr addrspace(1) %p, align 8
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i1 %c) {
            entry:
              %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
              br i1 %c, label %side, label %join

            side:                                             ; preds = %entry
              store i64 %all, ptr addrspace(1) %p, align 8
              br label %join

            join:                                             ; preds = %side, %entry
              store i64 %all, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
}

/// In each round fewer threads vote than before the loop.
#[test]
fn a_vote_in_a_loop_is_none_before_it() {
    check_unchanged(
        "early-cse",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %loop ]
           %j = add i32 %i, 1
           %some = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %some, ptr addrspace(1) %p, align 8
           %c = icmp ult i32 %j, %x
           br i1 %c, label %loop, label %exit
         exit:
           store i64 %all, ptr addrspace(1) %p, align 8
           ret void
         }",
    );
}

/// Flags of a call are its own, except `tail`, which is a promise.
#[test]
fn of_two_calls_stays_what_is_said_of_both() {
    check(
        "early-cse",
        "declare float @llvm.sqrt.f32(float)
         declare float @root(float) memory(none) nounwind willreturn
         define float @f(float %x) {
           %a = call nnan nsz float @llvm.sqrt.f32(float %x)
           %b = call nsz ninf float @llvm.sqrt.f32(float %x)
           %c = tail call fast float @root(float %x)
           %d = call fast float @root(float %x)
           %e = fadd float %a, %b
           %g = fadd float %c, %d
           %h = fadd float %e, %g
           ret float %h
         }",
        &expect![[r#"
            define float @f(float %x) {
              %a = call nsz float @llvm.sqrt.f32(float %x)
              %c = call fast float @root(float %x)
              %e = fadd float %a, %a
              %g = fadd float %c, %c
              %h = fadd float %e, %g
              ret float %h
            }
        "#]],
    );
}

/// The two calls have different result attributes, so they are not equal.
#[test]
fn calls_with_other_attributes() {
    check_unchanged(
        "early-cse",
        "define i32 @f(i32 %x) {
           %1 = call noundef i32 @pure(i32 %x)
           %2 = call i32 @pure(i32 %x)
           %3 = call i32 @pure(i32 noundef %x)
           %4 = add i32 %1, %2
           %5 = add i32 %3, %4
           ret i32 %5
         }",
    );
}

#[test]
fn attachments_of_both_stay() {
    check(
        "early-cse",
        "define i32 @f(ptr addrspace(1) %p, i32 %x) {
           %1 = load i32, ptr addrspace(1) %p, align 4, !range !0, !noundef !1
           %2 = load i32, ptr addrspace(1) %p, align 4, !range !2, !noundef !1
           %3 = call i32 @pure(i32 %x), !range !0
           %4 = call i32 @pure(i32 %x)
           %5 = add i32 %1, %2
           %6 = add i32 %3, %4
           %7 = add i32 %5, %6
           ret i32 %7
         }
         !0 = !{i32 0, i32 9}
         !1 = !{}
         !2 = !{i32 0, i32 10}",
        &expect![[r#"
            define i32 @f(ptr addrspace(1) %p, i32 %x) {
              %1 = load i32, ptr addrspace(1) %p, align 4, !noundef !0
              %2 = call i32 @pure(i32 %x)
              %3 = add i32 %1, %1
              %4 = add i32 %2, %2
              %5 = add i32 %3, %4
              ret i32 %5
            }
        "#]],
    );
}

/// `mark-loads` derived the first mark; the second is a promise about the second load only.
#[test]
fn a_mark_that_was_concluded_is_no_promise() {
    check(
        "early-cse",
        "define i32 @f(ptr addrspace(1) %p) {
           %1 = load i32, ptr addrspace(1) %p, align 4, !invariant.load !0, !phalanx.invariant.load !0
           %2 = load i32, ptr addrspace(1) %p, align 4, !invariant.load !0
           %3 = load i32, ptr addrspace(1) %p, align 4, !invariant.load !0, !phalanx.invariant.load !0
           %4 = add i32 %1, %2
           %5 = add i32 %3, %4
           ret i32 %5
         }
         !0 = !{}",
        &expect![[r#"
            define i32 @f(ptr addrspace(1) %p) {
              %1 = load i32, ptr addrspace(1) %p, align 4, !invariant.load !0, !phalanx.invariant.load !0
              %2 = add i32 %1, %1
              %3 = add i32 %1, %2
              ret i32 %3
            }
        "#]],
    );
}

/// Two votes with a branch between them that some threads take. The arguments are calls of
/// `llvm.amdgcn.kill` to insert in each block.
fn votes_around(entry: &str, side: &str, join: &str) -> String {
    format!(
        "declare void @llvm.amdgcn.kill(i1)
         define amdgpu_ps void @f(ptr addrspace(1) %p, float %z) {{
         entry:
           %d = fcmp ult float %z, 1.0
           %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           {entry}
           br i1 %d, label %side, label %join
         side:
           {side}
           br label %join
         join:
           {join}
           %again = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           %sum = add i64 %all, %again
           store i64 %sum, ptr addrspace(1) %p, align 8
           ret void
         }}"
    )
}

#[test]
fn a_vote_behind_what_may_not_come_back_is_another() {
    let kill = "call void @llvm.amdgcn.kill(i1 false)";
    for [entry, side, join] in
        [[kill, "", ""], ["", kill, ""], ["", "", kill], ["", "call void @unknown()", ""]]
    {
        check_unchanged("early-cse", &votes_around(entry, side, join));
    }
    let (mut db, module) = crate::load(&votes_around("", "call i32 @reads(i32 1)", ""));
    crate::run(&mut db, module, "early-cse");
    assert!(!crate::print(&db, module).contains("again"));
}

/// LLVM reuses the first vote within a block.
#[test]
fn votes_of_a_block_between_which_threads_may_end() {
    check(
        "early-cse",
        "declare void @llvm.amdgcn.kill(i1)
         define amdgpu_ps void @f(ptr addrspace(1) %p, i1 %live) {
           %1 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           call void @llvm.amdgcn.kill(i1 %live)
           %2 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           %3 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           %4 = add i64 %1, %2
           %5 = add i64 %3, %4
           store i64 %5, ptr addrspace(1) %p, align 8
           ret void
         }",
        &expect![[r#"
            define amdgpu_ps void @f(ptr addrspace(1) %p, i1 %live) {
              %1 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
              call void @llvm.amdgcn.kill(i1 %live)
              %2 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
              %3 = add i64 %1, %2
              %4 = add i64 %2, %3
              store i64 %4, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
}

/// A write of other memory keeps the known value of a slot.
#[test]
fn loads_across_writes_of_other_memory() {
    check(
        "early-cse",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %c) {
         entry:
           %slot = alloca i32, align 4, addrspace(5)
           %at = addrspacecast ptr addrspace(5) %slot to ptr
           store i32 %a, ptr %at, align 4
           store i32 1, ptr addrspace(1) %p, align 4
           %x = load i32, ptr %at, align 4
           br i1 %c, label %then, label %exit
         then:
           store i32 %x, ptr addrspace(1) %p, align 4
           br label %exit
         exit:
           %y = load i32, ptr %at, align 4
           %z = load i32, ptr addrspace(1) %p, align 4
           %s = add i32 %y, %z
           store i32 %s, ptr addrspace(1) %p, align 4
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %c) {
            entry:
              %slot = alloca i32, align 4, addrspace(5)
              %at = addrspacecast ptr addrspace(5) %slot to ptr
              store i32 %a, ptr %at, align 4
              store i32 1, ptr addrspace(1) %p, align 4
              br i1 %c, label %then, label %exit

            then:                                             ; preds = %entry
              store i32 %a, ptr addrspace(1) %p, align 4
              br label %exit

            exit:                                             ; preds = %then, %entry
              %z = load i32, ptr addrspace(1) %p, align 4
              %s = add i32 %a, %z
              store i32 %s, ptr addrspace(1) %p, align 4
              ret void
            }
        "#]],
    );
}

/// Different stores may have written `%p` before the first load; that does not matter to the second
/// one, before which only `%q` is written.
#[test]
fn a_load_behind_a_join_is_what_was_loaded_before_the_branch() {
    let after = |store: &str| {
        format!(
            "define amdgpu_kernel void @f(
                 ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, i1 %c, i1 %d) {{
             entry:
               br i1 %c, label %one, label %two
             one:
               store i32 1, ptr addrspace(1) %p, align 4
               br label %first
             two:
               store i32 2, ptr addrspace(1) %p, align 4
               br label %first
             first:
               %x = load i32, ptr addrspace(1) %p, align 4
               br i1 %d, label %then, label %exit
             then:
               {store}
               br label %exit
             exit:
               %y = load i32, ptr addrspace(1) %p, align 4
               store i32 %y, ptr addrspace(1) %q, align 4
               ret void
             }}"
        )
    };
    let loads = |store: &str| {
        let (mut db, module) = crate::load(&after(store));
        crate::run(&mut db, module, "early-cse");
        crate::print(&db, module).matches("load i32").count()
    };
    assert_eq!(loads("store i32 3, ptr addrspace(1) %q, align 4"), 1);
    assert_eq!(loads("store i32 3, ptr addrspace(1) %p, align 4"), 2);
    assert_eq!(loads("fence acquire"), 2);
}

/// The version of a slot is known, however many other writes are in between.
#[test]
fn a_slot_behind_a_thousand_writes() {
    let text = format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %slot = alloca i32, align 4, addrspace(5)
           store i32 %a, ptr addrspace(5) %slot, align 4
           {}
           %x = load i32, ptr addrspace(5) %slot, align 4
           store i32 %x, ptr addrspace(1) %p, align 4
           ret void
         }}",
        "store i32 1, ptr addrspace(1) %p, align 4\n".repeat(1_000)
    );
    let (mut db, module) = crate::load(&text);
    crate::run(&mut db, module, "early-cse");
    let after = crate::print(&db, module);
    assert!(after.contains("store i32 %a, ptr addrspace(1) %p"), "the load is replaced");
}

/// The loop writes the slot behind the load, so the next round reads something else.
#[test]
fn a_load_in_a_loop_that_writes() {
    check_unchanged(
        "early-cse",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %c) {
         entry:
           %slot = alloca i32, align 4, addrspace(5)
           store i32 %a, ptr addrspace(5) %slot, align 4
           br label %loop
         loop:
           %x = load i32, ptr addrspace(5) %slot, align 4
           store i32 %x, ptr addrspace(1) %p, align 4
           %y = add i32 %x, 1
           store i32 %y, ptr addrspace(5) %slot, align 4
           br i1 %c, label %loop, label %exit
         exit:
           ret void
         }",
    );
}

/// Other threads may write at the barrier between two loads.
#[test]
fn a_load_behind_a_barrier() {
    check_unchanged(
        "early-cse",
        "@shared = internal addrspace(3) global i32 poison, align 4
         define amdgpu_kernel void @f(ptr addrspace(1) %p) {
         entry:
           %x = load i32, ptr addrspace(3) @shared, align 4
           fence syncscope(\"workgroup\") release
           call void @llvm.amdgcn.s.barrier()
           fence syncscope(\"workgroup\") acquire
           %y = load i32, ptr addrspace(3) @shared, align 4
           %s = add i32 %x, %y
           store i32 %s, ptr addrspace(1) %p, align 4
           ret void
         }",
    );
}

/// Whether the second of two instructions, which defines `%2`, is replaced by the first.
fn becomes_one(one: &str, other: &str) -> bool {
    let (mut db, module) = crate::load(&format!(
        "declare i32 @alone(i32) memory(none) nounwind willreturn convergent
         define i32 @f(i32 %a, i32 %b) {{
           %1 = {one}
           %2 = {other}
           %3 = shl i32 %1, %2
           ret i32 %3
         }}"
    ));
    crate::run(&mut db, module, "early-cse");
    crate::print(&db, module).contains("shl i32 %1, %1")
}

#[test]
fn operands_that_change_places() {
    for opcode in ["add", "mul", "and", "or", "xor"] {
        let swapped = becomes_one(&format!("{opcode} i32 %a, %b"), &format!("{opcode} i32 %b, %a"));
        assert!(swapped, "{opcode}");
    }
    for opcode in ["sub", "shl", "lshr", "ashr", "udiv", "sdiv", "urem", "srem"] {
        let one = format!("{opcode} i32 %a, %b");
        assert!(becomes_one(&one, &one), "{opcode}");
        assert!(!becomes_one(&one, &format!("{opcode} i32 %b, %a")), "{opcode}");
    }
}

/// The result of a convergent function may depend on which threads call it together.
#[test]
fn equal_calls() {
    let pure = "call i32 @pure(i32 %a)";
    assert!(becomes_one(pure, pure));
    assert!(!becomes_one(pure, "call i32 @pure(i32 %b)"));
    let alone = "call i32 @alone(i32 %a)";
    assert!(!becomes_one(alone, alone));
}

/// Other threads may overwrite the value of a volatile or atomic store before this thread loads it.
#[test]
fn loads_behind_ordered_stores() {
    let text = |store: &str| {
        format!(
            "define i32 @f(ptr %p, i32 %a) {{
               {store}
               %1 = load i32, ptr %p, align 4
               ret i32 %1
             }}"
        )
    };
    check_unchanged("early-cse", &text("store volatile i32 %a, ptr %p, align 4"));
    check_unchanged("early-cse", &text("store atomic i32 %a, ptr %p release, align 4"));
    let (mut db, module) = crate::load(&text("store i32 %a, ptr %p, align 4"));
    crate::run(&mut db, module, "early-cse");
    assert!(crate::print(&db, module).contains("ret i32 %a"));
}
