; A function that is called with pointers into different memories: `phalanx analyze --print spaces specialize.ll`.
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] poison

define internal void @put(ptr %p, ptr %q, i32 %v) {
  store i32 %v, ptr %p
  store i32 %v, ptr %q
  ret void
}

define ptx_kernel void @first(ptr %out, i32 %n, i1 %c) {
  %tile = addrspacecast ptr addrspace(3) @lds to ptr
  call void @put(ptr %tile, ptr %out, i32 0)
  call void @put(ptr %out, ptr %out, i32 1)
  %any = select i1 %c, ptr %tile, ptr %out
  call void @put(ptr %any, ptr %out, i32 2)
  ret void
}

define ptx_kernel void @second(ptr %out) {
  %tile = addrspacecast ptr addrspace(3) @lds to ptr
  call void @put(ptr %tile, ptr %out, i32 3)
  ret void
}
