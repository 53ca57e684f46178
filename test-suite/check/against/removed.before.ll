; A thread reads what its neighbour wrote before the barrier; the later version has none.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@row = internal addrspace(3) global [1024 x i32] poison

define ptx_kernel void @neighbours(ptr addrspace(1) %out) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = getelementptr i32, ptr addrspace(3) @row, i32 %id
  store i32 %id, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = xor i32 %id, 1
  %other = getelementptr i32, ptr addrspace(3) @row, i32 %next
  %value = load i32, ptr addrspace(3) %other
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %value, ptr addrspace(1) %at
  ret void
}
