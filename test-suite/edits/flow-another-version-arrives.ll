; A block that keeps its place and what it holds is led to from elsewhere alone, so that another
; version of a slot, or of what an argument points to, arrives there.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %x = alloca i32
  br i1 %c, label %a, label %over
a:
  %na = add i32 %n, 1
  br label %b
over:
  store i32 %n, ptr %x
  br label %j
j:
  %nj = add i32 %n, 2
  br label %t
t:
  unreachable
b:
  %l = load i32, ptr %x
  %cl = icmp slt i32 %l, 5
  ; 300 rows
  store i32 %l, ptr %out
  ret void
}

define void @leaves(ptr %out, i32 %n, i1 %c, ptr %io) {
entry:
  %x = alloca i32
  br i1 %c, label %go, label %rest
go:
  %cn = icmp slt i32 %n, 5
  br i1 %cn, label %a, label %b
a:
  store i32 1, ptr %io
  %na = add i32 %n, 1
  ret void
b:
  store i32 %n, ptr %io
  br label %t
t:
  unreachable
rest:
  ; 300 rows
  ret void
}

; edit end a: unreachable
; edit redirect j 0 = b
; expect by = repaired: classic_memory_ssa convergence effects memory_kinds memory_ssa; anew: address_memory memory_accesses private_memory through

; function @leaves
; try split before end of a: tail
; edit end a: unreachable
; edit redirect b 0 = tail
; expect by = repaired: classic_memory_ssa convergence effects memory_kinds memory_ssa space_conflicts through; anew: address_memory memory_accesses private_memory

; each edit
