; A slot that a phi where no thread comes makes escape, and no longer. A solution from scratch does
; not look at phis there, and addresses without uses are in what it depends on.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @kernel(ptr %out, i32 %n) {
entry:
  %a = alloca i32
  %b = alloca i32
  store i32 %n, ptr %a
  store i32 %n, ptr %b
  ; 300 rows
  %la = load i32, ptr %a
  %lb = load i32, ptr %b
  store i32 %la, ptr %out
  ret void
dead:
  br label %never
never:
  %ph = phi ptr [ %out, %dead ]
  store i32 %n, ptr %ph
  ret void
}

; edit set %ph 0 = %b
; expect by = repaired: memory_kinds memory_ssa pointer_flow space_conflicts; anew: address_memory memory_accesses private_memory through
; edit set %ph 0 = %out
; expect by = repaired: memory_kinds memory_ssa pointer_flow space_conflicts; anew: address_memory memory_accesses private_memory through
; edit set %ph 0 = %a
; edit insert before %lb: %step = getelementptr i8, ptr %b, i32 %n
; expect by = repaired: effects memory_kinds memory_ssa pointer_flow space_conflicts; anew: address_memory memory_accesses private_memory through
; edit insert before %lb: store i32 1, ptr %step
; expect by = repaired: classic_memory_ssa effects memory_kinds memory_ssa space_conflicts written_spaces; anew: memory_accesses private_memory through
; edit set never:1 1 = %b
; expect by = repaired: effects memory_kinds space_conflicts written_spaces; anew: memory_accesses private_memory through
