; The same program as `ballot_continue`, its loop turned into two nested loops: `continue` stays in the inner one.
;
; The even thread goes round the inner loop alone, while the odd one waits at the header of the outer: the ballots are
; 11, 01, 10, 10, 10. Only the nesting changed, so splitting the header of a loop changes who is converged.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @ballot_nested() {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %odd = trunc i32 %id to i1
  br label %H1
H1:
  %o = phi i32 [ 0, %entry ], [ %next2, %then ]
  br label %H2
H2:
  %i = phi i32 [ %o, %H1 ], [ %next, %inc ]
  %more = icmp ult i32 %i, 2
  br i1 %more, label %body, label %exit
body:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br i1 %odd, label %then, label %inc
inc:
  %next = add i32 %i, 1
  br label %H2
then:
  %some = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %next2 = add i32 %i, 1
  br label %H1
exit:
  ret void
}
