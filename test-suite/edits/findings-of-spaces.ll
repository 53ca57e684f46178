; Addresses that contradict a cast, and a private one that is stored where others read, come and go.
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global [4 x i32] zeroinitializer

define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n) {
entry:
  %slot = alloca i32
  %kept = alloca ptr
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %g = addrspacecast ptr addrspace(1) @dev to ptr
  %a = getelementptr inbounds i32, ptr %s, i32 %n
  %b = getelementptr inbounds i32, ptr %a, i32 1
  store ptr %slot, ptr addrspace(1) %out
  %bad = addrspacecast ptr %b to ptr addrspace(1)
  %far = getelementptr i32, ptr addrspace(1) %bad, i32 %n
  %l = load i32, ptr addrspace(1) %far
  %u = add i32 %l, 1
  ; 300 rows
  ret void
}

; expect conflicts = 2
; edit set entry:6 0 = ptr null
; expect conflicts = 1
; edit set %a 0 = %g
; expect conflicts = 0
; edit set %a 0 = %s
; expect conflicts = 1
; edit replace %l = %n
; expect conflicts = 1
; edit set %far 0 = %out
; expect conflicts = 1
; edit erase %bad
; expect conflicts = 0
; edit set entry:6 0 = %slot
; expect conflicts = 1
; edit insert before entry:6: store ptr %slot, ptr %kept
; edit erase entry:7
; expect conflicts = 0
; edit set %row9 1 = i32 7
; expect by = repaired: memory_kinds

; each edit
; random edits
