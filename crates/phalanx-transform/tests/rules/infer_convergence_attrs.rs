//! `infer-convergence-attrs`

use expect_test::{Expect, expect};
use phalanx_llvm::ModulePrinter;
use phalanx_testing::llvm_tools;

/// Headers of the functions, with their attributes, and what calls say, after the pass. LLVM's
/// verifier accepts the module.
fn check(functions: &str, expected: &Expect) {
    let (mut db, module) = crate::load(functions);
    crate::run(&mut db, module, "infer-convergence-attrs");
    let views = module.functions(&db).iter().map(|entry| entry.input.view(&db)).collect();
    let mut text = Vec::new();
    ModulePrinter::with_functions(module.shell(&db), views).module(&mut text);
    if let Some(opt) = llvm_tools::require("opt") {
        let outcome = opt.run(["-passes=verify", "-disable-output", "-"], &text).unwrap();
        assert!(outcome.success(), "{}", outcome.summary());
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_shown = |line: &&str| {
        line.starts_with("define") || line.contains("call") || line.starts_with("attributes")
    };
    let mut shown: Vec<&str> = text.lines().filter(is_shown).collect();
    // Attribute groups of declarations do not matter here.
    shown.retain(|line| !line.starts_with("attributes") || line.contains("mark"));
    expected.assert_eq(&(shown.join("\n") + "\n"));
}

#[test]
fn what_does_not_communicate_is_not_convergent() {
    check(
        r#"define internal i32 @adds(i32 %a) convergent "mark" {
             %s = add i32 %a, 1
             ret i32 %s
           }
           define internal i32 @votes(i1 %a) convergent "mark" {
             %b = call i64 @llvm.amdgcn.ballot.i64(i1 %a)
             %s = trunc i64 %b to i32
             ret i32 %s
           }
           define i32 @calls_both(i32 %a, i1 %c) convergent "mark" {
             %x = call i32 @adds(i32 %a) convergent
             %y = call i32 @votes(i1 %c) convergent
             %s = add i32 %x, %y
             ret i32 %s
           }"#,
        &expect![[r#"
            define internal i32 @adds(i32 %a) #3 {
            define internal i32 @votes(i1 %a) #4 {
              %b = call i64 @llvm.amdgcn.ballot.i64(i1 %a)
            define i32 @calls_both(i32 %a, i1 %c) #4 {
              %x = call i32 @adds(i32 %a)
              %y = call i32 @votes(i1 %c) #5
            attributes #3 = { nodivergencesource memory(none) "mark" }
            attributes #4 = { convergent nodivergencesource memory(none) "mark" }
        "#]],
    );
}

#[test]
fn memory() {
    check(
        r#"@v = addrspace(3) global i32 0
           define void @own_frame() "mark" {
             %p = alloca i32, addrspace(5)
             store i32 1, ptr addrspace(5) %p
             ret void
           }
           define i32 @reads_argument(ptr addrspace(1) %p) "mark" {
             %q = getelementptr i32, ptr addrspace(1) %p, i32 4
             %x = load i32, ptr addrspace(1) %q
             ret i32 %x
           }
           define void @writes_variable() "mark" {
             store i32 1, ptr addrspace(3) @v
             ret void
           }
           define i32 @reads_what_its_argument_points_to(ptr addrspace(1) %p) "mark" {
             %x = call i32 @reads_argument(ptr addrspace(1) %p)
             ret i32 %x
           }
           define void @waits(ptr addrspace(1) %p) "mark" {
             call void @llvm.amdgcn.s.barrier()
             ret void
           }
           define i32 @volatile(ptr addrspace(1) %p) "mark" {
             %x = load volatile i32, ptr addrspace(1) %p
             ret i32 %x
           }"#,
        &expect![[r#"
            define void @own_frame() #3 {
            define i32 @reads_argument(ptr addrspace(1) %p) #4 {
            define void @writes_variable() #5 {
            define i32 @reads_what_its_argument_points_to(ptr addrspace(1) %p) #4 {
              %x = call i32 @reads_argument(ptr addrspace(1) %p)
            define void @waits(ptr addrspace(1) %p) #6 {
              call void @llvm.amdgcn.s.barrier()
            define i32 @volatile(ptr addrspace(1) %p) #7 {
            attributes #3 = { memory(none) "mark" }
            attributes #4 = { nodivergencesource memory(argmem: read) "mark" }
            attributes #5 = { memory(write, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) "mark" }
            attributes #6 = { "mark" }
            attributes #7 = { nodivergencesource "mark" }
        "#]],
    );
}

#[test]
fn sources() {
    check(
        r#"define i32 @thread(i32 %a) "mark" {
             %x = call i32 @llvm.amdgcn.workitem.id.x()
             ret i32 %x
           }
           define i32 @doubled(i32 %a) "mark" {
             %x = add i32 %a, %a
             ret i32 %x
           }
           define i32 @one_for_the_wave(i32 %a) "mark" {
             %x = call i32 @llvm.amdgcn.workitem.id.x()
             %y = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)
             %z = add i32 %y, %a
             ret i32 %z
           }
           define weak i32 @another(i32 %a) "mark" {
             ret i32 %a
           }"#,
        &expect![[r#"
            define i32 @thread(i32 %a) #3 {
              %x = call i32 @llvm.amdgcn.workitem.id.x()
            define i32 @doubled(i32 %a) #4 {
            define i32 @one_for_the_wave(i32 %a) #4 {
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %y = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)
            define weak i32 @another(i32 %a) #5 {
            attributes #3 = { memory(none) "mark" }
            attributes #4 = { nodivergencesource memory(none) "mark" }
            attributes #5 = { "mark" }
        "#]],
    );
}

#[test]
fn recursion_with_a_barrier_somewhere() {
    check(
        r#"define internal void @ping(i32 %n) convergent "mark" {
             %c = icmp eq i32 %n, 0
             br i1 %c, label %out, label %on
           on:
             %m = sub i32 %n, 1
             call void @pong(i32 %m) convergent
             br label %out
           out:
             ret void
           }
           define internal void @pong(i32 %n) convergent "mark" {
             call void @llvm.amdgcn.s.barrier()
             call void @ping(i32 %n) convergent
             ret void
           }
           define void @round(i32 %n) convergent "mark" {
             %c = icmp eq i32 %n, 0
             br i1 %c, label %out, label %on
           on:
             %m = sub i32 %n, 1
             call void @round(i32 %m) convergent
             br label %out
           out:
             ret void
           }"#,
        &expect![[r#"
            define internal void @ping(i32 %n) #3 {
              call void @pong(i32 %m) #5
            define internal void @pong(i32 %n) #3 {
              call void @llvm.amdgcn.s.barrier()
              call void @ping(i32 %n) #5
            define void @round(i32 %n) #4 {
              call void @round(i32 %m)
            attributes #3 = { convergent "mark" }
            attributes #4 = { memory(none) "mark" }
        "#]],
    );
}

/// The mark on a call of something unknown is all that is known.
#[test]
fn calls_of_what_is_not_known() {
    check(
        r#"define void @plain() convergent "mark" {
             call void @unknown()
             ret void
           }
           define void @marked() convergent "mark" {
             call void @unknown() convergent
             ret void
           }"#,
        &expect![[r#"
            define void @plain() #3 {
              call void @unknown()
            define void @marked() #4 {
              call void @unknown() #5
            attributes #3 = { "mark" }
            attributes #4 = { convergent "mark" }
        "#]],
    );
}

/// An atomic access counts as a read and a write, so that two of them are never merged: other
/// threads may write in between. An unordered access has no fixed time either.
#[test]
fn relaxed_accesses_read_and_write() {
    check(
        r#"@v = addrspace(1) global i32 0
           define i32 @loads(ptr addrspace(1) %p) "mark" {
             %x = load atomic i32, ptr addrspace(1) %p monotonic, align 4
             ret i32 %x
           }
           define void @stores() "mark" {
             store atomic i32 1, ptr addrspace(1) @v monotonic, align 4
             ret void
           }
           define i32 @unordered(ptr addrspace(1) %p) "mark" {
             %x = load atomic i32, ptr addrspace(1) %p unordered, align 4
             ret i32 %x
           }"#,
        &expect![[r#"
            define i32 @loads(ptr addrspace(1) %p) #3 {
            define void @stores() #4 {
            define i32 @unordered(ptr addrspace(1) %p) #5 {
            attributes #3 = { nodivergencesource memory(argmem: readwrite) "mark" }
            attributes #4 = { memory(readwrite, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) "mark" }
            attributes #5 = { nodivergencesource memory(argmem: read) "mark" }
        "#]],
    );
}

/// Even if no other thread can see the memory.
#[test]
fn a_volatile_copy_is_seen() {
    check(
        r#"declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
           define void @fills() "mark" {
             %a = alloca i64, addrspace(5)
             call void @llvm.memset.p5.i64(ptr addrspace(5) %a, i8 0, i64 8, i1 false)
             ret void
           }
           define void @fills_as_it_is_told() "mark" {
             %a = alloca i64, addrspace(5)
             call void @llvm.memset.p5.i64(ptr addrspace(5) %a, i8 0, i64 8, i1 true)
             ret void
           }"#,
        &expect![[r#"
            define void @fills() #3 {
              call void @llvm.memset.p5.i64(ptr addrspace(5) %a, i8 0, i64 8, i1 false)
            define void @fills_as_it_is_told() #4 {
              call void @llvm.memset.p5.i64(ptr addrspace(5) %a, i8 0, i64 8, i1 true)
            attributes #3 = { memory(none) "mark" }
            attributes #4 = { "mark" }
        "#]],
    );
}

/// Constant memory is not written while a kernel runs.
#[test]
fn a_read_of_constant_memory_is_no_effect() {
    let function = |space: u32| {
        format!(
            "define i32 @f(ptr addrspace({space}) %p) nounwind {{
               %v = load i32, ptr addrspace({space}) %p, align 4
               ret i32 %v
             }}"
        )
    };
    let inferred = |space: u32| {
        let (mut db, module) = crate::load(&function(space));
        crate::run(&mut db, module, "infer-convergence-attrs");
        let code = module.functions(&db).iter().find(|entry| entry.is_definition).unwrap();
        let context = module.context(&db);
        context.function_attrs(code.input.header(&db).attributes).memory().unwrap()
    };
    assert!(inferred(4).is_none());
    assert!(!inferred(1).is_none());
}

/// The attributes of the callee do not apply to a call with a bundle, or with another function
/// type.
#[test]
fn calls_that_keep_their_mark() {
    check(
        r#"define internal i32 @adds(i32 %a) "mark" {
             %s = add i32 %a, 1
             ret i32 %s
           }
           define i32 @calls(i32 %a) "mark" {
             %1 = call i32 @adds(i32 %a) convergent [ "deopt"(i32 0) ]
             %2 = call i64 @adds(i64 0) convergent
             %3 = call i32 @adds(i32 %a) convergent
             ret i32 %3
           }"#,
        &expect![[r#"
            define internal i32 @adds(i32 %a) #3 {
            define i32 @calls(i32 %a) #4 {
              %1 = call i32 @adds(i32 %a) #5 [ "deopt"(i32 0) ]
              %2 = call i64 @adds(i64 0) #5
              %3 = call i32 @adds(i32 %a)
            attributes #3 = { nodivergencesource memory(none) "mark" }
            attributes #4 = { nodivergencesource "mark" }
        "#]],
    );
}

/// The pass changes no attributes of `naked` and `optnone` functions.
#[test]
fn functions_that_stay_as_they_are() {
    check(
        r#"define void @open() convergent "mark" {
             ret void
           }
           define void @left() convergent optnone noinline "mark" {
             ret void
           }
           define void @naked() convergent naked "mark" {
             unreachable
           }
           define weak void @replaceable() convergent "mark" {
             ret void
           }"#,
        &expect![[r#"
            define void @open() #3 {
            define void @left() #4 {
            define void @naked() #5 {
            define weak void @replaceable() #6 {
            attributes #3 = { memory(none) "mark" }
            attributes #4 = { convergent noinline optnone "mark" }
            attributes #5 = { convergent naked "mark" }
            attributes #6 = { convergent "mark" }
        "#]],
    );
}
