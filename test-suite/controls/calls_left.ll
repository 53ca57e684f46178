; A function leaves the number of the thread in a stack slot of its caller.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal void @out(ptr addrspace(5) %to, i32 %a) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %sum = add i32 %id, %a
  store i32 %sum, ptr addrspace(5) %to, align 4
  ret void
}
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
  %slot = alloca i32, align 4, addrspace(5)
  call void @out(ptr addrspace(5) %slot, i32 %a0)
  %v = load i32, ptr addrspace(5) %slot, align 4
  ret void
}
