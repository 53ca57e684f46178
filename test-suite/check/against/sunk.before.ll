; A shuffle of all lanes; some use what they get.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)

define amdgpu_kernel void @neighbour(ptr addrspace(1) %data) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %id
  %own = load i32, ptr addrspace(1) %at
  %from = xor i32 %id, 4
  %other = call i32 @llvm.amdgcn.ds.bpermute(i32 %from, i32 %own)
  %small = icmp slt i32 %own, 0
  br i1 %small, label %use, label %exit
use:
  store i32 %other, ptr addrspace(1) %at
  br label %exit
exit:
  ret void
}
