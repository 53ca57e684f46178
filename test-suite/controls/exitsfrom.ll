; Threads leave the inner loop to %z, and on to %exit, while others are back at %H before they meet: the way out behind %z is found as one that those who wait
; there can still take.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %u = icmp eq i32 %a0, 12345
  %v = trunc i32 %a0 to i1
  %x = icmp eq i32 %a0, 54321
  %n = and i32 %a1, 1
  br label %H
H:
  %k = phi i32 [ 0, %entry ], [ %more, %c ], [ %more, %z ]
  %more = add i32 %k, 1
  br i1 %u, label %w, label %h
w:
  br label %o
h:
  br label %p
p:
  %sum = add i32 %tid, %k
  %is.first = icmp eq i32 %sum, 0
  br i1 %is.first, label %t, label %q
q:
  switch i32 %n, label %h [
    i32 1, label %z
    i32 0, label %o
  ]
t:
  br label %c
o:
  br i1 %v, label %z, label %c
c:
  br label %H
z:
  br i1 %x, label %H, label %exit
exit:
  %r = mul i32 %k, 7
  ret void
}
