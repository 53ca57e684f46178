; Arguments of OpenCL's and SPIR-V's functions that have to be one for all. Kernels whose name begins with `wrong_` have findings,
; the others have none.
target triple = "spirv64-unknown-unknown"

declare i64 @_Z12get_local_idj(i32)
declare i64 @_Z12get_group_idj(i32)
declare i32 @_Z22get_sub_group_local_idv()
declare i32 @_Z19sub_group_broadcastij(i32, i32)
declare i32 @_Z17sub_group_shuffleij(i32, i32)
declare i32 @_Z16sub_group_rotateii(i32, i32)
declare i32 @_Z20work_group_broadcastim(i32, i64)
declare target("spirv.Event") @_Z21async_work_group_copyPU3AS3iPU3AS1Kim9ocl_event(ptr addrspace(3), ptr addrspace(1), i64, target("spirv.Event"))
declare i32 @_Z32__spirv_GroupNonUniformBroadcastiij(i32, i32, i32)

define spir_kernel void @wrong_broadcast(ptr addrspace(1) %p) {
  %lane = call i32 @_Z22get_sub_group_local_idv()
  %other = xor i32 %lane, 1
  %v = call i32 @_Z19sub_group_broadcastij(i32 %lane, i32 %other)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

define spir_kernel void @right_broadcast(ptr addrspace(1) %p, i32 %from) {
  %lane = call i32 @_Z22get_sub_group_local_idv()
  %v = call i32 @_Z19sub_group_broadcastij(i32 %lane, i32 %from)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; From wherever each lane wants.
define spir_kernel void @right_shuffle(ptr addrspace(1) %p) {
  %lane = call i32 @_Z22get_sub_group_local_idv()
  %other = xor i32 %lane, 1
  %v = call i32 @_Z17sub_group_shuffleij(i32 %lane, i32 %other)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

define spir_kernel void @wrong_rotation(ptr addrspace(1) %p) {
  %lane = call i32 @_Z22get_sub_group_local_idv()
  %v = call i32 @_Z16sub_group_rotateii(i32 7, i32 %lane)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

define spir_kernel void @wrong_of_group(ptr addrspace(1) %p) {
  %id = call i64 @_Z12get_local_idj(i32 0)
  %v = call i32 @_Z20work_group_broadcastim(i32 7, i64 %id)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; One for each workgroup.
define spir_kernel void @right_of_group(ptr addrspace(1) %p) {
  %group = call i64 @_Z12get_group_idj(i32 0)
  %from = and i64 %group, 7
  %v = call i32 @_Z20work_group_broadcastim(i32 7, i64 %from)
  store i32 %v, ptr addrspace(1) %p
  ret void
}

; All of a workgroup copy together, so there is one source.
define spir_kernel void @wrong_copy(ptr addrspace(3) %to, ptr addrspace(1) %from) {
  %id = call i64 @_Z12get_local_idj(i32 0)
  %own = getelementptr i32, ptr addrspace(1) %from, i64 %id
  %e = call target("spirv.Event") @_Z21async_work_group_copyPU3AS3iPU3AS1Kim9ocl_event(ptr addrspace(3) %to, ptr addrspace(1) %own, i64 64, target("spirv.Event") zeroinitializer)
  ret void
}

define spir_kernel void @right_copy(ptr addrspace(3) %to, ptr addrspace(1) %from) {
  %group = call i64 @_Z12get_group_idj(i32 0)
  %own = getelementptr i32, ptr addrspace(1) %from, i64 %group
  %e = call target("spirv.Event") @_Z21async_work_group_copyPU3AS3iPU3AS1Kim9ocl_event(ptr addrspace(3) %to, ptr addrspace(1) %own, i64 64, target("spirv.Event") zeroinitializer)
  ret void
}

define spir_kernel void @wrong_spirv(ptr addrspace(1) %p) {
  %lane = call i32 @_Z22get_sub_group_local_idv()
  %v = call i32 @_Z32__spirv_GroupNonUniformBroadcastiij(i32 3, i32 %lane, i32 %lane)
  store i32 %v, ptr addrspace(1) %p
  ret void
}
