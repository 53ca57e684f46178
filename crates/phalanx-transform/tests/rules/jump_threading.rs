//! `jump-threading`

use expect_test::expect;

use crate::{check, check_unchanged, load, print, run};

/// A branch on `%c`, something behind it, and a branch on a phi of what the sides say.
fn twice(condition: &str, behind: &str, ends: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %c = {condition}
           br i1 %c, label %one, label %other
         one:
           store i32 1, ptr addrspace(1) %p, align 4
           br label %join
         other:
           store i32 2, ptr addrspace(1) %p, align 4
           br label %join
         join:
           {behind}
         yes:
           store i32 3, ptr addrspace(1) %p, align 4
           br label %exit
         no:
           store i32 4, ptr addrspace(1) %p, align 4
           br label %exit
         exit:
           {ends}
           ret void
         }}"
    )
}

const UNIFORM: &str = "icmp ult i32 %a, 7";
const DIVERGENT: &str = "icmp ult i32 %x, 7";

const PHI: &str = "%d = phi i1 [ true, %one ], [ false, %other ]
           br i1 %d, label %yes, label %no";

#[test]
fn a_phi_of_constants() {
    check(
        "jump-threading,simplifycfg",
        &twice(DIVERGENT, PHI, ""),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %x, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %other, %one
          ret void
        }
    "#]],
    );
    // From one side alone.
    let half = "%d = phi i32 [ 5, %one ], [ %a, %other ]
           %e = icmp eq i32 %d, 5
           br i1 %e, label %yes, label %no";
    check(
        "jump-threading",
        &twice(DIVERGENT, half, ""),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %x, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          br label %join1

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          br label %join

        join:                                             ; preds = %other
          %e = icmp eq i32 %a, 5
          br i1 %e, label %yes, label %no

        join1:                                            ; preds = %one
          %e1 = icmp eq i32 5, 5
          br label %yes

        yes:                                              ; preds = %join1, %join
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        no:                                               ; preds = %join
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %no, %yes
          ret void
        }
    "#]],
    );
    let undefined = "%d = phi i1 [ undef, %one ], [ %c, %other ]
           %e = freeze i1 %d
           br i1 %e, label %yes, label %no";
    check(
        "jump-threading",
        &twice(DIVERGENT, undefined, ""),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %x, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          br label %join

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          br label %join1

        join:                                             ; preds = %one
          %e = freeze i1 undef
          br i1 %e, label %yes, label %no

        join1:                                            ; preds = %other
          %e1 = freeze i1 %c
          br label %no

        yes:                                              ; preds = %join
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        no:                                               ; preds = %join1, %join
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %no, %yes
          ret void
        }
    "#]],
    );
}

#[test]
fn a_condition_that_was_asked_before() {
    let implied = "%d = icmp ult i32 %x, 9
           br i1 %d, label %yes, label %no";
    check(
        "jump-threading",
        &twice(DIVERGENT, implied, ""),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %x, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          br label %join1

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          br label %join

        join:                                             ; preds = %other
          %d = icmp ult i32 %x, 9
          br i1 %d, label %yes, label %no

        join1:                                            ; preds = %one
          %d1 = icmp ult i32 %x, 9
          br label %yes

        yes:                                              ; preds = %join1, %join
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        no:                                               ; preds = %join
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %no, %yes
          ret void
        }
    "#]],
    );
    check_unchanged("jump-threading", &twice(UNIFORM, implied, ""));
}

/// What is defined in the block is read behind it.
#[test]
fn values_get_phis() {
    let behind = "%d = phi i1 [ true, %one ], [ %c, %other ]
           %v = mul i32 %x, %x
           br i1 %d, label %yes, label %no";
    let text = twice("trunc i32 %x to i1", behind, "store i32 %v, ptr addrspace(1) %p, align 4");
    check(
        "jump-threading",
        &text,
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = trunc i32 %x to i1
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          br label %join1

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          br label %join

        join:                                             ; preds = %other
          %v = mul i32 %x, %x
          br label %no

        join1:                                            ; preds = %one
          %v1 = mul i32 %x, %x
          br label %yes

        yes:                                              ; preds = %join1
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        no:                                               ; preds = %join
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %no, %yes
          %v2 = phi i32 [ %v1, %yes ], [ %v, %no ]
          store i32 %v2, ptr addrspace(1) %p, align 4
          ret void
        }
    "#]],
    );
}

