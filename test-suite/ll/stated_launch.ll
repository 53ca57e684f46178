; A kernel whose launches only its driver knows.
;
; Expected: nothing is known of the workgroup, so y may differ between the lanes of a wave. Launched with rows of 32 threads in waves of
; 32 (`phalanx analyze --block 32x8 --wave 32`) each wave is one row: y is uniform and x is not.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @of_rows(ptr addrspace(1) %out) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() ; => divergent
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y() ; => divergent
  %first.row = icmp eq i32 %y, 0 ; => divergent
  br i1 %first.row, label %store, label %exit ; => divergent

store:
  store i32 %x, ptr addrspace(1) %out, align 4
  br label %exit ; => uniform

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
