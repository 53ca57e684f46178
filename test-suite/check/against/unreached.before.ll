; No square is 2 or 3 modulo 4: what is under these conditions is not executed in any launch.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)

define amdgpu_kernel void @votes(ptr addrspace(1) %out, i32 %n) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %square = mul i32 %x, %x
  %low = and i32 %square, 3
  %far = icmp eq i32 %low, 2
  br i1 %far, label %same, label %other
same:
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)
  store i32 %first, ptr addrspace(1) %out, align 4
  br label %other
other:
  %further = icmp eq i32 %low, 3
  br i1 %further, label %vote, label %exit
vote:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  store i64 %all, ptr addrspace(1) %out, align 8
  br label %exit
exit:
  ret void
}
