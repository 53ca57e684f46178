; Ballots controlled by tokens, in a loop that threads leave in different rounds.
;
; With a heart in the loop the ballots of a round are together: 1111, 1110, 1100, 1000. The anchor before the loop is one
; for all.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1) #0
declare token @llvm.experimental.convergence.anchor() #0
declare token @llvm.experimental.convergence.loop() #0
define amdgpu_kernel void @tokens() #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %anchor = call token @llvm.experimental.convergence.anchor()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %heart = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %anchor) ]
  %here = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %heart) ]
  %next = add i32 %i, 1
  %more = icmp ule i32 %next, %id
  br i1 %more, label %loop, label %exit
exit:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %anchor) ]
  ret void
}
attributes #0 = { convergent nounwind }
