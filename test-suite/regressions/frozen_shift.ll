; A shift by as much as the width or more is poison in some threads, of which `freeze` makes any number.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %bit = lshr i32 1, %x
  %frozen = freeze i32 %bit
  %few = icmp ult i32 %frozen, 2
  br i1 %few, label %then, label %exit
then:
  br label %exit
exit:
  %way = phi i32 [ 0, %entry ], [ 1, %then ]
  ret void
}
