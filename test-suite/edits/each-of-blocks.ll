; Every single edit of a kernel with many blocks, whose graph is updated: diamonds, nested loops
; that threads leave in different rounds and by several edges, a cycle with two entries, barriers,
; and operations under convergence control.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.loop()
declare i32 @collect(i32) convergent

define ptx_kernel void @kernel(ptr addrspace(1) %p, i32 %n, i1 %u) convergent {
entry:
  %token = call token @llvm.experimental.convergence.entry()
  %a = alloca i32
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr %a
  %c = icmp slt i32 %t, %n
  ; 300 rows
  br i1 %c, label %one, label %two
one:
  %o = add i32 %n, 3
  br label %join
two:
  store i32 %n, ptr %a
  br label %join
join:
  %j = phi i32 [ %o, %one ], [ %n, %two ]
  ; 66 blocks
  br label %before
before:
  br label %outer
outer:
  %i = phi i32 [ 0, %before ], [ %i1, %latch ]
  %round = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %token) ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) [ "convergencectrl"(token %round) ]
  br label %inner
inner:
  %k = phi i32 [ %i, %outer ], [ %k1, %more ]
  %loop = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %round) ]
  %k1 = add i32 %k, %j
  %g = call i32 @collect(i32 %k1) [ "convergencectrl"(token %loop) ]
  %d = icmp slt i32 %k1, %t
  br i1 %d, label %more, label %latch
more:
  %l = load i32, ptr %a
  %e = icmp eq i32 %l, %k1
  br i1 %e, label %out, label %inner
latch:
  %i1 = add i32 %i, 1
  %f = icmp slt i32 %i1, %n
  br i1 %f, label %outer, label %after
after:
  %v = phi i32 [ %k1, %latch ]
  br i1 %u, label %left, label %right
left:
  %x = phi i32 [ %v, %after ], [ %y1, %right ]
  %x1 = add i32 %x, 1
  %h = icmp slt i32 %x1, %n
  br i1 %h, label %right, label %out
right:
  %y = phi i32 [ %n, %after ], [ %x1, %left ]
  %y1 = add i32 %y, %t
  %m = icmp slt i32 %y1, %n
  br i1 %m, label %left, label %out
out:
  %r = phi i32 [ %k1, %more ], [ %x1, %left ], [ %y1, %right ]
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %r
  store i32 %r, ptr addrspace(1) %q
  ret void
}

; each edit
; random edits
