//! `move-convergent`

use expect_test::expect;

use crate::{check, check_unchanged, load, print, run};

/// Both sides of a branch on `%c`.
fn sides(condition: &str, one: &str, other: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %d = icmp ult i32 %x, 7
           %c = {condition}
           br i1 %c, label %one, label %other
         one:
           {one}
           br label %exit
         other:
           {other}
           br label %exit
         exit:
           ret void
         }}"
    )
}

const UNIFORM: &str = "icmp ult i32 %a, 7";
const DIVERGENT: &str = "icmp ult i32 %x, 9";

const VOTE_AND_STORE: &str = "%ID = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
           store i64 %ID, ptr addrspace(1) %p, align 8";

#[test]
fn equal_votes_of_both_sides_of_a_uniform_branch() {
    let vote = |id: &str| VOTE_AND_STORE.replace("ID", id);
    check(
        "move-convergent",
        &sides(UNIFORM, &vote("v"), &vote("w")),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %c = icmp ult i32 %a, 7
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              store i64 %v, ptr addrspace(1) %p, align 8
              br label %exit

            other:                                            ; preds = %entry
              store i64 %v, ptr addrspace(1) %p, align 8
              br label %exit

            exit:                                             ; preds = %other, %one
              ret void
            }
        "#]],
    );
    check_unchanged("move-convergent", &sides(DIVERGENT, &vote("v"), &vote("w")));
}

#[test]
fn what_a_vote_reads_goes_with_it() {
    let vote = |id: &str, n: u32| {
        format!(
            "%{id}.n = add i32 %x, {n}
             %{id}.c = icmp ugt i32 %{id}.n, %a
             %{id} = call i64 @llvm.amdgcn.ballot.i64(i1 %{id}.c)
             store i64 %{id}, ptr addrspace(1) %p, align 8"
        )
    };
    check(
        "move-convergent",
        &sides(UNIFORM, &vote("v", 3), &vote("w", 3)),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %c = icmp ult i32 %a, 7
              %v.n = add i32 %x, 3
              %v.c = icmp ugt i32 %v.n, %a
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %v.c)
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              store i64 %v, ptr addrspace(1) %p, align 8
              br label %exit

            other:                                            ; preds = %entry
              store i64 %v, ptr addrspace(1) %p, align 8
              br label %exit

            exit:                                             ; preds = %other, %one
              ret void
            }
        "#]],
    );
    // What is different goes there by a phi.
    check(
        "move-convergent",
        &sides(UNIFORM, &vote("v", 3), &vote("w", 4)),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %c = icmp ult i32 %a, 7
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              %v.n = add i32 %x, 3
              %v.c = icmp ugt i32 %v.n, %a
              br label %exit

            other:                                            ; preds = %entry
              %w.n = add i32 %x, 4
              %w.c = icmp ugt i32 %w.n, %a
              br label %exit

            exit:                                             ; preds = %other, %one
              %0 = phi i1 [ %v.c, %one ], [ %w.c, %other ]
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %0)
              store i64 %v, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
    check_unchanged("move-convergent", &sides(DIVERGENT, &vote("v", 3), &vote("w", 4)));
}

#[test]
fn barriers_do_not_pass_memory() {
    let barrier = "call void @llvm.amdgcn.s.barrier()";
    let after = format!("store i32 1, ptr addrspace(1) %p, align 4\n{barrier}");
    check(
        "move-convergent",
        &sides(UNIFORM, barrier, barrier),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %c = icmp ult i32 %a, 7
              call void @llvm.amdgcn.s.barrier()
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              br label %exit

            other:                                            ; preds = %entry
              br label %exit

            exit:                                             ; preds = %other, %one
              ret void
            }
        "#]],
    );
    // Not above the branch, but behind it.
    check(
        "move-convergent",
        &sides(UNIFORM, &after, &after),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %c = icmp ult i32 %a, 7
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              store i32 1, ptr addrspace(1) %p, align 4
              br label %exit

            other:                                            ; preds = %entry
              store i32 1, ptr addrspace(1) %p, align 4
              br label %exit

            exit:                                             ; preds = %other, %one
              call void @llvm.amdgcn.s.barrier()
              ret void
            }
        "#]],
    );
    check_unchanged("move-convergent", &sides(DIVERGENT, &after, &after));
    check_unchanged("move-convergent", &sides(DIVERGENT, barrier, barrier));
}

