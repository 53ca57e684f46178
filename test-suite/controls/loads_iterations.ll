; What is read in an iteration was stored in the one before: at one moment %t and %u are different addresses.
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

define amdgpu_kernel void @f(ptr addrspace(1) noalias readonly %r, ptr addrspace(1) noalias %w, ptr addrspace(1) noalias %q, ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %t = phi ptr addrspace(1) [ %a, %entry ], [ %u, %loop ]
  %v = load i32, ptr addrspace(1) %t
  %u = getelementptr i32, ptr addrspace(1) %t, i32 1
  store i32 %i, ptr addrspace(1) %u
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, 3
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
