; The number of a workgroup along x, and along y, where clusters have but one.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) "nvvm.cluster_dim"="2,1,1" {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  ret void
}
