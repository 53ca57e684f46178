; Each thread reads an element of its own.
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

define amdgpu_kernel void @f(ptr addrspace(1) noalias readonly %r, ptr addrspace(1) noalias %w, ptr addrspace(1) noalias %q, ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %own = getelementptr i32, ptr addrspace(1) %r, i32 %x
  %v = load i32, ptr addrspace(1) %own
  ret void
}
