//! `linearize`

use expect_test::expect;

use crate::{check, check_unchanged, load, print, run};

/// A kernel whose first block has a divergent condition `%d` and a uniform one `%u`.
fn kernel(body: &str) -> String {
    format!(
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(5) %q, i32 %a) {{
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %d = icmp ult i32 %x, 7
           %u = icmp ult i32 %a, 7
           %at = getelementptr i32, ptr addrspace(1) %p, i32 %x
           {body}
         }}"
    )
}

#[test]
fn two_sides() {
    check(
        "linearize",
        &kernel(
            "br i1 %d, label %one, label %other
         one:
           %s = add i32 %x, 3
           br label %join
         other:
           %t = udiv i32 %a, %x
           br label %join
         join:
           %v = phi i32 [ %s, %one ], [ %t, %other ]
           store i32 %v, ptr addrspace(1) %at, align 4
           ret void",
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(5) %q, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %u = icmp ult i32 %a, 7
              %at = getelementptr i32, ptr addrspace(1) %p, i32 %x
              %0 = xor i1 %d, true
              br label %other

            one:                                              ; preds = %other
              %s = add i32 %x, 3
              %v.sel = select i1 %d, i32 %s, i32 %t
              br label %join

            other:                                            ; preds = %entry
              %divisor = select i1 %0, i32 %x, i32 1
              %t = udiv i32 %a, %divisor
              br label %one

            join:                                             ; preds = %one
              %v = phi i32 [ %v.sel, %one ]
              store i32 %v, ptr addrspace(1) %at, align 4
              ret void
            }
        "#]],
    );
}

#[test]
fn a_uniform_branch_inside_stays() {
    check(
        "linearize",
        &kernel(
            "br i1 %d, label %one, label %other
         one:
           br i1 %u, label %low, label %high
         low:
           store i32 1, ptr addrspace(5) %q, align 4
           br label %both
         high:
           br label %both
         both:
           %b = phi i32 [ %x, %low ], [ %a, %high ]
           br label %join
         other:
           br label %join
         join:
           %v = phi i32 [ %b, %both ], [ 0, %other ]
           store i32 %v, ptr addrspace(1) %at, align 4
           ret void",
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(5) %q, i32 %a) {
            entry:
              %nowhere = alloca i32, align 4, addrspace(5)
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %u = icmp ult i32 %a, 7
              %at = getelementptr i32, ptr addrspace(1) %p, i32 %x
              br label %other

            one:                                              ; preds = %other
              %0 = freeze i1 %u
              br i1 %0, label %low, label %high

            low:                                              ; preds = %one
              %guarded = select i1 %d, ptr addrspace(5) %q, ptr addrspace(5) %nowhere
              store i32 1, ptr addrspace(5) %guarded, align 4
              br label %both

            high:                                             ; preds = %one
              br label %both

            both:                                             ; preds = %high, %low
              %b = phi i32 [ %a, %high ], [ %x, %low ]
              %v.sel = select i1 %d, i32 %b, i32 0
              br label %join

            other:                                            ; preds = %entry
              br label %one

            join:                                             ; preds = %both
              %v = phi i32 [ %v.sel, %both ]
              store i32 %v, ptr addrspace(1) %at, align 4
              ret void
            }
        "#]],
    );
}