#[test]
fn votes_stay_behind_what_may_not_come_back() {
    let vote = |id: &str| format!("call void @unknown()\n{}", VOTE_AND_STORE.replace("ID", id));
    // They may be made behind both.
    check(
        "move-convergent",
        &sides(UNIFORM, &vote("v"), &vote("w")),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %c = icmp ult i32 %a, 7
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              call void @unknown()
              br label %exit

            other:                                            ; preds = %entry
              call void @unknown()
              br label %exit

            exit:                                             ; preds = %other, %one
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
              store i64 %v, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
    check_unchanged("move-convergent", &sides(DIVERGENT, &vote("v"), &vote("w")));
}

/// A vote is read on one side only.
fn read_below(condition: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %d = icmp ult i32 %x, 7
           %v = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
           %c = {condition}
           br i1 %c, label %one, label %exit
         one:
           store i64 %v, ptr addrspace(1) %p, align 8
           br label %exit
         exit:
           ret void
         }}"
    )
}

#[test]
fn a_vote_goes_down_to_where_it_is_read() {
    check(
        "move-convergent",
        &read_below(UNIFORM),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %c = icmp ult i32 %a, 7
              br i1 %c, label %one, label %exit

            one:                                              ; preds = %entry
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
              store i64 %v, ptr addrspace(1) %p, align 8
              br label %exit

            exit:                                             ; preds = %one, %entry
              ret void
            }
        "#]],
    );
    check_unchanged("move-convergent", &read_below(DIVERGENT));
}

/// A vote on what does not change in the loop.
fn in_loop(limit: &str, operand: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %d = icmp ult i32 %x, 7
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %loop ]
           %e = icmp ult i32 %x, %i
           %v = call i64 @llvm.amdgcn.ballot.i64(i1 {operand})
           %w = trunc i64 %v to i32
           %s = add i32 %w, %i
           store i32 %s, ptr addrspace(1) %p, align 4
           %j = add i32 %i, 1
           %c = icmp ult i32 %j, {limit}
           br i1 %c, label %loop, label %exit
         exit:
           ret void
         }}"
    )
}

#[test]
fn a_vote_leaves_a_loop_that_is_left_together() {
    check(
        "move-convergent",
        &in_loop("%a", "%d"),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
              br label %loop

            loop:                                             ; preds = %loop, %entry
              %i = phi i32 [ 0, %entry ], [ %j, %loop ]
              %e = icmp ult i32 %x, %i
              %w = trunc i64 %v to i32
              %s = add i32 %w, %i
              store i32 %s, ptr addrspace(1) %p, align 4
              %j = add i32 %i, 1
              %c = icmp ult i32 %j, %a
              br i1 %c, label %loop, label %exit

            exit:                                             ; preds = %loop
              ret void
            }
        "#]],
    );
    check_unchanged("move-convergent", &in_loop("%x", "%d"));
    check_unchanged("move-convergent", &in_loop("%a", "%e"));
}

/// The group of an operation with a token is that of the token.
#[test]
fn operations_with_tokens_stay() {
    let vote = |id: &str| {
        format!(
            "%{id}.t = call token @llvm.experimental.convergence.anchor()
             %{id} = call i64 @llvm.amdgcn.ballot.i64(i1 %d) [ \"convergencectrl\"(token %{id}.t) ]
             store i64 %{id}, ptr addrspace(1) %p, align 8"
        )
    };
    check_unchanged("move-convergent", &sides(UNIFORM, &vote("v"), &vote("w")));
    check_unchanged("move-convergent", &sides(DIVERGENT, &vote("v"), &vote("w")));
}

/// Sides that both store first, and vote on what is different.
fn stores_and_votes(condition: &str, one: &str, other: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %c = {condition}
           br i1 %c, label %one, label %other
         one:
           {one}
           br label %exit
         other:
           {other}
           br label %exit
         exit:
           %r = phi i64 [ %v, %one ], [ %w, %other ]
           store i64 %r, ptr addrspace(1) %p, align 8
           ret void
         }}"
    )
}

