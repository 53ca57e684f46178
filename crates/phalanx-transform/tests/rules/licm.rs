//! `licm`

use expect_test::expect;

use crate::{check, check_unchanged};

fn in_loop(insts: &str) -> String {
    format!(
        "@v = addrspace(3) global i32 poison, align 4
         define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(4) %q, i32 %a, i1 %d) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %loop ]
           {insts}
           %j = add i32 %i, 1
           %c = icmp ult i32 %j, %x
           br i1 %c, label %loop, label %exit
         exit:
           ret void
         }}"
    )
}

#[test]
fn arithmetic_and_what_it_reads() {
    check(
        "licm",
        &in_loop(
            "%1 = mul i32 %a, 3
             %2 = add i32 %1, %x
             %3 = add i32 %2, %i
             store i32 %3, ptr addrspace(1) %p, align 4",
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(4) %q, i32 %a, i1 %d) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %0 = mul i32 %a, 3
              %1 = add i32 %0, %x
              br label %loop

            loop:                                             ; preds = %loop, %entry
              %i = phi i32 [ 0, %entry ], [ %j, %loop ]
              %2 = add i32 %1, %i
              store i32 %2, ptr addrspace(1) %p, align 4
              %j = add i32 %i, 1
              %c = icmp ult i32 %j, %x
              br i1 %c, label %loop, label %exit

            exit:                                             ; preds = %loop
              ret void
            }
        "#]],
    );
}

#[test]
fn loads_that_nobody_writes() {
    check(
        "licm",
        &in_loop(
            "%1 = load i32, ptr addrspace(4) %q, align 4
             %2 = load i32, ptr addrspace(3) @v, align 4
             %3 = add i32 %1, %2
             store i32 %3, ptr addrspace(1) %p, align 4",
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(4) %q, i32 %a, i1 %d) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %0 = load i32, ptr addrspace(4) %q, align 4
              %1 = load i32, ptr addrspace(3) @v, align 4
              %2 = add i32 %0, %1
              br label %loop

            loop:                                             ; preds = %loop, %entry
              %i = phi i32 [ 0, %entry ], [ %j, %loop ]
              store i32 %2, ptr addrspace(1) %p, align 4
              %j = add i32 %i, 1
              %c = icmp ult i32 %j, %x
              br i1 %c, label %loop, label %exit

            exit:                                             ; preds = %loop
              ret void
            }
        "#]],
    );
}

#[test]
fn what_must_stay() {
    for insts in [
        // The same address is written.
        "%1 = load i32, ptr addrspace(1) %p, align 4
         store i32 %i, ptr addrspace(1) %p, align 4",
        // Others write at the barrier.
        "%1 = load i32, ptr addrspace(3) @v, align 4
         call void @llvm.amdgcn.s.barrier()",
        // In each round other threads vote.
        "%1 = call i64 @llvm.amdgcn.ballot.i64(i1 %d)",
        "%1 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)",
        // It may not return.
        "%1 = call i32 @pure_but_may_hang(i32 %a)",
        "%1 = load volatile i32, ptr addrspace(4) %q, align 4",
        "%1 = load atomic i32, ptr addrspace(4) %q monotonic, align 4",
        "%1 = udiv i32 7, %a",
    ] {
        check_unchanged("licm", &in_loop(insts));
    }
}

