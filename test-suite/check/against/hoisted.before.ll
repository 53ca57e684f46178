; A ballot under two conditions is hoisted above the inner one. Both depend on the thread, so what controls it is no new source.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)

define amdgpu_kernel void @guarded(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i64, ptr addrspace(1) %out, i32 %id
  %inside = icmp slt i32 %id, %n
  br i1 %inside, label %body, label %exit
body:
  %few = icmp ult i32 %id, 5
  br i1 %few, label %vote, label %write
vote:
  %who = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %write
write:
  %all = phi i64 [ 0, %body ], [ %who, %vote ]
  store i64 %all, ptr addrspace(1) %at
  br label %exit
exit:
  ret void
}
