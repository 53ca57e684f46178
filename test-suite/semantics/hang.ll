; The two halves of a workgroup wait at different barriers: nobody will ever come.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.all(i32)
define ptx_kernel void @hang() {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %low = icmp ult i32 %id, 32
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.barrier.cta.sync.all(i32 1)
  br label %exit
two:
  call void @llvm.nvvm.barrier.cta.sync.all(i32 2)
  br label %exit
exit:
  ret void
}
