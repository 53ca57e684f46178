; What loads of other waves give.
;
; Expected: within a wave nothing but the thread's own index and what is read by it differs. In a workgroup, `%size` is one value whatever is assumed, for
; nobody writes there; `%start` is if no two threads race, for nothing before it makes visible what others wrote, and nobody but all can have stored to `%log`; `%head` and the branch on it are if, besides,
; barriers are used rightly. `%late` is behind an atomic operation, which may make anything visible.
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [256 x i32] undef

define ptx_kernel void @f(ptr addrspace(1) %in, ptr addrspace(1) noalias %out, ptr addrspace(1) noalias readonly %sizes, ptr addrspace(1) %log) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() ; => divergent
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() ; => uniform (LLVM 22: divergent)
  %size.at = getelementptr i32, ptr addrspace(1) %sizes, i32 %block ; => uniform (LLVM 22: divergent)
  %size = load i32, ptr addrspace(1) %size.at ; => uniform (LLVM 22: divergent)
  store i32 0, ptr addrspace(1) %log
  %start = load i32, ptr addrspace(1) %in ; => uniform
  %own.at = getelementptr i32, ptr addrspace(3) @tile, i32 %id ; => divergent
  store i32 %start, ptr addrspace(3) %own.at
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %head = load i32, ptr addrspace(3) @tile ; => uniform
  %is.more = icmp ult i32 %head, %size ; => uniform (LLVM 22: divergent)
  br i1 %is.more, label %more, label %exit ; => uniform (LLVM 22: divergent)

more:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %old = atomicrmw add ptr addrspace(1) %out, i32 %head acquire ; => divergent
  %late = load i32, ptr addrspace(1) %in ; => uniform
  store i32 %late, ptr addrspace(1) %out
  br label %exit ; => uniform

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
