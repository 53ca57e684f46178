; `@row` is called from kernels of two sizes. Taken to run in those of the other kernel only, the result is called uniform in the wave.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
define internal i32 @row(i32 %n) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %before = shl i32 %y, 6
  %flat = add i32 %before, %x
  %wave = lshr i32 %flat, 5
  %sum = add i32 %wave, %n
  ret i32 %sum
}
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) "nvvm.reqntid"="16,4,1" {
  %row = call i32 @row(i32 %a0)
  ret void
}
define ptx_kernel void @wide(ptr addrspace(1) %gp, i32 %a0) "nvvm.reqntid"="64,4,1" {
  %row = call i32 @row(i32 %a0)
  ret void
}
