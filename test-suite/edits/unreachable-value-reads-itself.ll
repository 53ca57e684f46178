; In unreachable code an edit may make a value its own operand. Old facts about the value must not
; support themselves.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ; 300 rows
  ret void
unreachable:
  %y = and i32 %n, 8
  %w = and i32 %t, 8
  %x = or i32 %y, %w
  %z = lshr i32 %x, 4
  store i32 %z, ptr addrspace(1) %out
  ret void
}

; expect %z = {}
; edit set %y 0 = %x
; expect %z = {x}
; edit set %y 0 = %n
; expect %z = {}
