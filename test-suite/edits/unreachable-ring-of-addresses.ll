; In unreachable code an address may be computed from itself: the search for its base must end.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @kernel(ptr %out, i32 %n) {
entry:
  ; 300 rows
  ret void
unreachable:
  %last = add i32 %n, 3
  ret void
}

; edit insert before %last: %a = getelementptr i8, ptr %out, i32 1
; edit insert before %last: %b = getelementptr i8, ptr %a, i32 1
; edit insert before %last: %l = load i32, ptr %b
; edit set %a 0 = %b
; expect space %a = {anything}
; expect load %l = plain
