; Barriers for some threads, split barriers and those of clusters. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32, i32, i1)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cluster.arrive()
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.wait()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))

@object = internal addrspace(3) global i64 undef

; Waves with different roles: what such barriers are for.
define ptx_kernel void @right_roles() "nvvm.reqntid"="128" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wave = lshr i32 %id, 5
  %produces = icmp eq i32 %wave, 0
  br i1 %produces, label %producer, label %consumers
producer:
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 128)
  ret void
consumers:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 128)
  ret void
}

; An aligned barrier is for whole waves.
define ptx_kernel void @wrong_half_a_wave(ptr addrspace(1) %p) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; One that is not aligned is for threads.
define ptx_kernel void @right_threads() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 48
  br i1 %few, label %then, label %exit
then:
  call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)
  br label %exit
exit:
  ret void
}

; As many as there are: all of them.
define ptx_kernel void @wrong_everybody(ptr addrspace(1) %p) "nvvm.reqntid"="64" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 32
  br i1 %few, label %then, label %exit
then:
  call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @wrong_count() {
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 48)
  ret void
}

define ptx_kernel void @wrong_size() "nvvm.maxntid"="64" {
  %ones = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32 1, i32 128, i1 true)
  ret void
}

; Others of the cluster wait for those that do not arrive; who arrived may wait or not.
define ptx_kernel void @wrong_cluster(ptr addrspace(1) %p) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = icmp eq i32 %block, 0
  br i1 %first, label %then, label %exit
then:
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @right_cluster() {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = icmp eq i32 %block, 0
  call void @llvm.nvvm.barrier.cluster.arrive()
  br i1 %first, label %then, label %exit
then:
  call void @llvm.nvvm.barrier.cluster.wait()
  br label %exit
exit:
  ret void
}

define ptx_kernel void @wrong_second_arrival(i1 %skip) {
  call void @llvm.nvvm.barrier.cluster.arrive()
  br i1 %skip, label %next, label %wait
wait:
  call void @llvm.nvvm.barrier.cluster.wait()
  br label %next
next:
  call void @llvm.nvvm.barrier.cluster.arrive()
  call void @llvm.nvvm.barrier.cluster.wait()
  ret void
}

define ptx_kernel void @wrong_wait() {
  call void @llvm.nvvm.barrier.cluster.wait()
  ret void
}

define ptx_kernel void @right_rounds(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @llvm.nvvm.barrier.cluster.arrive()
  call void @llvm.nvvm.barrier.cluster.wait()
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; Barriers of some threads in a function: whoever calls it.
define internal void @produce() {
  call void @llvm.nvvm.barrier.cta.sync.count(i32 2, i32 64)
  ret void
}

define ptx_kernel void @right_call() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 48
  br i1 %few, label %then, label %exit
then:
  call void @produce()
  br label %exit
exit:
  ret void
}

; An object in memory.
define ptx_kernel void @right_object() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 7
  br i1 %few, label %then, label %exit
then:
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @object)
  br label %exit
exit:
  ret void
}
