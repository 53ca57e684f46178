; Ballots in a loop of two rounds where the even thread skips the second ballot: `continue` goes to a block of its own.
;
; Both threads are together in every round: the ballots are 11, 10, 11, 10.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @ballot_continue() {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %odd = trunc i32 %id to i1
  br label %H
H:
  %i = phi i32 [ 0, %entry ], [ %next, %cont ]
  %more = icmp ult i32 %i, 2
  br i1 %more, label %body, label %exit
body:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br i1 %odd, label %then, label %cont
then:
  %some = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %cont
cont:
  %next = add i32 %i, 1
  br label %H
exit:
  ret void
}
