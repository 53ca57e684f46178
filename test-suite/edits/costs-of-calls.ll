; Which facts about calls, barriers and writes of a kernel an edit changes. An answer that `expect
; by` does not name is the one from before the edit.
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global [4 x i32] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @computes(i32) memory(none)
declare void @together(i32) convergent memory(none)

define internal void @leaf(i32 %n) {
start:
  %here = addrspacecast ptr addrspace(3) @lds to ptr
  %there = addrspacecast ptr addrspace(1) @dev to ptr
  store i32 %n, ptr %here
  call void @computes(i32 %n)
  ret void
}

define void @meet(i32 %n) {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v0 = add i32 %n, 1
  %v1 = mul i32 %v0, %v0
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %g = addrspacecast ptr addrspace(1) @dev to ptr
  %a = getelementptr inbounds i32, ptr %s, i32 %n
  %b = getelementptr inbounds i32, ptr %a, i32 1
  store i32 %v0, ptr %b
  call void @leaf(i32 %v0)
  %u = add i32 %v0, %n
  call void @computes(i32 %u)
  %c = icmp slt i32 %v1, %n
  br i1 %c, label %outer, label %exit
outer:
  %w = add i32 %v1, %n
  %d = icmp slt i32 %w, %v0
  br i1 %d, label %inner, label %join
inner:
  call void @together(i32 %w)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %join
join:
  call void @together(i32 %n)
  store i32 %n, ptr addrspace(1) %out
  br label %exit
exit:
  ; 300 rows
  ret void
}

; Sums, and which branches diverge.
; expect findings = none
; try set %row8 1 = i32 7
; expect by = repaired: memory_kinds
; try set %w 1 = %tid
; expect by = repaired: diagnostics memory_kinds
; expect control inner = {x}
; expect findings = PHX001
; edit set %w 1 = %n
; expect by = repaired: diagnostics memory_kinds
; expect control inner = {}
; expect findings = none
; edit set %w 1 = %tid
; edit split before %w: outer.w
; expect control inner = {x}
; expect by = repaired: classic_memory_ssa convergence effects memory_accesses memory_kinds memory_ssa; anew: diagnostics through
; edit redirect inner 0 = exit
; expect by = repaired: classic_memory_ssa convergence effects memory_kinds memory_ssa space_conflicts; anew: barrier_blocks diagnostics own_barriers through
; expect control join = {x}
; try set %v0 0 = %tid
; expect by = repaired: diagnostics memory_kinds
; expect findings = PHX001

; What a function is given; before, behind and in place of calls.
; try insert before entry:8: %more = add i32 %v0, %v0
; expect by = repaired: memory_kinds
; try set inner:0 0 = %v0
; expect by = repaired: callees convergence diagnostics effects memory_kinds space_conflicts written_spaces; anew: race_free_loads through
; try insert before entry:8: call void @together(i32 %n)
; expect by = repaired: callees convergence effects sites space_conflicts written_spaces; anew: diagnostics memory_kinds race_free_loads through
; edit erase entry:8
; expect by = repaired: callees convergence effects sites space_conflicts written_spaces; anew: diagnostics memory_kinds race_free_loads through
; try insert before entry:9: call void @leaf(i32 %v0)
; expect by = repaired: callees classic_memory_ssa effects memory_ssa space_conflicts written_spaces; anew: memory_kinds through
; try erase join:0
; expect by = repaired: callees convergence effects sites space_conflicts written_spaces; anew: diagnostics memory_kinds race_free_loads through
; try move inner:0 before %d
; expect by = repaired: callees convergence effects memory_kinds sites space_conflicts written_spaces; anew: diagnostics race_free_loads through
; try insert before %c: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; expect by = repaired: callees classic_memory_ssa convergence effects memory_kinds memory_ssa sites space_conflicts written_spaces; anew: barrier_blocks diagnostics own_barriers race_free_loads through
; edit erase inner:1
; expect by = repaired: callees classic_memory_ssa convergence effects memory_kinds memory_ssa sites space_conflicts written_spaces; anew: barrier_blocks diagnostics own_barriers race_free_loads through

; What is written, and where.
; try set entry:7 0 = %v1
; expect by = repaired: effects memory_kinds space_conflicts written_spaces; anew: through
; try insert before %u: %more = load i32, ptr %b
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try insert before %u: store i32 %v0, ptr %b
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: through
; try set %a 0 = %g
; expect by = repaired: effects memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through

; Blocks, and what is undone.
; try split before %u: behind
; expect by = repaired: classic_memory_ssa convergence effects memory_accesses memory_kinds memory_ssa space_conflicts; anew: diagnostics through
; edit merge entry
; expect by = repaired: classic_memory_ssa convergence effects memory_accesses memory_kinds memory_ssa space_conflicts; anew: diagnostics through
; try move block exit behind outer
; expect by = repaired: convergence memory_kinds; anew: diagnostics memory_accesses through
; try set entry:8 0 = %v1
; edit undo
; expect by = repaired: memory_kinds

; each edit
; random edits
