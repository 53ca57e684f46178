; Which facts an edit changes of a kernel with stack slots of all kinds, and all that can be done
; with a slot. An answer that `expect by` does not name is the one from before the edit.
target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, i64, ptr }
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.lifetime.start.p0(ptr)
declare void @peek(ptr, ptr)

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c, ptr byval(%pair) %v) {
entry:
  %a = alloca i32
  %b = alloca i32
  %p = alloca ptr
  %d = alloca [4 x i32]
  %e = alloca [4 x i32]
  %s = alloca %pair
  %gone = alloca i32
  %x = alloca i64
  %f0 = alloca i32
  %f1 = alloca i32
  %f2 = alloca i32
  %m = add i32 %n, 3
  %k = and i32 %n, 3
  call void @llvm.lifetime.start.p0(ptr %a)
  store i32 %n, ptr %a
  store i32 0, ptr %b
  store i64 0, ptr %x
  store i32 %n, ptr %gone
  store ptr %gone, ptr %out
  call void @llvm.memset.p0.i64(ptr %d, i8 0, i64 16, i1 false)
  store [4 x i32] zeroinitializer, ptr %e
  store ptr %out, ptr %p
  %xa = addrspacecast ptr %x to ptr addrspace(5)
  %xb = load i32, ptr addrspace(5) %xa
  br i1 %c, label %one, label %two
one:
  %dx = getelementptr [4 x i32], ptr %d, i32 0, i32 1
  store i32 %n, ptr %dx
  store i32 7, ptr %b
  call void @peek(ptr captures(none) %a, ptr captures(none) %b)
  br label %two
two:
  %w = phi ptr [ %out, %entry ], [ %out, %one ], [ %w, %two ]
  %lb = load i32, ptr %b
  %la = load volatile i32, ptr %a
  %dy = getelementptr [4 x i32], ptr %d, i32 0, i32 %k
  %ld = load i32, ptr %dy
  %sum = add i32 %lb, %ld
  store i32 %sum, ptr %a
  %lp = load ptr, ptr %p
  store ptr %lp, ptr %p
  %sel = select i1 %c, ptr %out, ptr %out
  %old = atomicrmw add ptr %b, i32 %n monotonic
  %cx = cmpxchg ptr %a, i32 %n, i32 %old monotonic monotonic
  %again = icmp slt i32 %sum, %n
  br i1 %again, label %two, label %three
three:
  call void @llvm.memcpy.p0.p0.i64(ptr %e, ptr %d, i64 16, i1 false)
  %ex = getelementptr i8, ptr %e, i64 4
  %ey = getelementptr i8, ptr %ex, i64 4
  %le = load i32, ptr %ey
  %all = load [4 x i32], ptr %e
  %sx = getelementptr %pair, ptr %s, i32 0, i32 1
  store i64 5, ptr %sx
  store i32 %le, ptr %s
  %ls = load %pair, ptr %s
  %at = load atomic i32, ptr %b monotonic, align 4
  %same = icmp eq ptr %a, %ex
  %lx = load i64, ptr %x
  %vx = getelementptr i8, ptr %v, i64 4
  %vs = select i1 %c, ptr %vx, ptr %v
  %vy = getelementptr i8, ptr %vs, i64 4
  %lv = load i32, ptr %vy
  br i1 %same, label %four, label %five
four:
  store i32 %n, ptr %f0
  %g0 = load i32, ptr %f0
  store i32 %g0, ptr %f1
  br label %five
five:
  %g1 = load i32, ptr %f1
  store i32 %g1, ptr %f2
  %g2 = load i32, ptr %f2
  ; 230 rows
  ret void
}

; An integer, and what is stored.
; try set %sum 0 = %n
; expect by = repaired: memory_kinds
; try set two:6 0 = %n
; expect by = repaired: effects memory_kinds space_conflicts written_spaces; anew: through

; Loads and stores: more, less, in another order, volatile, elsewhere.
; try repeat %g1
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: private_memory through
; try insert before %g2: %new = load i32, ptr %f2
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: private_memory through
; edit set %new 0 = %out
; expect by = repaired: effects load_classes memory_kinds memory_ssa space_conflicts; anew: private_memory through
; try erase %xb
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: private_memory through
; try insert before %g1: store i32 %n, ptr %f2
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: private_memory through
; edit erase five:0
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: private_memory through
; try move four:0 before five:1
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: private_memory through
; try like %g1: load volatile i32, ptr %f1
; expect by = repaired: classic_memory_ssa effects load_classes memory_kinds memory_ssa space_conflicts; anew: private_memory through

; Slots: more, less, in another order.
; try repeat %f2
; expect by = repaired: effects memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; try replace %f2 = %f1
; expect by = repaired: effects load_classes memory_kinds memory_ssa space_conflicts written_spaces; anew: address_memory private_memory through
; try move %f2 before %f0
; expect by = repaired: effects load_classes memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; try erase %ls
; edit replace %s = %out
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: address_memory private_memory through

; A slot escapes, escapes again, and no longer.
; try insert before %g0: store ptr %f2, ptr %out
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: address_memory private_memory through
; edit insert before %lx: store ptr %gone, ptr %out
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: through
; edit set entry:18 0 = %out
; expect by = repaired: effects memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: address_memory private_memory through
; edit set %sel 1 = %b
; expect by = repaired: memory_kinds memory_ssa pointer_flow space_conflicts; anew: address_memory private_memory through
; edit set %sel 1 = %out
; expect by = repaired: memory_kinds memory_ssa pointer_flow space_conflicts; anew: address_memory private_memory through

; Copies, steps of addresses, indices.
; try set three:0 1 = %s
; expect by = repaired: callees effects memory_kinds memory_ssa space_conflicts written_spaces; anew: address_memory private_memory through
; try set %ex 1 = i64 8
; expect by = repaired: effects load_classes memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; try set %ex 0 = %d
; expect by = repaired: effects load_classes memory_kinds memory_ssa pointer_flow space_conflicts; anew: address_memory private_memory through
; try set %dx 2 = %k
; expect by = repaired: effects memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; try insert before %g1: %step = getelementptr i32, ptr %f1, i32 %n
; expect by = repaired: effects memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; edit insert before %g1: store i32 %n, ptr %step
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: private_memory through

; What the launch passes.
; try set %vs 2 = %out
; expect by = repaired: load_classes memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; edit set %vs 2 = %b
; expect by = repaired: load_classes memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: address_memory private_memory through
; try insert before %lv: store i32 %n, ptr %vy
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; try set %sel 1 = %v
; expect by = repaired: memory_kinds pointer_flow space_conflicts; anew: through

; A load of a slot that a function is given with another one.
; try insert before one:3: %new = load i32, ptr %a
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: private_memory through

; each edit
; random edits
