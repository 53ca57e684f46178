//! `mark-loads`

use expect_test::{Expect, expect};

use crate::{check, load_for, print, run};

fn check_nvptx(pipeline: &str, functions: &str, expected: &Expect) {
    let declaration = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n";
    let (mut db, module) = load_for("nvptx64-nvidia-cuda", &format!("{declaration}{functions}"));
    run(&mut db, module, pipeline);
    expected.assert_eq(&print(&db, module));
}

#[test]
fn amdgpu_scalar_loads() {
    check(
        "mark-loads",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %same = getelementptr i32, ptr addrspace(1) %p, i32 %n
           %own = getelementptr i32, ptr addrspace(1) %p, i32 %x
           %1 = load i32, ptr addrspace(1) %same, align 4
           %2 = load i32, ptr addrspace(1) %own, align 4
           store i32 %1, ptr addrspace(1) %own, align 4
           %3 = load i32, ptr addrspace(1) %same, align 4
           ret void
         }",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              %same = getelementptr i32, ptr addrspace(1) %p, i32 %n, !amdgpu.uniform !0
              %own = getelementptr i32, ptr addrspace(1) %p, i32 %x
              %1 = load i32, ptr addrspace(1) %same, align 4, !amdgpu.noclobber !0, !phalanx.noclobber !0
              %2 = load i32, ptr addrspace(1) %own, align 4
              store i32 %1, ptr addrspace(1) %own, align 4
              %3 = load i32, ptr addrspace(1) %same, align 4
              ret void
            }
        "#]],
    );
}

#[test]
fn nvptx_loads_of_what_nobody_writes() {
    check_nvptx(
        "mark-loads",
        "define ptx_kernel void @f(ptr noalias %in, ptr noalias %out, ptr %plain) {
           %1 = load i32, ptr %in, align 4
           %2 = load i32, ptr %plain, align 4
           store i32 %1, ptr %out, align 4
           ret void
         }",
        &expect![[r#"
            define ptx_kernel void @f(ptr noalias %in, ptr noalias %out, ptr %plain) {
              %1 = load i32, ptr %in, align 4, !invariant.load !0, !phalanx.invariant.load !0
              %2 = load i32, ptr %plain, align 4
              store i32 %1, ptr %out, align 4
              ret void
            }
        "#]],
    );
}

#[test]
fn ldu_on_request() {
    check_nvptx(
        "mark-loads<ldu>",
        "define ptx_kernel void @f(ptr noalias %in, ptr addrspace(1) noalias %typed, ptr noalias %out) {
           %1 = load i32, ptr %in, align 4
           %2 = load <4 x float>, ptr addrspace(1) %typed, align 16
           %3 = load ptr, ptr addrspace(1) %typed, align 8
           %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %own = getelementptr i32, ptr %in, i32 %x
           %4 = load i32, ptr %own, align 4
           store i32 %1, ptr %out, align 4
           ret void
         }",
        &expect![[r#"
            define ptx_kernel void @f(ptr noalias %in, ptr addrspace(1) noalias %typed, ptr noalias %out) {
              %1 = addrspacecast ptr %in to ptr addrspace(1)
              %2 = call i32 @llvm.nvvm.ldu.global.i.i32.p1(ptr addrspace(1) %1, i32 4)
              %3 = call <4 x float> @llvm.nvvm.ldu.global.f.v4f32.p1(ptr addrspace(1) %typed, i32 16)
              %4 = call ptr @llvm.nvvm.ldu.global.p.p0.p1(ptr addrspace(1) %typed, i32 8)
              %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
              %own = getelementptr i32, ptr %in, i32 %x
              %5 = load i32, ptr %own, align 4, !invariant.load !0, !phalanx.invariant.load !0
              store i32 %2, ptr %out, align 4
              ret void
            }
        "#]],
    );
}

/// The pass added the first mark, which no longer holds. The second is a promise.
#[test]
fn marks_of_ours_that_do_not_hold_go() {
    check_nvptx(
        "mark-loads",
        "define ptx_kernel void @f(ptr noalias %p) {
           %1 = load i32, ptr %p, align 4, !invariant.load !0, !phalanx.invariant.load !0
           %2 = load i32, ptr %p, align 4, !invariant.load !0
           store i32 %1, ptr %p, align 4
           ret void
         }
         !0 = !{}",
        &expect![[r#"
            define ptx_kernel void @f(ptr noalias %p) {
              %1 = load i32, ptr %p, align 4
              %2 = load i32, ptr %p, align 4, !invariant.load !0
              store i32 %1, ptr %p, align 4
              ret void
            }
        "#]],
    );
    check(
        "mark-loads",
        "define amdgpu_kernel void @f(ptr addrspace(1) %p) {
           store i32 1, ptr addrspace(1) %p, align 4
           %1 = load i32, ptr addrspace(1) %p, align 4, !amdgpu.noclobber !0, !phalanx.noclobber !0
           %2 = load i32, ptr addrspace(1) %p, align 4, !amdgpu.noclobber !0
           ret void
         }
         !0 = !{}",
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(1) %p) {
              store i32 1, ptr addrspace(1) %p, align 4
              %1 = load i32, ptr addrspace(1) %p, align 4
              %2 = load i32, ptr addrspace(1) %p, align 4, !amdgpu.noclobber !0
              ret void
            }
        "#]],
    );
}

/// Threads leave the loop in different rounds. The load behind it uses each thread's last address.
#[test]
fn an_address_that_is_the_same_at_some_loads_only() {
    check(
        "mark-loads",
        crate::ADDRESS_IN_AND_BEHIND_A_LOOP,
        &expect![[r#"
            define amdgpu_kernel void @f(ptr addrspace(4) %p, i32 %n) {
            entry:
              %x = call i32 @llvm.amdgcn.workitem.id.x()
              br label %loop

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