#[test]
fn a_preheader_is_made_where_there_is_none() {
    check(
        "licm",
        "define void @f(ptr addrspace(1) %p, i32 %a, i1 %c, i1 %d) {
         entry:
           br i1 %c, label %loop, label %other
         other:
           br i1 %d, label %loop, label %exit
         loop:
           %i = phi i32 [ 0, %entry ], [ 1, %other ], [ %j, %loop ]
           %s = mul i32 %a, %a
           store i32 %s, ptr addrspace(1) %p, align 4
           %j = add i32 %i, 1
           %e = icmp ult i32 %j, %a
           br i1 %e, label %loop, label %exit
         exit:
           ret void
         }",
        &expect![[r#"
            define void @f(ptr addrspace(1) %p, i32 %a, i1 %c, i1 %d) {
            entry:
              br i1 %c, label %loop.preheader, label %other

            loop.preheader:                                   ; preds = %other, %entry
              %0 = phi i32 [ 0, %entry ], [ 1, %other ]
              %s = mul i32 %a, %a
              br label %loop

            other:                                            ; preds = %entry
              br i1 %d, label %loop.preheader, label %exit

            loop:                                             ; preds = %loop, %loop.preheader
              %i = phi i32 [ %j, %loop ], [ %0, %loop.preheader ]
              store i32 %s, ptr addrspace(1) %p, align 4
              %j = add i32 %i, 1
              %e = icmp ult i32 %j, %a
              br i1 %e, label %loop, label %exit

            exit:                                             ; preds = %loop, %other
              ret void
            }
        "#]],
    );
}

#[test]
fn out_of_all_loops_at_once() {
    check(
        "licm",
        "define void @f(ptr addrspace(1) %p, i32 %a, i1 %c, i1 %d) {
         entry:
           br label %outer
         outer:
           %i = phi i32 [ 0, %entry ], [ %k, %latch ]
           br label %inner
         inner:
           %s = mul i32 %a, %a
           %t = add i32 %s, %i
           store i32 %t, ptr addrspace(1) %p, align 4
           br i1 %c, label %inner, label %latch
         latch:
           %k = add i32 %i, 1
           br i1 %d, label %outer, label %exit
         exit:
           ret void
         }",
        &expect![[r#"
            define void @f(ptr addrspace(1) %p, i32 %a, i1 %c, i1 %d) {
            entry:
              %s = mul i32 %a, %a
              br label %outer

            outer:                                            ; preds = %latch, %entry
              %i = phi i32 [ 0, %entry ], [ %k, %latch ]
              %t = add i32 %s, %i
              br label %inner

            inner:                                            ; preds = %inner, %outer
              store i32 %t, ptr addrspace(1) %p, align 4
              br i1 %c, label %inner, label %latch

            latch:                                            ; preds = %inner
              %k = add i32 %i, 1
              br i1 %d, label %outer, label %exit

            exit:                                             ; preds = %latch
              ret void
            }
        "#]],
    );
}

/// Metadata that could cause undefined behaviour is removed if the load may not have been executed.
/// Metadata that makes poison stays, and so does all metadata of loads that are always executed.
#[test]
fn what_is_said_of_speculated_loads_and_calls() {
    check(
        "licm",
        "@v = addrspace(3) global i32 poison, align 4
         declare i32 @timeless() memory(none) nounwind willreturn speculatable
         define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(4) %q, i32 %a, i1 %d) {
         entry:
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %latch ]
           %sure = load i32, ptr addrspace(4) %q, align 4, !noundef !0, !range !1
           br i1 %d, label %then, label %latch
         then:
           %1 = load i32, ptr addrspace(3) @v, align 4, !noundef !0, !invariant.load !0, !range !1
           %2 = call noundef range(i32 0, 9) i32 @timeless()
           %3 = add i32 %1, %2
           %4 = add i32 %3, %sure
           store i32 %4, ptr addrspace(1) %p, align 4
           br label %latch
         latch:
           %j = add i32 %i, 1
           %c = icmp ult i32 %j, %a
           br i1 %c, label %loop, label %exit
         exit:
           ret void
         }
         !0 = !{}
         !1 = !{i32 0, i32 9}",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(4) %q, i32 %a, i1 %d) {
            entry:
              %sure = load i32, ptr addrspace(4) %q, align 4, !range !0, !noundef !1
              %0 = load i32, ptr addrspace(3) @v, align 4, !range !0
              %1 = call range(i32 0, 9) i32 @timeless()
              %2 = add i32 %0, %1
              %3 = add i32 %2, %sure
              br label %loop

            loop:                                             ; preds = %latch, %entry
              %i = phi i32 [ 0, %entry ], [ %j, %latch ]
              br i1 %d, label %then, label %latch

            then:                                             ; preds = %loop
              store i32 %3, ptr addrspace(1) %p, align 4
              br label %latch

            latch:                                            ; preds = %then, %loop
              %j = add i32 %i, 1
              %c = icmp ult i32 %j, %a
              br i1 %c, label %loop, label %exit

            exit:                                             ; preds = %latch
              ret void
            }
        "#]],
    );
}

