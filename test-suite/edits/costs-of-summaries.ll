; Which facts an edit changes of a function that is given pointers, and so what its callers are
; told: it reads, writes and hands on what `%a` and `%b` point to, and puts `%c` into a slot first.
; An answer that `expect by` does not name is the one from before the edit.
target triple = "nvptx64-nvidia-cuda"
@dev = internal addrspace(1) global [4 x i32] zeroinitializer
@kept = internal addrspace(1) global ptr null
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @set(ptr %to, i32 %what) {
  %set = add i32 %what, 1
  store i32 %set, ptr %to
  ret void
}

define internal i32 @get(ptr %from) {
  %v = load i32, ptr %from
  ret i32 %v
}

define i32 @work(ptr %a, ptr %b, ptr %c, i32 %n, i32 %m) {
entry:
  %x = alloca i32
  %hold = alloca ptr
  %copy = alloca [4 x i32]
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store ptr %c, ptr %hold
  store i32 %n, ptr %x
  %a1 = getelementptr i32, ptr %a, i32 1
  %a2 = getelementptr i32, ptr %a, i32 2
  %a3 = getelementptr i32, ptr %a2, i32 1
  %la = load i32, ptr %a
  store i32 %n, ptr %a1
  %v0 = add i32 %la, %n
  %v1 = mul i32 %m, 3
  %g = getelementptr i32, ptr addrspace(1) @dev, i32 %n
  %lg = load i32, ptr addrspace(1) %g
  %c0 = icmp slt i32 %n, 7
  br i1 %c0, label %one, label %two
one:
  store i32 %v1, ptr %a2
  call void @set(ptr %a3, i32 %m)
  %held = load ptr, ptr %hold
  store i32 %v1, ptr %held
  br label %two
two:
  %i = phi i32 [ 0, %entry ], [ 0, %one ], [ %next, %two ]
  %lb = load i32, ptr %b
  %sum = add i32 %lb, %i
  %next = add i32 %i, 1
  store i32 %sum, ptr %b
  %l1 = load i32, ptr %a1
  %go = icmp slt i32 %next, %l1
  br i1 %go, label %two, label %three
three:
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %a, i64 16, i1 false)
  %y = getelementptr [4 x i32], ptr %copy, i32 0, i32 2
  %ly = load i32, ptr %y
  %got = call i32 @get(ptr %b)
  %c1 = icmp slt i32 %ly, %m
  br i1 %c1, label %four, label %five
four:
  store i32 %m, ptr %a1
  ret i32 %ly
five:
  ; 230 rows
  %w0 = add i32 %v1, %got
  store i32 %w0, ptr %x
  ret i32 %w0
}

define ptx_kernel void @kernel(ptr addrspace(1) %p, i32 %n) {
start:
  %s = alloca [4 x i32]
  %t = alloca i32
  %u = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %n, ptr %s
  store i32 %n, ptr %t
  store i32 %n, ptr %u
  %r = call i32 @work(ptr %s, ptr %t, ptr %u, i32 %n, i32 %tid)
  %o = load i32, ptr %s
  %q = load i32, ptr %t
  store i32 %r, ptr addrspace(1) %p
  ret void
}

; function @work
; Integers, results, and what is left through pointers.
; try set %row9 1 = i32 7
; expect by = repaired: memory_kinds summary through
; try set %v1 1 = %tid
; expect by = repaired: memory_kinds summary through
; try set end of five 0 = %v0
; expect by = repaired: effects memory_kinds summary through
; try set one:0 0 = %tid
; expect by = repaired: effects memory_kinds space_conflicts summary through written_spaces
; try repeat %lb
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts summary through
; try insert before %y: store i32 %m, ptr %a1
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts summary through written_spaces
; try erase one:0
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts summary through written_spaces
; try repeat %lg
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts summary through
; try set %g 1 = %m
; expect by = repaired: effects load_classes memory_kinds space_conflicts summary through
; try set one:1 1 = %n
; expect by = repaired: callees effects memory_kinds space_conflicts summary through written_spaces
; try set %c0 0 = %m
; expect by = repaired: memory_kinds summary through
; try insert before %v1: %least = call i32 @llvm.nvvm.redux.sync.umin(i32 %v0, i32 -1)
; edit set %w0 1 = %least
; expect by = repaired: callees classic_memory_ssa convergence effects memory_kinds sites space_conflicts written_spaces; anew: diagnostics summary through

; Parts of what a pointer leads to, and pointers that are kept.
; try set %a2 1 = i32 8
; expect by = repaired: effects memory_kinds space_conflicts summary; anew: through
; try set %a1 1 = %n
; expect by = repaired: effects load_classes memory_kinds space_conflicts summary; anew: through
; try insert before %w0: store ptr %b, ptr addrspace(1) @kept
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds summary; anew: load_classes memory_ssa pointer_flow space_conflicts through written_spaces
; edit set %v1 0 = %n
; expect by = repaired: memory_kinds summary through
; edit insert before %w0: store ptr %a, ptr addrspace(1) @kept
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts summary written_spaces; anew: through
; edit insert before %w0: store ptr %c, ptr addrspace(1) @kept
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts summary written_spaces; anew: through
; edit set %w0 1 = %m
; expect by = repaired: memory_kinds summary
; edit erase five:230
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts summary written_spaces; anew: pointer_flow through
; edit erase five:230
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts summary written_spaces; anew: pointer_flow through
; edit erase five:230
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds summary; anew: load_classes memory_ssa pointer_flow space_conflicts through written_spaces

; Where it returns, and blocks.
; try end one: ret %n
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa space_conflicts summary through; anew: address_memory memory_accesses private_memory
; edit insert before end of one: store i32 %m, ptr %a
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts summary through written_spaces
; edit end four: unreachable
; expect by = repaired: effects memory_kinds summary through
; edit end four: ret %m
; expect by = repaired: effects memory_kinds summary through
; try end entry: br two
; expect by = repaired: callees classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa pointer_flow space_conflicts summary written_spaces; anew: address_memory memory_accesses private_memory through
; edit set %v1 0 = %n
; expect by = repaired: memory_kinds summary through; anew: memory_accesses
; edit end entry: br one
; expect by = repaired: callees classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa pointer_flow space_conflicts summary written_spaces; anew: address_memory memory_accesses private_memory through
; try split before %w0: behind
; expect by = repaired: classic_memory_ssa convergence effects memory_kinds memory_ssa private_memory space_conflicts summary through; anew: memory_accesses

; each edit
; random edits
