; Pointers that may lead to several memories, and why.
target triple = "nvptx64-nvidia-cuda"

@lds = internal addrspace(3) global [64 x i32] undef

declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare ptr @unknown()

define ptx_kernel void @kernel(ptr %out, i1 %c) {
entry:
  %slot = alloca ptr
  %tile = addrspacecast ptr addrspace(3) @lds to ptr
  store ptr %out, ptr %slot
  br i1 %c, label %other, label %join

other:
  store ptr %tile, ptr %slot
  br label %join

join:
  %p = phi ptr [ %out, %entry ], [ %tile, %other ]
  %q = load ptr, ptr %slot
  %r = getelementptr inbounds i32, ptr %q, i32 4
  store i32 1, ptr %r
  %near = call i1 @llvm.nvvm.isspacep.shared(ptr %p)
  br i1 %near, label %local, label %exit

local:
  store i32 2, ptr %p
  br label %exit

exit:
  %x = call ptr @unknown()
  store i32 3, ptr %x
  ret void
}
