; The number of a wave is not the same in all waves of a workgroup.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) "nvvm.reqntid"="64,1,1" {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wave = lshr i32 %x, 5
  ret void
}
