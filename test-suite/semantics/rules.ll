; Operations that threads of a wave, or of a workgroup, execute together, and what CUDA leaves
; undefined of them: `phalanx run` reports it.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @two_barriers(ptr addrspace(1) %p) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = and i32 %t, 1
  %is_odd = icmp ne i32 %odd, 0
  br i1 %is_odd, label %one, label %other
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
other:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
end:
  ret void
}

; One barrier for all, although each wave comes to it on a way of its own.
define ptx_kernel void @one_barrier(ptr addrspace(1) %p) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = and i32 %t, 1
  %is_odd = icmp ne i32 %odd, 0
  br i1 %is_odd, label %one, label %end
one:
  store i32 1, ptr addrspace(1) %p
  br label %end
end:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

; Lanes 16 to 31 are not in the mask that they come with.
define ptx_kernel void @own_mask() {
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65535, i32 0, i32 1, i32 31)
  ret void
}

; Each half of the wave has a mask of its own, as it should.
define ptx_kernel void @halves() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %t, 16
  %mask = select i1 %low, i32 65535, i32 -65536
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %mask, i32 0, i32 1, i32 31)
  ret void
}

define ptx_kernel void @two_masks() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %t, 16
  %mask = select i1 %low, i32 -1, i32 -65536
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %mask, i32 0, i32 1, i32 31)
  ret void
}

; Lanes 16 to 31 go on to the barrier.
define ptx_kernel void @named_lanes() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %t, 16
  br i1 %low, label %shuffle, label %end
shuffle:
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 0, i32 1, i32 31)
  br label %end
end:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

; They end instead: nobody waits for them.
define ptx_kernel void @ended_lanes() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %t, 16
  br i1 %low, label %shuffle, label %end
shuffle:
  %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 0, i32 1, i32 31)
  br label %end
end:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
