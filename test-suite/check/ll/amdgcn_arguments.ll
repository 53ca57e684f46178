; Arguments that have to be one for the wave. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

define amdgpu_kernel void @wrong_neighbour(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %other = xor i32 %id, 1
  %v = call i32 @llvm.amdgcn.readlane.i32(i32 %id, i32 %other)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

define amdgpu_kernel void @right_last(ptr addrspace(1) %p, i32 %lane) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %v = call i32 @llvm.amdgcn.readlane.i32(i32 %id, i32 63)
  %w = call i32 @llvm.amdgcn.readlane.i32(i32 %v, i32 %lane)
  store i32 %w, ptr addrspace(1) %p
  ret void
}

; By data: it may be right.
define amdgpu_kernel void @wrong_data(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %id
  %lane = load i32, ptr addrspace(1) %at
  %v = call i32 @llvm.amdgcn.readlane.i32(i32 %id, i32 %lane)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; Lanes are told apart by a number that they have.
define amdgpu_kernel void @right_one_after_the_other(ptr addrspace(1) %p) "amdgpu-flat-work-group-size"="64,64" {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %id)
  %v = call i32 @llvm.amdgcn.readlane.i32(i32 %id, i32 %first)
  store i32 %v, ptr addrspace(1) %p
  ret void
}
