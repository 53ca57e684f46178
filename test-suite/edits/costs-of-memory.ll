; Which facts about the memory of a kernel an edit changes. An answer that `expect by` does not name
; is the one from before the edit.
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global [4 x i32] zeroinitializer
@fixed = internal addrspace(1) constant [4 x i32] zeroinitializer
declare void @outside(ptr)
declare void @peek(ptr captures(none)) memory(argmem: read)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

define internal void @leaf(i32 %n) {
  %here = addrspacecast ptr addrspace(3) @lds to ptr
  store i32 %n, ptr %here
  ret void
}

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %slot = alloca i32
  %kept = alloca ptr
  %word = alloca i64
  %v0 = add i32 %n, 1
  %v1 = mul i32 %v0, %v0
  store i32 %v0, ptr %slot
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %g = addrspacecast ptr addrspace(1) @dev to ptr
  %a = getelementptr inbounds i32, ptr %s, i32 %n
  %b = getelementptr inbounds i32, ptr %a, i32 1
  %f = getelementptr inbounds i32, ptr addrspace(1) @fixed, i32 %n
  %h = getelementptr inbounds i32, ptr addrspace(1) %f, i32 1
  store ptr %a, ptr %kept
  store i64 0, ptr %word
  %p = load ptr, ptr %kept
  %wide = load i64, ptr %word
  %k = icmp eq i32 %v0, %v1
  %unread = add i32 %v0, 3
  %l = load i32, ptr %b
  %m = load i32, ptr addrspace(1) %h
  store i32 %v0, ptr %out, !marked !0
  %o = load i32, ptr %slot
  call void @leaf(i32 %o)
  call void @llvm.prefetch.p0(ptr %out, i32 0, i32 3, i32 1)
  br i1 %k, label %then, label %done
then:
  call void @outside(ptr %out)
  br label %done
done:
  ; 300 rows
  ret void
}
!0 = !{}

; Integers.
; try set %v1 1 = i32 7
; expect by = repaired: memory_kinds
; try like %k: icmp ne i32 %v0, %v1
; expect by = repaired: memory_kinds
; try insert before %m: %more = add i32 %v0, %v0
; expect by = repaired: memory_kinds
; try erase %unread
; expect by = repaired: memory_kinds

; What is stored, there and in a slot.
; try set entry:20 0 = %v1
; expect by = repaired: effects memory_kinds space_conflicts written_spaces; anew: through
; try set entry:5 0 = %v1
; expect by = repaired: effects memory_kinds space_conflicts written_spaces; anew: through

; A load more, less, volatile, behind a store, before the same access.
; try insert before %m: %more = load i32, ptr %b
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try erase %l
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try like %l: load volatile i32, ptr %b
; expect by = repaired: classic_memory_ssa effects load_classes memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try move %m before %o
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: through
; try move %l before %unread
; expect by = repaired: effects load_classes memory_kinds space_conflicts; anew: through

; A store more, less, volatile, to a slot.
; try insert before %m: store i32 %v0, ptr %b
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; try erase entry:20
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; try like entry:20: store volatile i32 %v0, ptr %out
; expect by = repaired: effects memory_kinds space_conflicts written_spaces; anew: through
; try set entry:20 1 = %slot
; expect by = repaired: effects memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: private_memory through

; Slots: a load less, a store more, another address in one, an address that is not used.
; try replace %o = %v0
; expect by = repaired: callees classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts written_spaces; anew: private_memory through
; try insert before %m: store i32 %v0, ptr %slot
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: private_memory through
; try set entry:12 0 = %b
; expect by = repaired: effects memory_kinds space_conflicts written_spaces; anew: through
; try erase %p
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa pointer_flow race_free_loads space_conflicts; anew: address_memory private_memory through
; try insert before %m: %more = getelementptr i32, ptr %slot, i32 %v0
; expect by = repaired: effects memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; try insert before %v0: %more = alloca i32
; expect by = repaired: effects memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; try replace %slot = %out
; expect by = repaired: effects load_classes memory_kinds memory_ssa pointer_flow race_free_loads space_conflicts written_spaces; anew: address_memory private_memory through

; Integers in slots count as addresses as long as one is made a pointer, and the first may go.
; try insert before %k: %made = inttoptr i64 %wide to ptr
; expect by = repaired: space_conflicts written_spaces; anew: address_memory memory_kinds through
; edit insert before %k: %again = inttoptr i64 %wide to ptr
; expect by = repaired: memory_kinds space_conflicts; anew: through
; edit insert before %k: store i64 1, ptr %word
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: address_memory private_memory through
; edit erase %made
; expect by = repaired: memory_kinds space_conflicts; anew: address_memory through
; edit erase %again
; expect by = repaired: space_conflicts; anew: address_memory memory_kinds through

; A slot is reached by others, and no longer.
; try insert before %m: store ptr %slot, ptr %out
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: address_memory private_memory through
; edit erase entry:19
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: address_memory private_memory through

; Where addresses lead: an index, a base, memory that is constant, an address, null.
; try set %a 1 = %v0
; expect by = repaired: effects load_classes memory_kinds space_conflicts; anew: through
; try set %a 0 = %g
; expect by = repaired: effects load_classes memory_kinds memory_ssa pointer_flow race_free_loads space_conflicts written_spaces; anew: through
; try set %h 0 = ptr addrspace(1) @dev
; expect by = repaired: classic_memory_ssa effects load_classes memory_kinds pointer_flow space_conflicts; anew: through
; try set %l 0 = %out
; expect by = repaired: effects load_classes memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; try set %m 0 = ptr addrspace(1) @dev
; expect by = repaired: classic_memory_ssa effects memory_kinds; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces
; try set entry:20 1 = ptr null
; expect by = repaired: effects memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through

; A new address is made from another one.
; try insert before %o: %step = getelementptr i32, ptr %out, i32 %n
; edit insert before %o: store i32 %n, ptr %step
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: through
; edit set %step 0 = %s
; expect by = repaired: effects memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through

; A variable is mentioned earlier, and no more.
; try insert before %v0: %early = load i32, ptr %out
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through
; edit set %early 0 = ptr addrspacecast (ptr addrspace(1) @dev to ptr)
; expect by = repaired: effects memory_kinds; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces
; edit set %early 0 = %out
; expect by = repaired: effects memory_kinds; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces

; Calls, attachments, names, blocks, and what is undone.
; try insert before %o: call void @leaf(i32 %n)
; expect by = repaired: callees classic_memory_ssa effects memory_ssa space_conflicts written_spaces; anew: memory_kinds through
; try insert before %o: call void @peek(ptr %slot)
; expect by = repaired: callees pointer_flow space_conflicts written_spaces; anew: address_memory classic_memory_ssa effects load_classes memory_kinds memory_ssa private_memory race_free_loads through
; try attach %l invariant.load from entry:20
; expect by = repaired: classic_memory_ssa load_classes
; try attach %l marked from entry:20
; expect by = kept
; try name %l = other
; expect by = kept
; try split before %m: behind
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_accesses memory_kinds memory_ssa private_memory space_conflicts; anew: through
; edit merge entry
; expect by = repaired: classic_memory_ssa convergence effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts; anew: address_memory private_memory through
; try move block then behind done
; expect by = repaired: convergence memory_accesses memory_kinds space_conflicts; anew: address_memory private_memory through
; try set entry:20 0 = %v1
; edit undo
; expect by = repaired: memory_kinds

; each edit
; random edits