#[test]
fn votes_on_different_things_meet_behind_a_uniform_branch() {
    let one = "%d = icmp ult i32 %x, 3
           %v = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
           store i64 0, ptr addrspace(1) %p, align 8";
    let other = "%y = call i32 @reads(i32 %a)
           %e = icmp ult i32 %y, %x
           %w = call i64 @llvm.amdgcn.ballot.i64(i1 %e)";
    check(
        "move-convergent",
        &stores_and_votes(UNIFORM, one, other),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %a, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          %d = icmp ult i32 %x, 3
          store i64 0, ptr addrspace(1) %p, align 8
          br label %exit

        other:                                            ; preds = %entry
          %y = call i32 @reads(i32 %a)
          %e = icmp ult i32 %y, %x
          br label %exit

        exit:                                             ; preds = %other, %one
          %0 = phi i1 [ %d, %one ], [ %e, %other ]
          %v = call i64 @llvm.amdgcn.ballot.i64(i1 %0)
          store i64 %v, ptr addrspace(1) %p, align 8
          ret void
        }
    "#]],
    );
    check_unchanged("move-convergent", &stores_and_votes(DIVERGENT, one, other));
    // A constant may have to be one.
    let other = "%w = call i64 @llvm.amdgcn.ballot.i64(i1 true)";
    check_unchanged("move-convergent", &stores_and_votes(UNIFORM, one, other));
}

/// A barrier does not pass an access, so the accesses behind it go with it.
#[test]
fn barriers_with_what_stands_behind_them() {
    let side = |id: &str, number: u32| {
        format!(
            "store i32 {number}, ptr addrspace(1) %p, align 4
             call void @llvm.amdgcn.s.barrier()
             %{id}.n = load i32, ptr addrspace(1) %p, align 4
             %{id}.m = mul i32 %{id}.n, %x
             %{id} = zext i32 %{id}.m to i64"
        )
    };
    check(
        "move-convergent",
        &stores_and_votes(UNIFORM, &side("v", 1), &side("w", 2)),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %c = icmp ult i32 %a, 7
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              store i32 1, ptr addrspace(1) %p, align 4
              br label %exit

            other:                                            ; preds = %entry
              store i32 2, ptr addrspace(1) %p, align 4
              br label %exit

            exit:                                             ; preds = %other, %one
              call void @llvm.amdgcn.s.barrier()
              %v.n = load i32, ptr addrspace(1) %p, align 4
              %v.m = mul i32 %v.n, %x
              %v = zext i32 %v.m to i64
              store i64 %v, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
    check_unchanged("move-convergent", &stores_and_votes(DIVERGENT, &side("v", 1), &side("w", 2)));
    let counts = side("w", 2).replace(
        "%w.n = load",
        "store i32 9, ptr addrspace(1) %p, align 4\n             %w.n = load",
    );
    check_unchanged("move-convergent", &stores_and_votes(UNIFORM, &side("v", 1), &counts));
}

/// Accesses follow what they read behind the branch, but not past an access of their own side that
/// stays.
#[test]
fn accesses_stay_before_what_they_must_not_pass() {
    // Votes on different things do not meet above the branch.
    let vote = |id: &str| {
        format!(
            "%{id}.c = trunc i32 %{} to i1
             %{id} = call i64 @llvm.amdgcn.ballot.i64(i1 %{id}.c)",
            if id == "v" { "x" } else { "a" }
        )
    };
    let load = |id: &str| format!("%{id}.n = load i32, ptr addrspace(1) %p, align 4");
    let store = "store i32 %a, ptr addrspace(1) %p, align 4";
    let stored = format!("{}\n{}\nstore i8 0, ptr addrspace(1) %p, align 1", vote("v"), load("v"));
    let plain = format!("{}\n{}", vote("w"), load("w"));
    check(
        "move-convergent",
        &stores_and_votes(UNIFORM, &stored, &plain),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %c = icmp ult i32 %a, 7
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              %v.c = trunc i32 %x to i1
              %v.n = load i32, ptr addrspace(1) %p, align 4
              store i8 0, ptr addrspace(1) %p, align 1
              br label %exit

            other:                                            ; preds = %entry
              %w.c = trunc i32 %a to i1
              %w.n = load i32, ptr addrspace(1) %p, align 4
              br label %exit

            exit:                                             ; preds = %other, %one
              %0 = phi i1 [ %v.c, %one ], [ %w.c, %other ]
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %0)
              store i64 %v, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
    let read = format!("{}\n{store}\n%v.b = load i8, ptr addrspace(1) %p, align 1", vote("v"));
    let plain = format!("{}\n{store}", vote("w"));
    check(
        "move-convergent",
        &stores_and_votes(UNIFORM, &read, &plain),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %c = icmp ult i32 %a, 7
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              %v.c = trunc i32 %x to i1
              store i32 %a, ptr addrspace(1) %p, align 4
              %v.b = load i8, ptr addrspace(1) %p, align 1
              br label %exit

            other:                                            ; preds = %entry
              %w.c = trunc i32 %a to i1
              store i32 %a, ptr addrspace(1) %p, align 4
              br label %exit

            exit:                                             ; preds = %other, %one
              %0 = phi i1 [ %v.c, %one ], [ %w.c, %other ]
              %v = call i64 @llvm.amdgcn.ballot.i64(i1 %0)
              store i64 %v, ptr addrspace(1) %p, align 8
              ret void
            }
        "#]],
    );
}