/// The threads that are together behind a uniform branch came by one side of it.
#[test]
fn votes_behind_uniform_branches() {
    let vote = "%d = phi i1 [ true, %one ], [ false, %other ]
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %b, ptr addrspace(1) %p, align 8
           br i1 %d, label %yes, label %no";
    check(
        "jump-threading,simplifycfg",
        &twice(UNIFORM, vote, ""),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %a, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          %b1 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b1, ptr addrspace(1) %p, align 8
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b, ptr addrspace(1) %p, align 8
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %other, %one
          ret void
        }
    "#]],
    );
    check_unchanged("jump-threading", &twice(DIVERGENT, vote, ""));
    let barrier = vote
        .replace(
            "%b = call i64 @llvm.amdgcn.ballot.i64(i1 true)",
            "call void @llvm.amdgcn.s.barrier()",
        )
        .replace("store i64 %b, ptr addrspace(1) %p, align 8", "");
    check(
        "jump-threading,simplifycfg",
        &twice(UNIFORM, &barrier, ""),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %c = icmp ult i32 %a, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          call void @llvm.amdgcn.s.barrier()
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          call void @llvm.amdgcn.s.barrier()
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %other, %one
          ret void
        }
    "#]],
    );
    // The same in a wave is not the same in a workgroup.
    let first =
        "call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)\n           %c = icmp ult i32 %w, 7";
    let of_wave =
        |behind: &str| twice("icmp", behind, "").replace("%c = icmp", &format!("%w = {first}"));
    check_unchanged("jump-threading", &of_wave(&barrier));
    check(
        "jump-threading,simplifycfg",
        &of_wave(vote),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %w = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)
          %c = icmp ult i32 %w, 7
          br i1 %c, label %one, label %other

        one:                                              ; preds = %entry
          store i32 1, ptr addrspace(1) %p, align 4
          %b1 = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b1, ptr addrspace(1) %p, align 8
          store i32 3, ptr addrspace(1) %p, align 4
          br label %exit

        other:                                            ; preds = %entry
          store i32 2, ptr addrspace(1) %p, align 4
          %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b, ptr addrspace(1) %p, align 8
          store i32 4, ptr addrspace(1) %p, align 4
          br label %exit

        exit:                                             ; preds = %other, %one
          ret void
        }
    "#]],
    );
}

#[test]
fn what_is_large_stays() {
    let behind = "%d = phi i1 [ true, %one ], [ %c, %other ]
           %v = mul i32 %x, %x
           %w = mul i32 %v, %x
           store i32 %w, ptr addrspace(1) %p, align 4
           br i1 %d, label %yes, label %no";
    let text = twice("trunc i32 %x to i1", behind, "");
    check_unchanged("jump-threading<size=2>", &text);
}

/// Neither a header nor a way back to one.
#[test]
fn cycles_stay() {
    check_unchanged(
        "jump-threading",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
         entry:
           br label %loop
         loop:
           %first = phi i1 [ true, %entry ], [ false, %latch ]
           %i = phi i32 [ 0, %entry ], [ %next, %latch ]
           br i1 %first, label %latch, label %more
         more:
           store i32 %i, ptr addrspace(1) %p, align 4
           br label %latch
         latch:
           %goes = phi i1 [ true, %loop ], [ %odd, %more ]
           %next = add i32 %i, 1
           %odd = trunc i32 %next to i1
           br i1 %goes, label %loop, label %exit
         exit:
           ret void
         }",
    );
}