/// A weak variable without a definition has the address null.
#[test]
fn a_variable_that_may_not_be_there() {
    let with = |linkage: &str| {
        format!(
            "@w = {linkage} addrspace(1) global i32, align 4
             define void @f(ptr addrspace(1) %p, i32 %a, i1 %d) {{
             entry:
               br label %loop
             loop:
               %i = phi i32 [ 0, %entry ], [ %j, %latch ]
               br i1 %d, label %then, label %latch
             then:
               %1 = load i32, ptr addrspace(1) @w, align 4
               call i32 @reads(i32 %1)
               br label %latch
             latch:
               %j = add i32 %i, 1
               %c = icmp ult i32 %j, %a
               br i1 %c, label %loop, label %exit
             exit:
               ret void
             }}"
        )
    };
    check_unchanged("licm", &with("extern_weak"));
    let (mut db, module) = crate::load(&with("external"));
    crate::run(&mut db, module, "licm");
    let text = crate::print(&db, module);
    assert!(text.find("load").unwrap() < text.find("then:").unwrap(), "{text}");
}

/// All variables of workgroup memory without a size begin at one place.
#[test]
fn a_store_to_a_variable_without_a_size() {
    let text = |insts: &str| {
        format!(
            "@one = external addrspace(3) global [0 x i8], align 4
             @other = external addrspace(3) global [0 x i32], align 4
             {}",
            in_loop(insts)
        )
    };
    let insts = "%1 = load i32, ptr addrspace(3) @one, align 4
         store i32 %i, ptr addrspace(3) @other, align 4
         store i32 %1, ptr addrspace(1) %p, align 4";
    check_unchanged("licm", &text(insts));
}

/// No other pointer refers to the slot, so the store through an unknown pointer does not write it.
#[test]
fn a_load_of_a_slot_in_a_loop_that_writes_elsewhere() {
    let text = |store: &str| {
        format!(
            "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %a) {{
             entry:
               %slot = alloca i32, align 4, addrspace(5)
               %at = addrspacecast ptr addrspace(5) %slot to ptr
               store i32 %a, ptr %at, align 4
               %to = load ptr, ptr addrspace(1) %p, align 8
               br label %loop
             loop:
               %i = phi i32 [ 0, %entry ], [ %j, %loop ]
               %n = load i32, ptr %at, align 4
               {store}
               %j = add i32 %i, 1
               %c = icmp ult i32 %j, %n
               br i1 %c, label %loop, label %exit
             exit:
               ret void
             }}"
        )
    };
    let (mut db, module) = crate::load(&text("store i32 %i, ptr %to, align 4"));
    crate::run(&mut db, module, "licm");
    let found = crate::print(&db, module);
    assert!(found.find("%n = load").unwrap() < found.find("loop:").unwrap(), "{found}");
    check_unchanged("licm", &text("store i32 %i, ptr %at, align 4"));
}

/// What follows a call is executed in every round only if the call comes back.
#[test]
fn a_load_behind_a_call() {
    let text = |promises: &str| {
        let call = "%1 = call i32 @g(i32 %i)
             %2 = load i32, ptr addrspace(4) %q, align 4
             store i32 %2, ptr addrspace(1) %p, align 4";
        format!("declare i32 @g(i32) memory(none) {promises}\n{}", in_loop(call))
    };
    check_unchanged("licm", &text("nounwind"));
    check_unchanged("licm", &text("willreturn"));
    let (mut db, module) = crate::load(&text("nounwind willreturn"));
    crate::run(&mut db, module, "licm");
    let found = crate::print(&db, module);
    assert!(found.find("= load").unwrap() < found.find("loop:").unwrap(), "{found}");
}

