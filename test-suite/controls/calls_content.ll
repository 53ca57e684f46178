; What a function returns and leaves depends on what is in a stack slot of its caller.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define internal i32 @bump(ptr %at, i32 %a) {
  %old = load i32, ptr %at, align 4
  %new = add i32 %old, %a
  store i32 %new, ptr %at, align 4
  ret i32 %old
}
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %slot = alloca i32, align 4
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %id, ptr %slot, align 4
  %old = call i32 @bump(ptr %slot, i32 1)
  %new = load i32, ptr %slot, align 4
  ret void
}
