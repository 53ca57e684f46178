; The loop of `single_break`, where the first ballot behind it uses the token of the loop: one ballot for each round, 01 and 10. The
; second uses the token from before the loop, and both threads are together at it: 11.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
define amdgpu_kernel void @single_break_tokens() {
entry:
  %anchor = call token @llvm.experimental.convergence.anchor()
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %cont ]
  %heart = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %anchor) ]
  %found = icmp eq i32 %i, %id
  br i1 %found, label %break, label %cont
cont:
  %next = add i32 %i, 1
  br label %loop
break:
  %round = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %heart) ]
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %anchor) ]
  ret void
}
