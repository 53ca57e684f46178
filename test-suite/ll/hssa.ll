; What accesses touch of memory: `phalanx opt -passes='print<hssa>' -disable-output hssa.ll`.
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] poison
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare ptr @unknown()

define internal void @put(ptr %p, i32 %v) {
  store i32 %v, ptr %p
  ret void
}

define ptx_kernel void @f(ptr addrspace(1) %g, ptr %out, i32 %n, i1 %c) {
entry:
  %slot = alloca i32
  store i32 %n, ptr %slot
  %tile = addrspacecast ptr addrspace(3) @lds to ptr
  %first = load i32, ptr addrspace(1) %g
  store i32 %first, ptr %tile
  call void @put(ptr %tile, i32 %n)
  %second = load i32, ptr addrspace(1) %g
  br i1 %c, label %then, label %end

then:
  %k = load i32, ptr %slot
  store i32 %k, ptr %out
  br label %end

end:
  %third = load i32, ptr addrspace(1) %g
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %seen = load i32, ptr %tile
  %p = call ptr @unknown()
  store i32 %seen, ptr %p
  %last = load i32, ptr addrspace(1) %g
  ret void
}