#[test]
fn early_return_and_accesses() {
    check(
        "linearize",
        kernel(
            "br i1 %d, label %work, label %out
         out:
           ret void
         work:
           %v = load i32, ptr addrspace(1) %at, align 4, !range !0
           %w = add i32 %v, 1
           store i32 %w, ptr addrspace(1) %at, align 4
           ret void",
        )
        .replace("}", "}\n!0 = !{i32 0, i32 9}")
        .as_str(),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(5) %q, i32 %a) {
            entry:
              %nowhere = alloca i32, align 4, addrspace(5)
              %nowhere1 = addrspacecast ptr addrspace(5) %nowhere to ptr
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %u = icmp ult i32 %a, 7
              %at = getelementptr i32, ptr addrspace(1) %p, i32 %x
              br label %out

            out:                                              ; preds = %entry
              br label %work

            work:                                             ; preds = %out
              %0 = addrspacecast ptr addrspace(1) %at to ptr
              %guarded = select i1 %d, ptr %0, ptr %nowhere1
              %v = load i32, ptr %guarded, align 4
              %w = add i32 %v, 1
              %1 = addrspacecast ptr addrspace(1) %at to ptr
              %guarded1 = select i1 %d, ptr %1, ptr %nowhere1
              store i32 %w, ptr %guarded1, align 4
              br label %exit

            exit:                                             ; preds = %work
              ret void
            }
        "#]],
    );
}

/// Below the variable an address may wrap where addresses are narrow, and then what is behind the
/// cast is no way back.
#[test]
fn an_address_that_leaves_its_object_before_a_cast_is_guarded() {
    let loads = |first: i32, second: i32| {
        let text = kernel(&format!(
            "br i1 %d, label %work, label %out
         out:
           ret void
         work:
           %b = getelementptr i8, ptr addrspace(3) @v, i32 {first}
           %c = addrspacecast ptr addrspace(3) %b to ptr
           %e = getelementptr i8, ptr %c, i32 {second}
           %r = load i32, ptr %e, align 4
           ret void"
        ));
        let text = format!("@v = internal addrspace(3) global [4 x i32] poison, align 4\n{text}");
        let (mut db, module) = load(&text);
        run(&mut db, module, "linearize");
        print(&db, module)
    };
    assert!(loads(8, 4).contains("load i32, ptr %e"), "{}", loads(8, 4));
    assert!(loads(-16, 16).contains("load i32, ptr %guarded"), "{}", loads(-16, 16));
}

#[test]
fn a_vote_keeps_its_group() {
    check_unchanged(
        "linearize",
        &kernel(
            "br i1 %d, label %one, label %join
         one:
           %b = call i64 @llvm.amdgcn.ballot.i64(i1 %u)
           store i64 %b, ptr addrspace(1) %p, align 8
           br label %join
         join:
           ret void",
        ),
    );
}

#[test]
fn what_is_said_of_the_result_of_a_call() {
    check(
        "linearize",
        &format!(
            "declare i32 @timeless() memory(none) nounwind willreturn speculatable
             {}",
            kernel(
                "br i1 %d, label %one, label %join
             one:
               %y = call noundef range(i32 0, 9) i32 @timeless()
               br label %join
             join:
               %v = phi i32 [ %y, %one ], [ 20, %entry ]
               store i32 %v, ptr addrspace(1) %at, align 4
               ret void"
            )
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(5) %q, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %u = icmp ult i32 %a, 7
              %at = getelementptr i32, ptr addrspace(1) %p, i32 %x
              br label %one

            one:                                              ; preds = %entry
              %y = call range(i32 0, 9) i32 @timeless()
              %v.sel = select i1 %d, i32 %y, i32 20
              br label %join

            join:                                             ; preds = %one
              %v = phi i32 [ %v.sel, %one ]
              store i32 %v, ptr addrspace(1) %at, align 4
              ret void
            }
        "#]],
    );
}

