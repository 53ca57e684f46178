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

/// A mark that was right before the transform that made the value differ, and one that nobody proved.
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
