; Arguments that have to be one for the wave. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.writelane.i32(i32, i32, i32)
declare i32 @llvm.amdgcn.permlane16.i32(i32, i32, i32, i32, i1, i1)
declare i1 @llvm.amdgcn.inverse.ballot.i64(i64)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare void @llvm.amdgcn.s.barrier.join(ptr addrspace(3))

@barriers = internal addrspace(3) global [4 x target("amdgcn.named.barrier", 0)] poison

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

; What is written for all is another number in each lane.
define amdgpu_kernel void @wrong_value(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %v = call i32 @llvm.amdgcn.writelane.i32(i32 %id, i32 0, i32 7)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

define amdgpu_kernel void @right_value(ptr addrspace(1) %p, i32 %n) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %v = call i32 @llvm.amdgcn.writelane.i32(i32 %n, i32 0, i32 %id)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; Which lanes are read is said once for the wave.
define amdgpu_kernel void @wrong_lanes(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %low = and i32 %id, 15
  %v = call i32 @llvm.amdgcn.permlane16.i32(i32 %id, i32 %id, i32 %low, i32 0, i1 false, i1 false)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; A mask of all lanes is not a bit of each.
define amdgpu_kernel void @wrong_mask(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %own = zext i32 %id to i64
  %bit = call i1 @llvm.amdgcn.inverse.ballot.i64(i64 %own)
  store i1 %bit, ptr addrspace(1) %p
  ret void
}

; A shuffle by lanes is what this one is for.
define amdgpu_kernel void @right_shuffle(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %other = xor i32 %id, 1
  %to = shl i32 %other, 2
  %v = call i32 @llvm.amdgcn.ds.bpermute(i32 %to, i32 %id)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; A wave joins one barrier.
define amdgpu_kernel void @wrong_barrier() {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %which = and i32 %id, 3
  %barrier = getelementptr [4 x target("amdgcn.named.barrier", 0)], ptr addrspace(3) @barriers, i32 0, i32 %which
  call void @llvm.amdgcn.s.barrier.join(ptr addrspace(3) %barrier)
  ret void
}

; Each wave has its own.
define amdgpu_kernel void @right_barrier() "amdgpu-flat-work-group-size"="256,256" !reqd_work_group_size !0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %which = lshr i32 %id, 6
  %barrier = getelementptr [4 x target("amdgcn.named.barrier", 0)], ptr addrspace(3) @barriers, i32 0, i32 %which
  call void @llvm.amdgcn.s.barrier.join(ptr addrspace(3) %barrier)
  ret void
}

!0 = !{i32 256, i32 1, i32 1}
