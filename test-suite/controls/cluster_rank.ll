; The number of a workgroup in its cluster.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %v = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  ret void
}
