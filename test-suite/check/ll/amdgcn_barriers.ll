; Split, named and cluster barriers. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier.signal(i32)
declare void @llvm.amdgcn.s.barrier.wait(i16)
declare i1 @llvm.amdgcn.s.barrier.signal.isfirst(i32)
declare void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3), i32)
declare void @llvm.amdgcn.s.cluster.barrier()

@named = internal addrspace(3) global i32 undef

define amdgpu_kernel void @right_split(ptr addrspace(1) %p) {
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  store i32 1, ptr addrspace(1) %p
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  ret void
}

; One finding, at the arrival.
define amdgpu_kernel void @wrong_split(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

define amdgpu_kernel void @wrong_twice() {
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  ret void
}

; The workgroup's and the cluster's are two.
define amdgpu_kernel void @right_both() {
  call void @llvm.amdgcn.s.barrier.signal(i32 -3)
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -3)
  ret void
}

define amdgpu_kernel void @wrong_cluster(ptr addrspace(1) %p) {
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = icmp eq i32 %group, 0
  br i1 %first, label %then, label %exit
then:
  call void @llvm.amdgcn.s.cluster.barrier()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; Waves that have joined.
define amdgpu_kernel void @right_named() {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %id, 64
  br i1 %few, label %then, label %exit
then:
  call void @llvm.amdgcn.s.barrier.signal.var(ptr addrspace(3) @named, i32 2)
  call void @llvm.amdgcn.s.barrier.wait(i16 1)
  br label %exit
exit:
  ret void
}

; One wave of the workgroup signals for all of it.
define amdgpu_kernel void @right_one_signals() {
  %is.first = call i1 @llvm.amdgcn.s.barrier.signal.isfirst(i32 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  br i1 %is.first, label %signal, label %wait
signal:
  call void @llvm.amdgcn.s.barrier.signal(i32 -3)
  br label %wait
wait:
  call void @llvm.amdgcn.s.barrier.wait(i16 -3)
  ret void
}

; A lock for each lane: lanes of a wave that have it wait for the others, which wait for it.
define amdgpu_kernel void @wrong_lock(ptr addrspace(1) %lock) {
  br label %take
take:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %has = extractvalue { i32, i1 } %pair, 1
  br i1 %has, label %work, label %take
work:
  store atomic i32 0, ptr addrspace(1) %lock monotonic, align 4
  ret void
}
