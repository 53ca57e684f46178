target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)

define amdgpu_kernel void @rounds(ptr addrspace(1) %out) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i64, ptr addrspace(1) %out, i32 %id
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
  %j.first = phi i32 [ 0, %entry ], [ %j.next, %latch ]
  br label %header
header:
  %j = phi i32 [ %j.first, %outer ], [ %j.again, %again ]
  %who = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  store volatile i64 %who, ptr addrspace(1) %at
  %sum = add i32 %j, %id
  %odd = trunc i32 %sum to i1
  br i1 %odd, label %rest, label %again
again:
  %j.again = add i32 %j, 1
  br label %header
rest:
  %more = icmp ult i32 %i, 4
  br i1 %more, label %latch, label %exit
latch:
  %i.next = add i32 %i, 1
  %j.next = add i32 %j, 1
  br label %outer
exit:
  ret void
}
