; Which facts an edit changes of a kernel that accesses a row of a matrix, a column of a tile, and,
; in loops, every cell of a grid. An answer that `expect by` does not name is the one from before
; the edit.
target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, i32 }
@tile = internal addrspace(3) global [33 x [33 x float]] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)

define ptx_kernel void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n, i32 %m) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %far.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %x
  %far = load i32, ptr addrspace(1) %far.at, align 4
  %own.at = getelementptr inbounds ptr addrspace(1), ptr addrspace(1) %q, i32 %x
  %own = load ptr addrspace(1), ptr addrspace(1) %own.at, align 8
  %from = add i32 %n, 11
  %shift.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %from
  %shift = load i32, ptr addrspace(1) %shift.at, align 4
  %j = add nsw i32 %shift, %x
  %shifted.at = getelementptr inbounds i32, ptr addrspace(1) %p, i32 %j
  %shifted = load i32, ptr addrspace(1) %shifted.at, align 4
  %thrice = mul i32 %x, 3
  %of.pair = getelementptr inbounds %pair, ptr addrspace(1) %p, i32 %x, i32 1
  %v0 = add i32 %n, 1
  %v1 = mul i32 %v0, %v0
  %rows = add i32 %n, 5
  %line = mul i32 %rows, 33
  %once = mul i32 %x, 1
  %i = add nsw i32 %line, %once
  %wide = sext i32 %i to i64
  %a = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %wide
  %a1 = getelementptr inbounds i32, ptr addrspace(1) %a, i32 1
  %first = load i64, ptr addrspace(1) %p, align 8
  %x.wide = zext i32 %x to i64
  %b.wide = zext i32 %b to i64
  %m.wide = zext i32 %m to i64
  %e = add nuw i64 %b.wide, 1
  %e.x = add i64 %e, %x.wide
  %e.far = add i64 %e.x, %m.wide
  %e.only = sub i64 %e.far, %m.wide
  %frozen = freeze i64 %e.only
  %fr = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %frozen
  %of.frozen = load i32, ptr addrspace(1) %fr, align 4
  %both = add i64 %e.x, %first
  %less = sub i64 %e.far, %both
  %unread = add i32 %v0, 3
  %l = load i32, ptr addrspace(1) %a1, align 4
  store i32 %v0, ptr addrspace(1) %a, align 4
  %t = getelementptr inbounds [33 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %x, i32 %n
  %s = load float, ptr addrspace(3) %t, align 4
  %member = load i32, ptr addrspace(1) %of.pair, align 4
  %base = mul i32 %b, 256
  %start = add nsw i32 %base, %x
  br label %loop
loop:
  %k = phi i32 [ %start, %entry ], [ %next, %loop ]
  %c = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %k
  %o = load i32, ptr addrspace(1) %c, align 4
  %u = add i32 %o, %v1
  store i32 %u, ptr addrspace(1) %c, align 4
  %step = add i32 %m, 1
  %next = add nsw i32 %k, %step
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %second
second:
  %d0 = add i32 %m, 9
  %size.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %d0
  %size = load i32, ptr addrspace(1) %size.at, align 4
  br label %again
again:
  %k2 = phi i32 [ %x, %second ], [ %next2, %again ]
  %c2 = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %k2
  %o2 = load i32, ptr addrspace(1) %c2, align 4
  %next2 = add nsw i32 %k2, %size
  %more2 = icmp slt i32 %next2, %n
  br i1 %more2, label %again, label %third
third:
  br label %round
round:
  %r = phi i32 [ 0, %third ], [ %r.next, %latch ]
  %r.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %r
  %r.l = load i32, ptr addrspace(1) %r.at, align 4
  %r.next = add nsw i32 %r, %m
  %is.zero = icmp eq i32 %m, 0
  br i1 %is.zero, label %skip, label %latch
skip:
  br label %latch
latch:
  %more3 = icmp slt i32 %m, %n
  br i1 %more3, label %round, label %entries
entries:
  %some = icmp ult i32 %n, 16
  br i1 %some, label %left, label %right
left:
  %votes = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)
  %cell = getelementptr inbounds [32 x i32], ptr addrspace(1) %p, i32 %votes, i32 %x
  br label %behind
behind:
  store i32 %x, ptr addrspace(1) %cell, align 4
  br label %right
right:
  %once.more = icmp ult i32 %n, %m
  br i1 %once.more, label %left, label %done
done:
  ; 300 rows
  store i32 %n, ptr addrspace(1) %q
  ret void
}

