; A row of 33 threads ends in the middle of a quad.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %v = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  ret void
}
