; A ballot in a loop of as many rounds as the number of the thread and one, in a loop of two rounds.
;
; Threads that left the inner loop early are there again in the next round of the outer one: 11, 10, 11, 10.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @nested_rounds() {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %next.i, %latch ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %next.j, %inner ]
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %next.j = add i32 %j, 1
  %again = icmp ule i32 %next.j, %id
  br i1 %again, label %inner, label %latch
latch:
  %next.i = add i32 %i, 1
  %more = icmp ult i32 %next.i, 2
  br i1 %more, label %outer, label %exit
exit:
  ret void
}
