; Every single edit of functions that a kernel calls, and of the kernel: what they return, what they
; do through pointers, and a recursion. Facts of callers and callees follow as well.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @opaque(i32)

define i32 @choose(i32 %a, i32 %b, i1 %c) {
start:
  br i1 %c, label %one, label %two
one:
  ret i32 %a
two:
  %d = add i32 %b, 1
  ret i32 %d
}

define void @through(ptr addrspace(5) %p, ptr addrspace(5) %q, i32 %v) {
start:
  ; 300 rows
  %l = load i32, ptr addrspace(5) %p
  %p1 = getelementptr i32, ptr addrspace(5) %p, i32 1
  %c = icmp slt i32 %l, %v
  br i1 %c, label %write, label %done
write:
  store i32 %v, ptr addrspace(5) %q
  br label %done
done:
  %m = phi i32 [ %l, %start ], [ %v, %write ]
  store i32 %m, ptr addrspace(5) %p1
  ret void
}

define i32 @down(i32 %n, ptr addrspace(5) %p) {
start:
  %z = icmp slt i32 %n, 1
  br i1 %z, label %end, label %on
on:
  %n1 = sub i32 %n, 1
  %r = call i32 @down(i32 %n1, ptr addrspace(5) %p)
  %s = call i32 @choose(i32 %r, i32 %n, i1 %z)
  store i32 %s, ptr addrspace(5) %p
  br label %end
end:
  %out = phi i32 [ %n, %start ], [ %s, %on ]
  ret i32 %out
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %p, i32 %n) {
entry:
  %a = alloca { i32, i32 }, addrspace(5)
  %b = alloca i32, addrspace(5)
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  store i32 %n, ptr addrspace(5) %a
  store i32 %x, ptr addrspace(5) %b
  call void @through(ptr addrspace(5) %a, ptr addrspace(5) %b, i32 %n)
  %a1 = getelementptr { i32, i32 }, ptr addrspace(5) %a, i32 0, i32 1
  %l = load i32, ptr addrspace(5) %a1
  %c = icmp eq i32 %l, %n
  %r = call i32 @choose(i32 %l, i32 %n, i1 %c)
  %d = call i32 @down(i32 %r, ptr addrspace(5) %b)
  %lb = load i32, ptr addrspace(5) %b
  %s = add i32 %d, %lb
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %s
  store i32 %s, ptr addrspace(1) %at
  ret void
}

; function @through
; each edit

; function @choose
; each edit

; function @down
; each edit

; function @kernel
; each edit
; random edits