/// Of one signed bit the only divisor is -1, by which -1 is not divided.
#[test]
fn one_signed_bit_is_divided_where_it_is_zero() {
    check(
        "linearize",
        &kernel(
            "%b = trunc i32 %x to i1
           %w = insertelement <2 x i1> poison, i1 %b, i32 0
           br i1 %d, label %one, label %join
         one:
           %s = sdiv i1 %b, %u
           %t = srem <2 x i1> %w, splat (i1 true)
           br label %join
         join:
           %v = phi i1 [ %s, %one ], [ false, %entry ]
           %y = phi <2 x i1> [ %t, %one ], [ zeroinitializer, %entry ]
           ret void",
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(5) %q, i32 %a) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %u = icmp ult i32 %a, 7
              %at = getelementptr i32, ptr addrspace(1) %p, i32 %x
              %b = trunc i32 %x to i1
              %w = insertelement <2 x i1> poison, i1 %b, i32 0
              br label %one

            one:                                              ; preds = %entry
              %divisor = select i1 %d, i1 %u, i1 true
              %dividend = select i1 %d, i1 %b, i1 false
              %s = sdiv i1 %dividend, %divisor
              %divisor1 = select i1 %d, <2 x i1> splat (i1 true), <2 x i1> splat (i1 true)
              %dividend1 = select i1 %d, <2 x i1> %w, <2 x i1> zeroinitializer
              %t = srem <2 x i1> %dividend1, %divisor1
              %v.sel = select i1 %d, i1 %s, i1 false
              %y.sel = select i1 %d, <2 x i1> %t, <2 x i1> zeroinitializer
              br label %join

            join:                                             ; preds = %one
              %v = phi i1 [ %v.sel, %one ]
              %y = phi <2 x i1> [ %y.sel, %one ]
              ret void
            }
        "#]],
    );
}

/// For another thread the call may return null.
#[test]
fn an_address_that_is_good_for_who_calls_only() {
    check(
        "linearize",
        &format!(
            "declare ptr @timeless() memory(none) nounwind willreturn speculatable
             {}",
            kernel(
                "%all = call dereferenceable(4) align 4 ptr @timeless()
             br i1 %d, label %one, label %join
             one:
               %some = call dereferenceable(4) align 4 ptr @timeless()
               %r = load i32, ptr %some, align 4
               %s = load i32, ptr %all, align 4
               br label %join
             join:
               %v = phi i32 [ %r, %one ], [ 20, %entry ]
               %w = phi i32 [ %s, %one ], [ 20, %entry ]
               ret void"
            )
        ),
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(5) %q, i32 %a) {
            entry:
              %nowhere = alloca i32, align 4, addrspace(5)
              %nowhere1 = addrspacecast ptr addrspace(5) %nowhere to ptr
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %d = icmp ult i32 %x, 7
              %u = icmp ult i32 %a, 7
              %at = getelementptr i32, ptr addrspace(1) %p, i32 %x
              %all = call align 4 dereferenceable(4) ptr @timeless()
              br label %one

            one:                                              ; preds = %entry
              %some = call align 4 ptr @timeless()
              %guarded = select i1 %d, ptr %some, ptr %nowhere1
              %r = load i32, ptr %guarded, align 4
              %s = load i32, ptr %all, align 4
              %v.sel = select i1 %d, i32 %r, i32 20
              %w.sel = select i1 %d, i32 %s, i32 20
              br label %join

            join:                                             ; preds = %one
              %v = phi i32 [ %v.sel, %one ]
              %w = phi i32 [ %w.sel, %one ]
              ret void
            }
        "#]],
    );
}

#[test]
fn what_was_uniform_for_those_who_took_part_has_no_mark() {
    let marked = kernel(
        "br i1 %d, label %outer, label %exit
         outer:
           br i1 %u, label %one, label %join, !amdgpu.uniform !0
         one:
           br label %join
         join:
           %i = phi i32 [ 1, %outer ], [ 2, %one ]
           %to = getelementptr i32, ptr addrspace(1) %p, i32 %i, !amdgpu.uniform !0
           %v = load i32, ptr addrspace(1) %to, align 4
           store i32 %v, ptr addrspace(1) %at, align 4
           br label %exit
         exit:
           ret void",
    );
    let (mut db, module) = load(&format!("{marked}\n!0 = !{{}}"));
    assert!(print(&db, module).contains("amdgpu.uniform"));
    run(&mut db, module, "linearize");
    assert!(!print(&db, module).contains("amdgpu.uniform"));
}

