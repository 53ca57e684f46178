; The number of a lane in its quad.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %v = and i32 %lane, 3
  ret void
}
