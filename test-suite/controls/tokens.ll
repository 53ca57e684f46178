; Threads leave a loop in different rounds and vote by rounds: the token of the loop controls the ballot behind it. Where all are together
; again each has the vote of its round.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) convergent {
entry:
  %token = call token @llvm.experimental.convergence.entry()
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %last = and i32 %id, 3
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %cont ]
  %heart = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %token) ]
  %found = icmp eq i32 %i, %last
  br i1 %found, label %break, label %cont
cont:
  %next = add i32 %i, 1
  br label %loop
break:
  %vote = call i64 @llvm.amdgcn.ballot.i64(i1 true) [ "convergencectrl"(token %heart) ]
  br label %after
after:
  %used = add i64 %vote, 1
  ret void
}