#[test]
fn a_region_that_unreachable_blocks_lead_into() {
    let text = kernel(
        "br i1 %d, label %exit, label %one
         one:
           br i1 %u, label %both, label %other
         nobody:
           br i1 %u, label %both, label %exit
         other:
           %v = load i32, ptr addrspace(1) %p, align 4
           %e = icmp eq i32 %v, %x
           br i1 %e, label %exit, label %both
         both:
           store i32 1, ptr addrspace(1) %at, align 4
           br label %exit
         exit:
           ret void",
    );
    let (mut db, module) = load(&text);
    run(&mut db, module, "linearize");
    let text = print(&db, module);
    assert!(text.contains("[ poison, %nobody ]"), "{text}");
}

/// A thread that does not take part reads at the address only if enough aligned bytes exist there.
#[test]
fn loads_that_are_as_good_for_everybody() {
    let is_guarded = |variable: &str, by: u32| {
        let text = kernel(&format!(
            "%from = getelementptr i8, ptr addrspace(1) @v, i64 {by}
             br i1 %d, label %one, label %join
             one:
               %r = load i32, ptr addrspace(1) %from, align 4
               br label %join
             join:
               %v = phi i32 [ %r, %one ], [ 20, %entry ]
               store i32 %v, ptr addrspace(1) %at, align 4
               ret void"
        ));
        let (mut db, module) = load(&format!("@v = addrspace(1) global {variable}\n{text}"));
        run(&mut db, module, "linearize");
        print(&db, module).contains("%guarded")
    };
    assert!(!is_guarded("[2 x i32] zeroinitializer, align 4", 0));
    assert!(!is_guarded("[2 x i32] zeroinitializer, align 4", 4));
    assert!(is_guarded("[2 x i32] zeroinitializer, align 2", 0));
    assert!(is_guarded("[2 x i32] zeroinitializer, align 4", 2));
    assert!(is_guarded("[2 x i32] zeroinitializer, align 4", 8));
    assert!(is_guarded("i16 0, align 4", 0));
}

/// An indirect branch may jump to the block.
#[test]
fn a_block_whose_address_is_taken() {
    let text = kernel(
        "br i1 %d, label %one, label %join
         one:
           br label %join
         join:
           %v = phi i32 [ 1, %one ], [ 2, %entry ]
           store i32 %v, ptr addrspace(1) %at, align 4
           ret void",
    );
    let taken = "@a = addrspace(1) constant ptr blockaddress(@f, %one)\n";
    check_unchanged("linearize", &format!("{taken}{text}"));
    let (mut db, module) = load(&text);
    run(&mut db, module, "linearize");
    assert!(print(&db, module).contains("%v.sel"));
}

/// Threads that did not execute a branch before now read its condition. So a literal `undef` or
/// `poison` is frozen like a value that may be one; a number is not.
#[test]
fn a_condition_that_is_a_literal() {
    let frozen = |condition: &str| {
        let (mut db, module) = load(&kernel(&format!(
            "br i1 %d, label %masked, label %join
         masked:
           br i1 {condition}, label %yes, label %no
         yes:
           %s = mul i32 %x, 7
           br label %meet
         no:
           br label %meet
         meet:
           %w = phi i32 [ %s, %yes ], [ 1, %no ]
           br label %join
         join:
           %v = phi i32 [ 5, %entry ], [ %w, %meet ]
           store i32 %v, ptr addrspace(1) %at, align 4
           ret void"
        )));
        run(&mut db, module, "linearize");
        let text = print(&db, module);
        let freeze = text.lines().find(|line| line.contains("freeze")).map(str::trim);
        freeze.map(ToOwned::to_owned)
    };
    assert_eq!(frozen("undef").as_deref(), Some("%0 = freeze i1 undef"));
    assert_eq!(frozen("poison").as_deref(), Some("%0 = freeze i1 poison"));
    assert_eq!(frozen("%u").as_deref(), Some("%0 = freeze i1 %u"));
    assert_eq!(frozen("true"), None);
}
