; The first condition is what it was; the second is another, and no launch tells.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

define amdgpu_kernel void @votes(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %square = mul i32 %id, %id
  %low = and i32 %square, 3
  %far = icmp eq i32 %low, 2
  br i1 %far, label %same, label %other
same:
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %id)
  store i32 %first, ptr addrspace(1) %out, align 4
  br label %other
other:
  %bits = and i32 %square, 7
  %further = icmp eq i32 %bits, 5
  br i1 %further, label %vote, label %exit
vote:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  store i64 %all, ptr addrspace(1) %out, align 8
  br label %exit
exit:
  ret void
}
