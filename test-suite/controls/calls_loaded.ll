; A function copies from memory that is not private to the thread's stack slot into one that is: who knows what is there.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define internal void @copy(ptr %to, ptr %from) {
  %what = load i32, ptr %from, align 4
  store i32 %what, ptr %to, align 4
  ret void
}
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %slot = alloca i32, align 4
  %known = alloca i32, align 4
  %hidden = alloca ptr, align 8
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %id, ptr %known, align 4
  store volatile ptr %known, ptr %hidden, align 8
  %from = load volatile ptr, ptr %hidden, align 8
  call void @copy(ptr %slot, ptr %from)
  %v = load i32, ptr %slot, align 4
  ret void
}
