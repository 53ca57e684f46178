; The sum is poison in threads from 16 on, and each of them may freeze the difference to another number.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) "nvvm.reqntid"="64,1,1" {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %sum = add nuw i32 %x, -16
  %left = sub i32 %sum, %x
  %frozen = freeze i32 %left
  ret void
}
