; A loop that threads leave in the round of their number, with a ballot in the block that the break goes to.
;
; No way leads from that block back to the loop, so it is behind the loop, and both threads are together there: 11. Whoever wants a ballot
; for each round has to say so; see `single_break_tokens`.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @single_break() {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %cont ]
  %found = icmp eq i32 %i, %id
  br i1 %found, label %break, label %cont
cont:
  %next = add i32 %i, 1
  br label %loop
break:
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  ret void
}
