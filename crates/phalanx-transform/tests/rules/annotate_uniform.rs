//! `annotate-uniform`

use expect_test::expect;

use crate::check;

#[test]
fn branches_and_addresses() {
    check(
        "annotate-uniform",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
         entry:
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %u = icmp eq i32 %n, 0
           br i1 %u, label %then, label %exit
         then:
           %same = getelementptr i32, ptr addrspace(1) %p, i32 %n
           %own = getelementptr i32, ptr addrspace(1) %p, i32 %x
           %1 = load i32, ptr addrspace(1) %same, align 4
           %2 = load i32, ptr addrspace(1) %own, align 4
           %d = icmp eq i32 %1, %2
           br i1 %d, label %exit, label %then
         exit:
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %u = icmp eq i32 %n, 0
              br i1 %u, label %then, label %exit, !amdgpu.uniform !0

            then:                                             ; preds = %then, %entry
              %same = getelementptr i32, ptr addrspace(1) %p, i32 %n, !amdgpu.uniform !0
              %own = getelementptr i32, ptr addrspace(1) %p, i32 %x
              %0 = load i32, ptr addrspace(1) %same, align 4
              %1 = load i32, ptr addrspace(1) %own, align 4
              %d = icmp eq i32 %0, %1
              br i1 %d, label %exit, label %then

            exit:                                             ; preds = %then, %entry
              ret void
            }
        "#]],
    );
}

/// The first mark held before a transform made the value differ; the second was never proved.
#[test]
fn marks_that_do_not_hold_go() {
    check(
        "annotate-uniform",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %own = getelementptr i32, ptr addrspace(1) %p, i32 %x, !amdgpu.uniform !0
           %1 = load i32, ptr addrspace(1) %own, align 4
           ret void
         }
         !0 = !{}",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p) {
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %own = getelementptr i32, ptr addrspace(1) %p, i32 %x
              %1 = load i32, ptr addrspace(1) %own, align 4
              ret void
            }
        "#]],
    );
}

/// Threads leave the loop in different rounds. The load behind it uses each thread's last address.
#[test]
fn an_address_that_is_the_same_at_some_loads_only() {
    check(
        "annotate-uniform",
        crate::ADDRESS_IN_AND_BEHIND_A_LOOP,
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(4) %p, i32 %n) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              br label %loop, !amdgpu.uniform !0

            loop:                                             ; preds = %loop, %entry
              %i = phi i32 [ 0, %entry ], [ %j, %loop ]
              %at = getelementptr i32, ptr addrspace(4) %p, i32 %i
              %inside = getelementptr i32, ptr addrspace(4) %p, i32 %i, !amdgpu.uniform !0
              %u = load i32, ptr addrspace(4) %inside, align 4
              %j = add i32 %i, 1
              %v = load i32, ptr addrspace(4) %at, align 4
              %e = icmp ult i32 %j, %x
              br i1 %e, label %loop, label %exit

            exit:                                             ; preds = %loop
              %w = load i32, ptr addrspace(4) %at, align 4
              ret void
            }
        "#]],
    );
}