#[test]
fn calls_that_are_executed_where_the_loop_is_not() {
    let moves = |promises: &str, call: &str| {
        let call = format!("%1 = call i32 {call}\n store i32 %1, ptr addrspace(1) %p, align 4");
        let (mut db, module) = crate::load(&format!(
            "declare i32 @g() nounwind willreturn {promises}\n{}",
            in_loop(&call)
        ));
        crate::run(&mut db, module, "licm");
        let text = crate::print(&db, module);
        // The first call is that for the thread's index.
        text.rfind("= call i32 @") < text.find("loop:")
    };
    assert!(moves("memory(none) speculatable", "@g()"));
    assert!(!moves("memory(none)", "@g()"));
    // The loop may write what it reads.
    assert!(!moves("memory(read) speculatable", "@g()"));
    assert!(moves("", "@llvm.umin.i32(i32 %a, i32 %x)"));
}

/// If the loop is not entered, the load is not executed.
#[test]
fn a_load_of_a_loop_that_may_not_be_entered() {
    let (mut db, module) = crate::load(
        "define void @f(ptr addrspace(1) %p, ptr addrspace(4) %q, i1 %c, i1 %d) {
         entry:
           br i1 %c, label %loop, label %exit
         loop:
           %1 = load i32, ptr addrspace(4) %q, align 4
           store i32 %1, ptr addrspace(1) %p, align 4
           br i1 %d, label %loop, label %exit
         exit:
           ret void
         }",
    );
    crate::run(&mut db, module, "licm");
    let text = crate::print(&db, module);
    let at = |what: &str| text.find(what).unwrap();
    assert!(at("loop.preheader:") < at("= load") && at("= load") < at("\nloop:"), "{text}");
}

/// A thread that enters by the second entry has not executed the first.
#[test]
fn a_cycle_of_two_entries() {
    check_unchanged(
        "licm",
        "define void @f(ptr addrspace(1) %p, i32 %a, i1 %c, i1 %d) {
         entry:
           br i1 %c, label %one, label %other
         one:
           %0 = mul i32 %a, %a
           store i32 %0, ptr addrspace(1) %p, align 4
           br label %other
         other:
           br i1 %d, label %one, label %exit
         exit:
           ret void
         }",
    );
}

/// The edge cannot be made to lead to another block.
#[test]
fn a_loop_that_is_entered_by_an_address() {
    check_unchanged(
        "licm",
        "define void @f(ptr addrspace(1) %p, ptr %to, i32 %a, i1 %d) {
         entry:
           indirectbr ptr %to, [label %loop, label %exit]
         loop:
           %0 = mul i32 %a, %a
           store i32 %0, ptr addrspace(1) %p, align 4
           br i1 %d, label %loop, label %exit
         exit:
           ret void
         }",
    );
}

/// Whether a load leaves a loop that may not execute it.
fn leaves_without_being_certain(variable: &str, load: &str) -> bool {
    let (mut db, module) = crate::load(&format!(
        "@v = addrspace(3) global {variable}
         define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %a, i1 %d) {{
         entry:
           %slot = alloca {variable_of_slot}, addrspace(5)
           br label %loop
         loop:
           %i = phi i32 [ 0, %entry ], [ %j, %latch ]
           br i1 %d, label %then, label %latch
         then:
           %1 = load {load}
           store volatile i32 %i, ptr addrspace(1) %p, align 4
           br label %latch
         latch:
           %j = add i32 %i, 1
           %c = icmp ult i32 %j, %a
           br i1 %c, label %loop, label %exit
         exit:
           ret void
         }}",
        variable_of_slot = variable.replace(" poison", "")
    ));
    crate::run(&mut db, module, "licm");
    let text = crate::print(&db, module);
    text.find(&format!("load {}", &load[..3])).unwrap() < text.find("loop:").unwrap()
}

#[test]
fn what_can_be_read_anywhere() {
    for at in ["ptr addrspace(3) @v", "ptr addrspace(5) %slot"] {
        let leaves = |variable: &str, ty: &str, align: u32| {
            leaves_without_being_certain(variable, &format!("{ty}, {at}, align {align}"))
        };
        assert!(leaves("i32 poison, align 4", "i32", 4), "{at}");
        // It reads more bytes than there are, or with a greater alignment.
        assert!(!leaves("i32 poison, align 8", "i64", 4), "{at}");
        assert!(!leaves("i32 poison, align 4", "i32", 8), "{at}");
    }
    assert!(!leaves_without_being_certain("i32 poison", "i32, ptr addrspace(1) %q, align 4"));
}
