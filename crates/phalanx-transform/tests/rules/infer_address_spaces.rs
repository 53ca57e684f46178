//! `infer-address-spaces`

use expect_test::{Expect, expect};
use phalanx_db::{Database, ModuleInput};

/// The accesses, casts and calls of the functions after the pass.
fn check(functions: &str, expected: &Expect) {
    check_loaded(crate::load(functions), expected);
}

fn check_loaded((mut db, module): (Database, ModuleInput), expected: &Expect) {
    crate::run(&mut db, module, "infer-address-spaces");
    let text = crate::print(&db, module);
    let is_shown = |line: &&str| {
        ["load", "store", "call", "cast", "phi", "define", "icmp", "ret i1"]
            .iter()
            .any(|word| line.contains(word))
    };
    let shown: Vec<&str> = text.lines().filter(is_shown).collect();
    expected.assert_eq(&(shown.join("\n") + "\n"));
}

#[test]
fn an_argument_of_a_function_that_the_module_alone_calls() {
    check(
        "define internal i32 @leads(ptr %p) {
           %v = load i32, ptr %p
           ret i32 %v
         }
         define amdgpu_kernel void @k(ptr addrspace(3) %l, ptr addrspace(3) %m) {
           %a = addrspacecast ptr addrspace(3) %l to ptr
           %b = addrspacecast ptr addrspace(3) %m to ptr
           %x = call i32 @leads(ptr %a)
           %y = call i32 @leads(ptr %b)
           ret void
         }",
        &expect![[r#"
            define internal i32 @leads(ptr %p) {
              %1 = addrspacecast ptr %p to ptr addrspace(3)
              %v = load i32, ptr addrspace(3) %1, align 4
            define amdgpu_kernel void @k(ptr addrspace(3) %l, ptr addrspace(3) %m) {
              %a = addrspacecast ptr addrspace(3) %l to ptr
              %b = addrspacecast ptr addrspace(3) %m to ptr
              %x = call i32 @leads(ptr %a)
              %y = call i32 @leads(ptr %b)
        "#]],
    );
}

#[test]
fn a_pointer_that_was_stored_and_one_from_a_table() {
    check(
        "@dev = addrspace(1) global i32 0
         @table = addrspace(4) constant [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @dev to ptr), ptr null]
         define void @f(ptr addrspace(3) %l, i32 %i) {
           %slot = alloca ptr, addrspace(5)
           %a = addrspacecast ptr addrspace(3) %l to ptr
           store ptr %a, ptr addrspace(5) %slot
           %b = load ptr, ptr addrspace(5) %slot
           store i32 1, ptr %b
           %t = getelementptr [2 x ptr], ptr addrspace(4) @table, i32 0, i32 %i
           %c = load ptr, ptr addrspace(4) %t
           store i32 2, ptr %c
           ret void
         }",
        &expect![[r#"
            define void @f(ptr addrspace(3) %l, i32 %i) {
              %a = addrspacecast ptr addrspace(3) %l to ptr
              store ptr %a, ptr addrspace(5) %slot, align 8
              %b = load ptr, ptr addrspace(5) %slot, align 8
              %1 = addrspacecast ptr %b to ptr addrspace(3)
              store i32 1, ptr addrspace(3) %1, align 4
              %c = load ptr, ptr addrspace(4) %t, align 8
              %2 = addrspacecast ptr %c to ptr addrspace(1)
              store i32 2, ptr addrspace(1) %2, align 4
        "#]],
    );
}

#[test]
fn a_test_of_the_address() {
    check(
        "declare i1 @llvm.amdgcn.is.shared(ptr)
         define void @f(ptr %p) {
         entry:
           %s = call i1 @llvm.amdgcn.is.shared(ptr %p)
           br i1 %s, label %yes, label %no
         yes:
           store i32 1, ptr %p
           %again = call i1 @llvm.amdgcn.is.shared(ptr %p)
           br i1 %again, label %end, label %no
         no:
           store i32 2, ptr %p
           br label %end
         end:
           ret void
         }",
        &expect![[r#"
            define void @f(ptr %p) {
              %s = call i1 @llvm.amdgcn.is.shared(ptr %p)
              %0 = addrspacecast ptr %p to ptr addrspace(3)
              store i32 1, ptr addrspace(3) %0, align 4
              store i32 2, ptr %p, align 4
        "#]],
    );
}

/// The window of kernel parameters is inside that of device memory, and processors without such a
/// window may answer anything. So the test is not folded.
#[test]
fn a_test_for_device_memory_says_nothing_of_parameters() {
    check_loaded(
        crate::load_for(
            "nvptx64-nvidia-cuda",
            "declare i1 @llvm.nvvm.isspacep.global(ptr)
         define i1 @parameter(ptr addrspace(101) %a) {
           %p = addrspacecast ptr addrspace(101) %a to ptr
           %t = call i1 @llvm.nvvm.isspacep.global(ptr %p)
           ret i1 %t
         }
         define i32 @any(ptr %p) {
           %t = call i1 @llvm.nvvm.isspacep.global(ptr %p)
           br i1 %t, label %yes, label %no
         yes:
           %v = load i32, ptr %p
           ret i32 %v
         no:
           ret i32 0
         }",
        ),
        &expect![[r#"
            define i1 @parameter(ptr addrspace(101) %a) {
              %p = addrspacecast ptr addrspace(101) %a to ptr
              %t = call i1 @llvm.nvvm.isspacep.global(ptr %p)
              ret i1 %t
            define i32 @any(ptr %p) {
              %t = call i1 @llvm.nvvm.isspacep.global(ptr %p)
              %1 = addrspacecast ptr %p to ptr addrspace(1)
              %v = load i32, ptr addrspace(1) %1, align 4
        "#]],
    );
}

/// The cast of a pointer that may be null, to the workgroup's memory and back, need not be null.
#[test]
fn a_comparison_with_null_stays_where_null_is_another_number() {
    check(
        "define i1 @f(ptr addrspace(3) %l, ptr addrspace(1) %g) {
           %a = addrspacecast ptr addrspace(3) %l to ptr
           %b = addrspacecast ptr addrspace(1) %g to ptr
           %x = icmp eq ptr %a, null
           %y = icmp eq ptr %b, null
           %z = and i1 %x, %y
           ret i1 %z
         }",
        &expect![[r#"
            define i1 @f(ptr addrspace(3) %l, ptr addrspace(1) %g) {
              %a = addrspacecast ptr addrspace(3) %l to ptr
              %x = icmp eq ptr %a, null
              %y = icmp eq ptr addrspace(1) %g, addrspacecast (ptr null to ptr addrspace(1))
              ret i1 %z
        "#]],
    );
}

#[test]
fn a_chain_that_others_read_as_well() {
    check(
        "declare void @take(ptr)
         define amdgpu_kernel void @k(ptr %p, i32 %n) {
         entry:
           br label %loop
         loop:
           %q = phi ptr [ %p, %entry ], [ %next, %loop ]
           %i = phi i32 [ 0, %entry ], [ %j, %loop ]
           store i32 %i, ptr %q
           call void @take(ptr %q)
           %next = getelementptr inbounds i32, ptr %q, i64 1
           %j = add i32 %i, 1
           %c = icmp eq i32 %j, %n
           br i1 %c, label %end, label %loop
         end:
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @k(ptr %p, i32 %n) {
              %0 = addrspacecast ptr %p to ptr addrspace(1)
              %i = phi i32 [ 0, %entry ], [ %j, %loop ]
              %q = phi ptr addrspace(1) [ %0, %entry ], [ %next, %loop ]
              %1 = addrspacecast ptr addrspace(1) %q to ptr
              store i32 %i, ptr addrspace(1) %q, align 4
              call void @take(ptr %1)
              %c = icmp eq i32 %j, %n
        "#]],
    );
}

/// No cast fits between the invoke and the phi.
#[test]
fn a_phi_of_what_an_invoke_gives() {
    check(
        "declare i32 @__gxx_personality_v0(...)
         declare ptr @h(ptr returned)
         define i32 @f(ptr addrspace(1) %a, ptr addrspace(1) %b, i1 %c) personality ptr @__gxx_personality_v0 {
         entry:
           %ga = addrspacecast ptr addrspace(1) %a to ptr
           %gb = addrspacecast ptr addrspace(1) %b to ptr
           br i1 %c, label %one, label %two
         one:
           %p = invoke ptr @h(ptr returned %ga) to label %join unwind label %lp
         two:
           br label %join
         join:
           %q = phi ptr [ %p, %one ], [ %gb, %two ]
           %n = phi i32 [ 1, %one ], [ 2, %two ]
           %at = getelementptr i32, ptr %q, i32 %n
           %v = load i32, ptr %at
           ret i32 %v
         lp:
           %l = landingpad { ptr, i32 } cleanup
           ret i32 0
         }",
        &expect![[r#"
            define i32 @f(ptr addrspace(1) %a, ptr addrspace(1) %b, i1 %c) personality ptr @__gxx_personality_v0 {
              %ga = addrspacecast ptr addrspace(1) %a to ptr
              %gb = addrspacecast ptr addrspace(1) %b to ptr
              %q = phi ptr [ %p, %one ], [ %gb, %two ]
              %n = phi i32 [ 1, %one ], [ 2, %two ]
              %0 = addrspacecast ptr %q to ptr addrspace(1)
              %v = load i32, ptr addrspace(1) %at, align 4
        "#]],
    );
}

/// In their names the type of what is loaded or stored stands before that of the address.
#[test]
fn masked_accesses_of_pointers() {
    check(
        "declare <4 x ptr> @llvm.masked.load.v4p0.p0(ptr, <4 x i1>, <4 x ptr>)
         declare void @llvm.masked.store.v4p0.p0(<4 x ptr>, ptr, <4 x i1>)
         declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
         declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
         define void @f(ptr addrspace(1) %a, ptr addrspace(3) %b, <4 x i1> %m) {
           %ga = addrspacecast ptr addrspace(1) %a to ptr
           %gb = addrspacecast ptr addrspace(3) %b to ptr
           %v = call <4 x ptr> @llvm.masked.load.v4p0.p0(ptr align 8 %ga, <4 x i1> %m, <4 x ptr> poison)
           call void @llvm.masked.store.v4p0.p0(<4 x ptr> %v, ptr align 8 %gb, <4 x i1> %m)
           %w = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 8 %ga, <4 x i1> %m, <4 x float> poison)
           call void @llvm.memcpy.p0.p0.i64(ptr %gb, ptr %ga, i64 8, i1 false)
           ret void
         }",
        &expect![[r#"
            define void @f(ptr addrspace(1) %a, ptr addrspace(3) %b, <4 x i1> %m) {
              %v = call <4 x ptr> @llvm.masked.load.v4p0.p1(ptr addrspace(1) align 8 %a, <4 x i1> %m, <4 x ptr> poison)
              call void @llvm.masked.store.v4p0.p3(<4 x ptr> %v, ptr addrspace(3) align 8 %b, <4 x i1> %m)
              %w = call <4 x float> @llvm.masked.load.v4f32.p1(ptr addrspace(1) align 8 %a, <4 x i1> %m, <4 x float> poison)
              call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %b, ptr addrspace(1) %a, i64 8, i1 false)
        "#]],
    );
}

/// The first byte of local memory has address 0 there, while its generic address is not null.
#[test]
fn an_address_that_is_not_null_may_be_0_in_its_space() {
    check(
        "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
         declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
         define void @f(ptr addrspace(1) %a, ptr addrspace(3) %b) {
           %ga = addrspacecast ptr addrspace(1) %a to ptr
           %gb = addrspacecast ptr addrspace(3) %b to ptr
           %m = call nonnull ptr @llvm.ptrmask.p0.i64(ptr nonnull align 4 %gb, i64 -16)
           store i32 1, ptr %m, align 4
           call void @llvm.memcpy.p0.p0.i64(ptr dereferenceable_or_null(8) %gb, ptr nonnull %ga, i64 8, i1 false)
           ret void
         }",
        &expect![[r#"
            define void @f(ptr addrspace(1) %a, ptr addrspace(3) %b) {
              %1 = call ptr addrspace(3) @llvm.ptrmask.p3.i64(ptr addrspace(3) align 4 %b, i64 -16)
              store i32 1, ptr addrspace(3) %1, align 4
              call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %b, ptr addrspace(1) nonnull %a, i64 8, i1 false)
        "#]],
    );
}

/// On AMDGPU volatile generic accesses use other instructions, so they stay.
#[test]
fn accesses_that_stay_generic() {
    let text = |insts: &str| {
        format!(
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
             define void @f(ptr addrspace(3) %l, ptr %q) {{
               %a = addrspacecast ptr addrspace(3) %l to ptr
               {insts}
               ret void
             }}"
        )
    };
    for insts in [
        "%v = load volatile i32, ptr %a, align 4",
        "store volatile i32 1, ptr %a, align 4",
        "%v = atomicrmw volatile add ptr %a, i32 1 monotonic, align 4",
        "call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 4, i1 true)",
        // The other side may point anywhere.
        "%c = icmp eq ptr %a, %q",
        "%c = icmp eq ptr %q, %a",
    ] {
        crate::check_unchanged("infer-address-spaces", &text(insts));
        let plain = insts.replace("volatile ", "").replace("i1 true", "i1 false");
        if plain != insts {
            let (mut db, module) = crate::load(&text(&plain));
            crate::run(&mut db, module, "infer-address-spaces");
            let found = crate::print(&db, module);
            assert!(found.contains("ptr addrspace(3) %l,"), "{found}");
        }
    }
}

/// The space of the address is known only behind the test.
#[test]
fn an_address_made_from_one_that_is_tested() {
    check(
        "declare i1 @llvm.amdgcn.is.shared(ptr)
         define void @f(ptr %p) {
         entry:
           %q = getelementptr i32, ptr %p, i64 1
           %s = call i1 @llvm.amdgcn.is.shared(ptr %q)
           br i1 %s, label %yes, label %no
         yes:
           store i32 1, ptr %q
           br label %no
         no:
           store i32 2, ptr %q
           ret void
         }",
        &expect![[r#"
            define void @f(ptr %p) {
              %s = call i1 @llvm.amdgcn.is.shared(ptr %q)
              %0 = addrspacecast ptr %q to ptr addrspace(3)
              store i32 1, ptr addrspace(3) %0, align 4
              store i32 2, ptr %q, align 4
        "#]],
    );
}