/// What is read on its own side stays there.
#[test]
fn what_one_side_alone_reads_stays() {
    let one = "%v = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
           store i64 %v, ptr addrspace(1) %p, align 8";
    let other = "store i32 5, ptr addrspace(1) %p, align 4
           %e = trunc i32 %x to i1
           %w = call i64 @llvm.amdgcn.ballot.i64(i1 %e)";
    check_unchanged("move-convergent", &stores_and_votes(UNIFORM, one, other));
}

/// A vote that is read behind a uniform branch only, with something on the way.
fn with_between(above: &str, side: &str, then: &str) -> String {
    format!(
        "declare void @llvm.amdgcn.kill(i1)
         define amdgpu_ps void @f(ptr addrspace(1) %p, i32 inreg %a, float %z) {{
         entry:
           %d = fcmp ult float %z, 1.0
           %u = icmp ult i32 %a, 7
           %v = call i64 @llvm.amdgcn.ballot.i64(i1 %d)
           {above}
           br i1 %u, label %side, label %exit
         side:
           {side}
           br label %then
         then:
           {then}
           br label %exit
         exit:
           ret void
         }}"
    )
}

#[test]
fn a_vote_does_not_go_down_behind_what_may_not_come_back() {
    let (kill, store) =
        ("call void @llvm.amdgcn.kill(i1 %d)", "store i64 %v, ptr addrspace(1) %p, align 8");
    let moves = |[above, side, then]: [&str; 3]| {
        let (mut db, module) = load(&with_between(above, side, then));
        let before = print(&db, module);
        run(&mut db, module, "move-convergent");
        print(&db, module) != before
    };
    assert!(moves(["", "", store]));
    assert!(!moves([kill, "", store]));
    assert!(!moves(["", kill, store]));
    assert!(!moves(["", "", &format!("{kill}\n{store}")]));
    assert!(!moves(["call void @unknown()", "", store]));
    // Behind the place, or on the other way.
    assert!(moves(["", "", &format!("{store}\n{kill}")]));
}

/// Neither above the branch nor behind it.
#[test]
fn calls_that_are_to_be_told_apart_stay() {
    let vote = |id: &str| {
        let body = "%ID = call i64 @llvm.amdgcn.ballot.i64(i1 %d) nomerge
           store i64 %ID, ptr addrspace(1) %p, align 8";
        body.replace("ID", id)
    };
    check_unchanged("move-convergent", &sides(UNIFORM, &vote("v"), &vote("w")));
    let reads = |id: &str, of: &str| {
        format!("%c{id} = icmp ult i32 %x, %{of}\n{}", vote(id).replace("%d", &format!("%c{id}")))
    };
    check_unchanged("move-convergent", &sides(UNIFORM, &reads("v", "a"), &reads("w", "x")));
}

/// Each passes what stands before it on its own side.
#[test]
fn barriers_that_stand_behind_an_access_on_one_side() {
    let barrier = "call void @llvm.amdgcn.s.barrier()";
    let behind = format!("store i32 1, ptr addrspace(1) %p, align 4\n{barrier}");
    let before = format!("{barrier}\nstore i32 2, ptr addrspace(3) null, align 4");
    check_unchanged("move-convergent", &sides(UNIFORM, &behind, &before));
    check_unchanged("move-convergent", &sides(UNIFORM, &before, &behind));
}

/// Threads that do not come back are not there in the next round.
#[test]
fn a_vote_in_a_loop_that_may_not_come_back() {
    let text = in_loop("%a", "%d").replace("%j = add", "call void @unknown()\n%j = add");
    check_unchanged("move-convergent", &text);
}
