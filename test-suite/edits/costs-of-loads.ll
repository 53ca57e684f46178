; Which facts about loads of a kernel an edit changes: loads that are stable, one before a barrier
; and one behind it, a branch that the barrier shows to be uniform, a pointer that comes from
; another memory, and a loop that threads leave in different rounds. An answer that `expect by` does
; not name is the one from before the edit.
target triple = "nvptx64-nvidia-cuda"
@v = internal addrspace(1) global i32 0
@w = internal addrspace(1) global i32 0
@tile = internal addrspace(3) global [64 x i32] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()

define internal void @put(ptr addrspace(1) %p, i32 %n) {
  %put = add i32 %n, 1
  ret void
}

define void @writer(i32 %n) {
  store i32 %n, ptr addrspace(1) @w
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q, ptr addrspace(1) %r, ptr addrspace(1) noalias %u, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %of.v = load i32, ptr addrspace(1) @v
  call void @put(ptr addrspace(1) %q, i32 %n)
  %of.p = load i32, ptr addrspace(1) %p
  %ix = add i32 %n, 1
  %limit = add i32 %n, 7
  %at = getelementptr i32, ptr addrspace(1) %r, i32 %ix
  %early = load i32, ptr addrspace(1) %at, !other !0
  %far = addrspacecast ptr addrspace(1) %r to ptr
  %tile = addrspacecast ptr addrspace(3) @tile to ptr
  %base = getelementptr i8, ptr %far, i32 0
  %then = getelementptr i8, ptr %base, i32 4
  %through = load i32, ptr %then
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %cell = getelementptr i32, ptr addrspace(1) %u, i32 %i
  %more = icmp slt i32 %next, %limit
  br i1 %more, label %loop, label %behind
behind:
  %left = load i32, ptr addrspace(1) %cell
  %c = icmp slt i32 %early, %n
  br i1 %c, label %sync, label %exit
sync:
  call void @llvm.nvvm.barrier0()
  %late = load i32, ptr addrspace(1) %at
  store i32 %late, ptr addrspace(1) %r
  %v0 = add i32 %late, %n
  ; 240 rows
  %v1 = add i32 %v0, %left
  %to = getelementptr i32, ptr addrspace(1) %r, i32 %v1
  store i32 %n, ptr addrspace(1) %to
  br label %exit
exit:
  ret void
}
!0 = !{}

; expect load %of.v = scalar non-coherent ldu
; expect load %of.p = scalar non-coherent ldu
; expect load %early = scalar
; expect load %through = scalar
; expect load %left = scalar non-coherent ldu
; expect load %late = plain

; Sums, and addresses that diverge, and do not any more.
; try set %v1 0 = %n
; expect by = repaired: memory_kinds
; try set %v1 0 = %tid
; expect by = repaired: memory_accesses memory_kinds
; try set %ix 0 = %tid
; expect load %early = plain
; expect by = repaired: diagnostics load_classes memory_accesses memory_kinds
; edit set %ix 0 = %n
; expect load %early = scalar
; expect by = repaired: diagnostics load_classes memory_accesses memory_kinds
; try set %at 1 = %tid
; expect by = repaired: diagnostics effects load_classes memory_accesses memory_kinds space_conflicts; anew: through
; try set %limit 0 = %tid
; expect load %left = non-coherent
; expect by = repaired: load_classes memory_accesses memory_kinds
; edit set %limit 0 = %n
; expect load %left = scalar non-coherent ldu
; expect by = repaired: load_classes memory_accesses memory_kinds

; Loads and stores: more, volatile, promised, elsewhere.
; try repeat %late
; expect by = repaired: classic_memory_ssa diagnostics effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try like %early: load volatile i32, ptr addrspace(1) %at
; expect load %early = plain
; expect by = repaired: classic_memory_ssa diagnostics effects load_classes memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try attach %late invariant.load from %early
; expect load %late = scalar non-coherent ldu
; expect by = repaired: classic_memory_ssa load_classes
; try insert before %early: store i32 0, ptr addrspace(1) %p
; expect load %early = scalar
; expect by = repaired: classic_memory_ssa diagnostics effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: load_classes through
; try insert before %c: store i32 0, ptr addrspace(1) %r
; expect load %early = scalar
; expect load %through = scalar
; edit move behind:1 before %early
; expect load %early = plain
; expect load %through = scalar
; expect by = repaired: classic_memory_ssa diagnostics effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: through
; try insert before %late: %new = load i32, ptr addrspace(1) @w
; edit set %base 0 = %tile
; expect by = repaired: classic_memory_ssa diagnostics effects memory_accesses memory_kinds; anew: load_classes memory_ssa pointer_flow race_free_loads space_conflicts through written_spaces

; A pointer leads to another memory.
; try set %base 0 = %tile
; expect load %through = plain
; expect by = repaired: diagnostics effects load_classes memory_kinds memory_ssa pointer_flow race_free_loads space_conflicts written_spaces; anew: through
; edit set %base 0 = %far
; expect load %through = scalar
; expect by = repaired: diagnostics effects load_classes memory_kinds memory_ssa pointer_flow race_free_loads space_conflicts written_spaces; anew: through

; Barriers.
; try insert before %early: call void @llvm.nvvm.barrier0()
; expect by = repaired: callees classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa sites space_conflicts written_spaces; anew: barrier_blocks diagnostics own_barriers race_free_loads through
; try erase sync:0
; expect by = repaired: callees classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa sites space_conflicts written_spaces; anew: barrier_blocks own_barriers race_free_loads through
; try split before %v0: behind.v
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa space_conflicts; anew: barrier_blocks diagnostics memory_accesses own_barriers through
; edit move sync:0 before %c
; expect by = repaired: callees classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa sites space_conflicts written_spaces; anew: barrier_blocks diagnostics own_barriers race_free_loads through

; each edit
; random edits
