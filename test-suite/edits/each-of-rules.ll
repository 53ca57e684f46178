; Every single edit of a kernel in which rules of divergence look at other instructions: members of
; results, masks and shifts of the thread index, calls whose results do not depend on what they
; read, phis, a loop that threads leave in different rounds, and a cycle with two entries.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare { i1, i64 } @llvm.amdgcn.if.i64(i1)
declare i32 @opaque(i32)
declare i32 @pure(i32, i32) memory(none) nounwind willreturn

define i32 @first(i32 %a, i32 %b) {
start:
  %s = shl i32 %a, 6
  ret i32 %s
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %p, i32 %n, i32 %m) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %w = lshr i32 %x, 6
  %l = and i32 %x, 63
  br label %next
next:
  %y = call i32 @llvm.amdgcn.workitem.id.x()
  %f = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %y)
  %q = udiv i32 %y, 64
  %k = and i32 %y, -64
  %r = call i32 @first(i32 %q, i32 %l)
  %u = call i32 @pure(i32 %w, i32 %n)
  %c = icmp slt i32 %l, %n
  %if = call { i1, i64 } @llvm.amdgcn.if.i64(i1 %c)
  %t = extractvalue { i1, i64 } %if, 0
  br i1 %t, label %then, label %join
then:
  ; 300 rows
  %o = call i32 @opaque(i32 %k)
  br label %join
join:
  %j = phi i32 [ %o, %then ], [ %u, %next ]
  %z = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %w)
  br label %loop
loop:
  %i = phi i32 [ 0, %join ], [ %i1, %loop ]
  %e = phi i32 [ %z, %join ], [ %g, %loop ]
  %i1 = add i32 %i, 1
  %g = add i32 %e, %m
  %d = icmp slt i32 %i1, %x
  br i1 %d, label %loop, label %after
after:
  %h = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %i1)
  %v = call i32 @first(i32 %g, i32 %i1)
  %s = icmp eq i32 %j, %m
  br i1 %s, label %left, label %right
left:
  %a = phi i32 [ %h, %after ], [ %b, %right ]
  %a1 = add i32 %a, 1
  %la = icmp slt i32 %a1, %f
  br i1 %la, label %right, label %exit
right:
  %b = phi i32 [ %v, %after ], [ %a1, %left ]
  %b1 = add i32 %b, %r
  %lb = icmp slt i32 %b1, %n
  br i1 %lb, label %left, label %exit
exit:
  %out = phi i32 [ %a1, %left ], [ %b1, %right ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %out
  store i32 %out, ptr addrspace(1) %at
  ret void
}

; each edit
; random edits
