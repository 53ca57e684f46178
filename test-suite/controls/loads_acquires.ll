; Each wave stores where it begins, and reads four bytes before that what another wave stored: no access of its own, but the barrier
; makes it visible. LLVM 22 marks %v `!amdgpu.noclobber`.
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

define amdgpu_kernel void @f(ptr addrspace(1) noalias readonly %r, ptr addrspace(1) noalias %w, ptr addrspace(1) noalias %q, ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)
  %place = getelementptr i32, ptr addrspace(1) %a, i32 %y
  %here = freeze ptr addrspace(1) %place
  store i32 1, ptr addrspace(1) %here
  call void @llvm.amdgcn.s.barrier()
  %there = getelementptr i32, ptr addrspace(1) %here, i32 4
  %v = load i32, ptr addrspace(1) %there
  ret void
}
