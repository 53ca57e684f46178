; The first round was peeled for the threads that have work in it: they wait at a barrier of their own.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @relax(ptr addrspace(1) %data, i32 %rounds) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %some = icmp ult i32 %id, 16
  %at = getelementptr float, ptr addrspace(1) %data, i32 %id
  br i1 %some, label %work, label %loop
work:
  store float 1.0, ptr addrspace(1) %at
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %more = icmp ult i32 1, %rounds
  br i1 %more, label %loop, label %exit
loop:
  %round = phi i32 [ 0, %entry ], [ 1, %work ], [ %next, %loop ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = add i32 %round, 1
  %again = icmp ult i32 %next, %rounds
  br i1 %again, label %loop, label %exit
exit:
  ret void
}
