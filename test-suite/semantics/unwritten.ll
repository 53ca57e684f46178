; Each thread but the first writes its element of workgroup memory, and reads it behind the barrier.
; Nobody has written the first element.
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [64 x i32] undef

define ptx_kernel void @but_one(ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = getelementptr i32, ptr addrspace(3) @tile, i32 %t
  %is.first = icmp eq i32 %t, 0
  br i1 %is.first, label %meet, label %write

write:
  store i32 %t, ptr addrspace(3) %own
  br label %meet

meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %value = load i32, ptr addrspace(3) %own
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %value, ptr addrspace(1) %at
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
