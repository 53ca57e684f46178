; Numbers and counts of barriers that differ between threads. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)

; Each wave waits at a barrier of its own for all threads.
define ptx_kernel void @wrong_number_of_wave() "nvvm.reqntid"="64" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wave = lshr i32 %id, 5
  call void @llvm.nvvm.barrier.cta.sync.all(i32 %wave)
  ret void
}

; One number for all threads that a workgroup has.
define ptx_kernel void @right_number_of_workgroup() "nvvm.reqntid"="32" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wave = lshr i32 %id, 5
  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %few = and i32 %group, 7
  call void @llvm.nvvm.barrier.cta.sync.all(i32 %wave)
  call void @llvm.nvvm.barrier.cta.sync.all(i32 %few)
  ret void
}

; What comes out of a join depends on the way there.
define ptx_kernel void @wrong_number_of_way(i32 %n) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.low = icmp ult i32 %id, 16
  br i1 %is.low, label %low, label %join
low:
  br label %join
join:
  %number = phi i32 [ 1, %low ], [ 2, %0 ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %number)
  ret void
}

define ptx_kernel void @right_number_of_way(i32 %n) {
  %is.low = icmp ult i32 %n, 16
  br i1 %is.low, label %low, label %join
low:
  br label %join
join:
  %number = phi i32 [ 1, %low ], [ 2, %0 ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %number)
  ret void
}

; In the third round threads differ.
define ptx_kernel void @wrong_number_of_round() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %head
head:
  %round = phi i32 [ 0, %0 ], [ %next, %head ]
  %is.late = icmp ugt i32 %round, 1
  %odd = and i32 %id, 1
  %number = select i1 %is.late, i32 %odd, i32 3
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %number)
  %next = add i32 %round, 1
  %goes.on = icmp ult i32 %next, 4
  br i1 %goes.on, label %head, label %exit
exit:
  ret void
}

define ptx_kernel void @right_number_of_round() {
  br label %head
head:
  %round = phi i32 [ 0, %0 ], [ %next, %head ]
  %odd = and i32 %round, 1
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %odd)
  %next = add i32 %round, 1
  %goes.on = icmp ult i32 %next, 4
  br i1 %goes.on, label %head, label %exit
exit:
  ret void
}

; Through a stack slot.
define ptx_kernel void @wrong_number_in_slot() {
  %slot = alloca i32
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 0, ptr %slot
  %odd = and i32 %id, 1
  %old = load i32, ptr %slot
  %sum = add i32 %old, %odd
  store i32 %sum, ptr %slot
  %number = load i32, ptr %slot
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %number)
  ret void
}

; What memory holds for each thread.
define ptx_kernel void @wrong_number_in_memory(ptr addrspace(1) %p) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %id
  %number = load i32, ptr addrspace(1) %at
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %number)
  ret void
}

; Passed by those that call.
define internal void @wrong_passed(i32 %number) convergent {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %number)
  ret void
}
define ptx_kernel void @passes() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = and i32 %id, 1
  call void @wrong_passed(i32 %odd) convergent
  ret void
}

; Pairs of waves with a barrier each: what numbers are for.
define ptx_kernel void @right_pairs() "nvvm.reqntid"="128" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pair = lshr i32 %id, 6
  %number = add i32 %pair, 1
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %number, i32 64)
  ret void
}

; Within one wave they are aligned.
define ptx_kernel void @wrong_halves() "nvvm.reqntid"="128" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %half = lshr i32 %id, 4
  %number = and i32 %half, 1
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %number, i32 64)
  ret void
}

define ptx_kernel void @wrong_counts() "nvvm.reqntid"="64" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = and i32 %id, 1
  %more = mul i32 %odd, 32
  %count = add i32 %more, 32
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 %count)
  ret void
}

define ptx_kernel void @wrong_computed_count() "nvvm.reqntid"="64" {
  %slot = alloca i32
  store i32 32, ptr %slot
  %old = load i32, ptr %slot
  %more = add i32 %old, 16
  store i32 %more, ptr %slot
  %count = load i32, ptr %slot
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 %count)
  ret void
}

; The second wave has gone: the first one waits for it.
define ptx_kernel void @wrong_too_few() "nvvm.reqntid"="64" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.first = icmp ult i32 %id, 32
  br i1 %is.first, label %first, label %exit
first:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  br label %exit
exit:
  ret void
}

; It arrives.
define ptx_kernel void @right_arrival() "nvvm.reqntid"="64" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.first = icmp ult i32 %id, 32
  br i1 %is.first, label %first, label %second
first:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  br label %exit
second:
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)
  br label %exit
exit:
  ret void
}
