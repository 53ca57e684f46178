; Jump threading leads %a to %vote at once. Threads are joined there all the same under maximal convergence; at the post-dominator of the
; first branch only behind it.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)

define ptx_kernel void @joined(ptr addrspace(1) %out, i1 %some) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %low = icmp ult i32 %id, 16
  br i1 %low, label %a, label %b
a:
  store i32 1, ptr addrspace(1) %at
  br label %join
b:
  store i32 2, ptr addrspace(1) %at
  br label %join
join:
  %goes = phi i1 [ true, %a ], [ %some, %b ]
  br i1 %goes, label %vote, label %exit
vote:
  %other = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %id, i32 1, i32 31)
  store i32 %other, ptr addrspace(1) %at
  br label %exit
exit:
  ret void
}
