; Edits of blocks of a loop with accesses of all kinds, one after another: the forms of memory are
; repaired.
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
declare void @reads(ptr readonly) memory(argmem: read)
declare void @outside(ptr)

define ptx_kernel void @kernel(ptr addrspace(1) noalias %out, ptr %p, i32 %n, i1 %c) {
entry:
  %slot = alloca [4 x i32]
  %kept = alloca ptr
  %part = getelementptr i32, ptr %slot, i32 1
  %deep = getelementptr i32, ptr %part, i32 1
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  store ptr %s, ptr %kept
  br label %head
head:
  %l = load i32, ptr addrspace(1) %out
  store i32 %l, ptr %deep
  br i1 %c, label %then, label %join
then:
  store i32 %n, ptr addrspace(3) @lds
  store i32 %n, ptr %slot
  %t = add i32 %l, 1
  br label %join
join:
  %m = load i32, ptr addrspace(3) @lds
  %k = load ptr, ptr %kept
  store i32 %n, ptr %k
  call void @reads(ptr %deep)
  br i1 %c, label %head, label %exit
exit:
  %old = atomicrmw add ptr addrspace(1) %out, i32 %n monotonic
  %v = load volatile i32, ptr addrspace(3) @lds
  %o = load i32, ptr %part
  call void @outside(ptr %p)
  store i32 %o, ptr addrspace(1) %out
  ; 250 rows
  br label %last
last:
  ; 70 blocks
  ret void
}

; edit split before %l: head.l
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: through
; edit merge head
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; No thread comes to a definition in the loop, and one does.
; edit redirect head 0 = join
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa space_conflicts written_spaces; anew: address_memory memory_accesses private_memory through
; edit redirect head 0 = then
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa space_conflicts written_spaces; anew: address_memory memory_accesses private_memory through
; The loop ends, and is one, with two entries.
; edit redirect join 0 = exit
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa space_conflicts; anew: address_memory memory_accesses private_memory through
; edit redirect join 0 = head
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa space_conflicts; anew: address_memory memory_accesses private_memory through
; edit end entry: br %c head join
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa space_conflicts; anew: address_memory memory_accesses private_memory through
; edit end last: br exit
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa race_free_loads; anew: address_memory memory_accesses pointer_flow private_memory through
; Addresses stand in another block.
; edit split before %deep: entry.deep
; expect by = repaired: address_memory classic_memory_ssa convergence effects load_classes memory_kinds memory_ssa private_memory space_conflicts; anew: memory_accesses through

; each edit
; random edits
