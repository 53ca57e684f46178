; What an aligned barrier shows about the branch that decides about it.
;
; Expected: without an assumption every branch on something unknown is divergent. If barriers are used rightly, in `@decides` all
; threads of a workgroup take the branch or none does, and `%after` merges nothing apart; in `@early_exit` that holds only if threads that
; have ended count as well. In `@nested` nothing follows for the branch in `%entry`: if the inner one is never taken, nobody executes the
; barrier.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @decides(ptr addrspace(1) %flags, ptr addrspace(1) %out) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() ; => divergent
  %at = getelementptr i32, ptr addrspace(1) %flags, i32 %id ; => divergent
  %flag = load i32, ptr addrspace(1) %at ; => divergent
  %is.set = icmp ne i32 %flag, 0 ; => divergent
  br i1 %is.set, label %meet, label %join ; => divergent

meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %join ; => uniform

join:
  %after = phi i32 [ 0, %entry ], [ 1, %meet ] ; => divergent
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %after, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @early_exit(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() ; => divergent
  %is.outside = icmp uge i32 %id, %n ; => divergent
  br i1 %is.outside, label %exit, label %work ; => divergent

work:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %id, ptr addrspace(1) %out
  br label %exit ; => uniform

exit:
  ret void
}

define ptx_kernel void @nested(i32 %n) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() ; => divergent
  %is.low = icmp ult i32 %id, 16 ; => divergent
  br i1 %is.low, label %low, label %exit ; => divergent

low:
  %is.large = icmp ugt i32 %n, 1000 ; => uniform
  br i1 %is.large, label %meet, label %exit ; => uniform

meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit ; => uniform

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