; Integers, and what is stored.
; try set %v1 1 = i32 7
; expect by = repaired: memory_kinds
; try insert before %l: %new = add i32 %v0, %v0
; expect by = repaired: memory_kinds
; try erase %unread
; expect by = repaired: memory_kinds
; try set entry:38 0 = %v1
; expect by = repaired: effects load_classes memory_kinds space_conflicts written_spaces; anew: through

; Indices: the pattern is the same, another stride, they differ, may wrap, may be poison.
; try set %line 1 = i32 5
; expect by = repaired: memory_kinds
; try set %t 2 = %v0
; expect by = repaired: effects load_classes memory_accesses memory_kinds space_conflicts; anew: through
; try set %once 1 = i32 3
; expect by = repaired: memory_accesses memory_kinds
; edit erase %s
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try set %rows 1 = %far
; expect by = repaired: load_classes memory_accesses memory_kinds
; try set %from 0 = %far
; expect by = repaired: load_classes memory_accesses memory_kinds
; try like %i: add i32 %line, %once
; expect by = repaired: memory_accesses memory_kinds
; try like %e: add i64 %b.wide, 1
; expect by = repaired: memory_accesses memory_kinds
; edit like %e: add nuw i64 %b.wide, 1
; expect by = repaired: memory_accesses memory_kinds

; Bases and addresses.
; try set %a 0 = %q
; expect by = repaired: effects memory_kinds pointer_flow space_conflicts; anew: load_classes through
; try set %a1 0 = %own
; expect by = repaired: effects load_classes memory_accesses memory_kinds pointer_flow space_conflicts; anew: through
; try set %l 0 = %of.pair
; expect by = repaired: effects load_classes memory_accesses memory_kinds space_conflicts; anew: through
; try set entry:38 1 = %of.pair
; expect by = repaired: effects load_classes memory_accesses memory_kinds space_conflicts written_spaces; anew: through
; edit set %of.pair 1 = %thrice
; expect by = repaired: effects load_classes memory_accesses memory_kinds space_conflicts; anew: through
; edit set %thrice 1 = i32 5
; expect by = repaired: memory_accesses memory_kinds

; Loads: alignment, more, less, elsewhere in their block and in other blocks.
; try like %l: load i32, ptr addrspace(1) %a1, align 8
; expect by = repaired: effects load_classes memory_accesses memory_kinds space_conflicts; anew: through
; try insert before %l: %new = load i32, ptr addrspace(1) %a
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try erase %s
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try move %l before %s
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: through
; try move %l before %unread
; expect by = repaired: effects load_classes memory_kinds space_conflicts; anew: through
; try move %l before %row100
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; edit move %s before %row250
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; edit move %l before %row290
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: through
; try set done:300 0 = %row2
; expect by = repaired: effects load_classes memory_kinds space_conflicts written_spaces; anew: through
; try set %c 1 = %n
; edit move %c before %a
; edit move %o before %a
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through

; Loops: the step, what comes in from outside, another phi, another edge back.
; try set %step 1 = i32 2
; expect by = repaired: memory_kinds
; try set %k 0 = %v0
; expect by = repaired: load_classes memory_accesses memory_kinds
; try set %size.at 1 = %far
; expect by = repaired: effects load_classes memory_accesses memory_kinds space_conflicts; anew: through
; try phi %also at loop: i32
; edit incoming %also entry = %start
; edit incoming %also loop = %next
; edit set %c 1 = %also
; expect by = repaired: effects load_classes memory_kinds space_conflicts; anew: through
; try redirect skip 0 = round
; edit incoming %r skip = %r.next
; expect by = repaired: convergence effects load_classes memory_kinds; anew: diagnostics through
; try set %r 0 = %x
; expect by = repaired: load_classes memory_accesses memory_kinds
; edit redirect skip 0 = round
; edit incoming %r skip = %x
; expect by = repaired: convergence effects load_classes memory_kinds; anew: diagnostics through

; Threads come into a cycle with two entries in another way.
; try set %some 0 = %x
; expect by = repaired: diagnostics memory_kinds; anew: memory_accesses
; edit set %some 0 = %b
; expect by = repaired: diagnostics memory_kinds; anew: memory_accesses

; Names, blocks, and what is undone.
; try name %l = other
; expect by = kept
; try split before %l: behind.l
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: diagnostics through
; try move block second behind done
; expect by = repaired: convergence load_classes memory_accesses memory_kinds race_free_loads space_conflicts; anew: diagnostics through
; try set %once 0 = %v0
; edit undo
; expect by = repaired: memory_kinds

; each edit
; random edits
