; A function that gives back one of the pointers that it is given, and leaves something there: what
; its callers load depends on which one that is.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptr @pick(ptr %a, ptr %b, i32 %n, i1 %c) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %old = load i32, ptr %a
  %sum = add i32 %old, %n
  store i32 %n, ptr %b
  br i1 %c, label %one, label %two
one:
  store i32 %tid, ptr %a
  %a1 = getelementptr i32, ptr %a, i32 1
  br label %join
two:
  ; 260 rows
  store i32 %sum, ptr %b
  br i1 %c, label %join, label %out
join:
  %to = phi ptr [ %a1, %one ], [ %b, %two ]
  ret ptr %to
out:
  ret ptr %b
}

define ptx_kernel void @kernel(ptr addrspace(1) %p, i32 %n, i1 %c) {
start:
  %x = alloca [4 x i32]
  %y = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %n, ptr %x
  store i32 %tid, ptr %y
  %of = call ptr @pick(ptr %x, ptr %y, i32 %n, i1 %c)
  %l = load i32, ptr %of
  store i32 %l, ptr addrspace(1) %p
  ret void
}

; function @pick
; try set %to 1 = %a
; expect by = repaired: memory_kinds pointer_flow space_conflicts summary through
; edit set end of out 0 = %a
; expect by = repaired: effects memory_kinds pointer_flow space_conflicts summary; anew: through
; edit set end of join 0 = %b
; expect by = repaired: effects memory_kinds pointer_flow space_conflicts summary; anew: through
; edit insert before end of out: store i32 %tid, ptr %a
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts summary through written_spaces
; edit set end of out 0 = %b
; expect by = repaired: effects memory_kinds pointer_flow space_conflicts summary through
; try split before end of out: out.end
; expect by = repaired: classic_memory_ssa convergence effects memory_accesses memory_kinds memory_ssa space_conflicts summary through
; edit set end of out.end 0 = %a1
; edit move %a1 before %old
; expect by = repaired: effects memory_kinds space_conflicts summary through
; edit redirect one 0 = out
; expect by = repaired: classic_memory_ssa convergence effects memory_kinds memory_ssa pointer_flow space_conflicts summary through

; each edit
; random edits
