; What is found of barriers depends on blocks that end and do nothing, on calls that may come there
; as well, and on sources of branches that are not the next ones.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)
declare void @computes(i32) memory(none)

define ptx_kernel void @behind.guard(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = icmp slt i32 %tid, %n
  br i1 %c, label %wait, label %exit
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit
exit:
  ; 260 rows
  ret void
}

define void @called(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = icmp slt i32 %tid, %n
  br i1 %c, label %wait, label %exit
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit
exit:
  ; 260 rows
  ret void
}

define ptx_kernel void @without.default(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  switch i32 %tid, label %never [ i32 1, label %some
                                  i32 2, label %all ]
never:
  unreachable
some:
  store i32 %n, ptr addrspace(1) %out
  br label %all
all:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ; 260 rows
  ret void
}

define ptx_kernel void @of.as.many(ptr addrspace(1) %out, i32 %n) "nvvm.reqntid"="64" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %u = add i32 %n, 1
  br label %next
next:
  ; 70 blocks
  %c = icmp slt i32 %tid, %n
  br i1 %c, label %wait, label %exit
wait:
  call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)
  br label %exit
exit:
  store i32 %u, ptr addrspace(1) %out
  ; 260 rows
  ret void
}

define ptx_kernel void @under.two(ptr addrspace(1) %out, i32 %n) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %v0 = add i32 %x, 1
  %v1 = mul i32 %v0, %y
  %c = icmp slt i32 %v0, %n
  br i1 %c, label %outer, label %exit
outer:
  %w = add i32 %v1, %n
  %d = icmp slt i32 %w, %v0
  br i1 %d, label %wait, label %exit
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %exit
exit:
  store i32 %n, ptr addrspace(1) %out
  ; 260 rows
  ret void
}

define void @splits(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = icmp slt i32 %tid, %n
  br label %next
next:
  ; 70 blocks
  br i1 %c, label %wait, label %exit
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ; 260 rows
  ret void
exit:
  store i32 %n, ptr addrspace(1) %out
  ret void
}

; Whether threads that miss a barrier have ended is a matter of what the last block does.
; function @behind.guard
; try insert before %row8: store i32 %n, ptr addrspace(1) %out
; expect findings = PHX001
; edit erase exit:8
; expect findings = PHX003
; expect by = repaired: classic_memory_ssa diagnostics effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts summary written_spaces; anew: through

; The caller of a function may wait behind the call, unless the function does not return.
; function @called
; expect findings = PHX001
; try end exit: unreachable
; expect findings = PHX003

; A default that no thread takes ends nothing, until threads come there.
; function @without.default
; expect findings = none
; try insert before end of never: store i32 %n, ptr addrspace(1) %out
; expect findings = PHX001
; edit erase never:0
; expect findings = none
; edit end never: ret
; expect findings = PHX001

; A barrier for as many threads as a workgroup has is one of all threads, unless other code may come
; there: a call matters, whatever the callee does.
; function @of.as.many
; expect findings = PHX001
; try insert before %u: call void @computes(i32 %n)
; expect findings = none
; edit erase entry:1
; expect findings = PHX001
; try insert before %u: call void @computes(i32 %n)
; edit split before %u: entry.u
; expect findings = none

; A branch depends on less, and the barrier behind it still on the same because of another branch.
; function @under.two
; try set %w 0 = %v0
; expect control wait = {x}
; expect findings = PHX001
; edit set %w 0 = %v1
; expect control wait = {x, y}

; A split has nothing to do with a barrier, unless threads end no longer.
; function @splits
; expect findings = PHX001
; try split before exit:0: exit.rest
; expect findings = PHX001
; expect by = repaired: classic_memory_ssa convergence effects memory_accesses memory_kinds memory_ssa space_conflicts; anew: through
; edit end exit.rest: unreachable
; expect findings = PHX003
