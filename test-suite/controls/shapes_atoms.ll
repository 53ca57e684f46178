; What is left of a sum is what was added.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) "nvvm.reqntid"="64,1,1" {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = atomicrmw add ptr addrspace(1) %gp, i32 1 monotonic
  %sum = add i32 %own, %x
  %left = sub i32 %sum, %x
  ret void
}
