; Ballots on both sides of a divergent branch in a loop, and where the sides merge.
;
; In each of two rounds the sides have their own, and both threads are together again behind them: 01, 10, 11, twice.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
define amdgpu_kernel void @merge_point() {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %odd = trunc i32 %id to i1
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %merge ]
  br i1 %odd, label %then, label %else
then:
  %some = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %merge
else:
  %others = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  br label %merge
merge:
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 2
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