/// A thread that leaves by `found` in some round would no longer be in the loop at the vote, so
/// threads of all rounds would vote together.
#[test]
fn a_vote_that_would_fall_out_of_its_loop() {
    let text = |vote: &str| {
        format!(
            "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %next, %go ]
           %c = icmp eq i32 %i, %x
           br i1 %c, label %found, label %other
         found:
           {vote}
           br label %test
         other:
           br label %test
         test:
           %stop = phi i1 [ true, %found ], [ false, %other ]
           br i1 %stop, label %exit, label %go
         go:
           %next = add i32 %i, 1
           br label %loop
         exit:
           ret void
         }}"
        )
    };
    let vote = "%b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
           store i64 %b, ptr addrspace(1) %p, align 8";
    check(
        "jump-threading",
        &text(vote),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          br label %loop

        loop:                                             ; preds = %go, %entry
          %i = phi i32 [ 0, %entry ], [ %next, %go ]
          %c = icmp eq i32 %i, %x
          br i1 %c, label %found, label %other

        found:                                            ; preds = %loop
          %b = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          store i64 %b, ptr addrspace(1) %p, align 8
          br label %test

        other:                                            ; preds = %loop
          br label %test

        test:                                             ; preds = %other, %found
          %stop = phi i1 [ true, %found ], [ false, %other ]
          br i1 %stop, label %exit, label %go

        go:                                               ; preds = %test
          %next = add i32 %i, 1
          br label %loop

        exit:                                             ; preds = %test
          ret void
        }
    "#]],
    );
    check(
        "jump-threading",
        &text("store i32 1, ptr addrspace(1) %p, align 4"),
        &expect![[r#"
        define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {
        entry:
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          br label %loop

        loop:                                             ; preds = %go, %entry
          %i = phi i32 [ 0, %entry ], [ %next, %go ]
          %c = icmp eq i32 %i, %x
          br i1 %c, label %found, label %other

        found:                                            ; preds = %loop
          store i32 1, ptr addrspace(1) %p, align 4
          br label %test1

        other:                                            ; preds = %loop
          br label %test

        test:                                             ; preds = %other
          br i1 false, label %exit, label %go

        test1:                                            ; preds = %found
          br label %exit

        go:                                               ; preds = %test
          %next = add i32 %i, 1
          br label %loop

        exit:                                             ; preds = %test1, %test
          ret void
        }
    "#]],
    );
}

#[test]
fn switches() {
    check(
        "jump-threading",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %c) {
         entry:
           br i1 %c, label %one, label %other
         one:
           store i32 1, ptr addrspace(1) %p, align 4
           br label %state
         other:
           br label %state
         state:
           %s = phi i32 [ 2, %one ], [ %a, %other ]
           switch i32 %s, label %exit [ i32 1, label %first
                                        i32 2, label %second ]
         first:
           store i32 3, ptr addrspace(1) %p, align 4
           br label %exit
         second:
           store i32 4, ptr addrspace(1) %p, align 4
           br label %exit
         exit:
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a, i1 %c) {
            entry:
              br i1 %c, label %one, label %other

            one:                                              ; preds = %entry
              store i32 1, ptr addrspace(1) %p, align 4
              br label %state1

            other:                                            ; preds = %entry
              br label %state

            state:                                            ; preds = %other
              switch i32 %a, label %exit [
                i32 1, label %first
                i32 2, label %second
              ]

            state1:                                           ; preds = %one
              br label %second

            first:                                            ; preds = %state
              store i32 3, ptr addrspace(1) %p, align 4
              br label %exit

            second:                                           ; preds = %state1, %state
              store i32 4, ptr addrspace(1) %p, align 4
              br label %exit

            exit:                                             ; preds = %second, %first, %state
              ret void
            }
        "#]],
    );
}

/// If the other operand is poison, the frozen value may be true, equally for all its readers.
#[test]
fn what_is_frozen_is_known_when_all_of_it_is() {
    let frozen = |part: &str| {
        format!(
            "define i32 @f(i32 %a, i1 %q, i1 %s) {{
             entry:
               %k = icmp eq i32 %a, 0
               br i1 %k, label %one, label %b
             one:
               %n = icmp ne i32 %a, 0
               %m = and i1 %n, %q
               br label %b
             b:
               %p = phi i1 [ false, %one ], [ %s, %entry ]
               %o = phi i1 [ %m, %one ], [ %s, %entry ]
               %x = {part}
               %z = freeze i1 %x
               br i1 %z, label %t, label %e
             t:
               ret i32 5
             e:
               %r = zext i1 %z to i32
               ret i32 %r
             }}"
        )
    };
    check_unchanged("jump-threading", &frozen("and i1 %p, %q"));
    check_unchanged("jump-threading", &frozen("xor i1 %o, true"));
    let (mut db, module) = load(&frozen("xor i1 %p, true"));
    run(&mut db, module, "jump-threading");
    let text = print(&db, module);
    assert!(text.contains("br label %t"), "{text}");
}

/// One call must not be duplicated, the other has its group from a token.
#[test]
fn calls_that_are_not_copied() {
    let behind = |call: &str| PHI.replace("br", &format!("{call}\nbr"));
    let plain = twice(UNIFORM, &behind("call void @unknown()"), "");
    let (mut db, module) = load(&plain);
    run(&mut db, module, "jump-threading");
    assert_eq!(print(&db, module).matches("call void @unknown()").count(), 2);
    let once = twice(UNIFORM, &behind("call void @unknown() noduplicate"), "");
    check_unchanged("jump-threading", &once);
    let condition = format!("{UNIFORM}\n%t = call token @llvm.experimental.convergence.anchor()");
    let vote = "call void @together() [ \"convergencectrl\"(token %t) ]";
    let with_token = twice(&condition, &behind(vote), "");
    check_unchanged(
        "jump-threading",
        &format!(
            "declare token @llvm.experimental.convergence.anchor()
             declare void @together() convergent
             {with_token}"
        ),
    );
}
