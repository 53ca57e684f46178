; Threads without work return before the barrier.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @guarded(ptr addrspace(1) %data, i32 %n) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.idle = icmp uge i32 %id, %n
  br i1 %is.idle, label %exit, label %work
work:
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %id
  store i32 1, ptr addrspace(1) %at
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 2, ptr addrspace(1) %at
  br label %exit
exit:
  ret void
}
