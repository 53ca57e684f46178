; A loop with a barrier in each round, and work for some threads in the first.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @relax(ptr addrspace(1) %data, i32 %rounds) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %some = icmp ult i32 %id, 16
  %at = getelementptr float, ptr addrspace(1) %data, i32 %id
  br label %loop
loop:
  %round = phi i32 [ 0, %entry ], [ %next, %meet ]
  %first = icmp eq i32 %round, 0
  %wanted = and i1 %first, %some
  br i1 %wanted, label %work, label %meet
work:
  store float 1.0, ptr addrspace(1) %at
  br label %meet
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = add i32 %round, 1
  %again = icmp ult i32 %next, %rounds
  br i1 %again, label %loop, label %exit
exit:
  ret void
}
