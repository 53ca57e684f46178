; A function brings in a source by itself: the number of the thread.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal i32 @own(i32 %a) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %sum = add i32 %id, %a
  ret i32 %sum
}
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %v = call i32 @own(i32 %a0)
  ret void
}
