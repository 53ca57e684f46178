; A slot that holds an address may be read through a chain of casts. Each thread stores its own
; number through that address.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n) {
entry:
  %s = alloca ptr
  %a = alloca i32
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c1 = bitcast ptr %s to ptr
  %c2 = bitcast ptr %c1 to ptr
  %c3 = bitcast ptr %c2 to ptr
  %c4 = bitcast ptr %c3 to ptr
  %c5 = bitcast ptr %c4 to ptr
  store ptr %a, ptr %s
  store i32 0, ptr %a
  %l = load ptr, ptr %c5
  store i32 %t, ptr %l
  %v = load i32, ptr %a
  ; 300 rows
  store i32 %v, ptr addrspace(1) %out
  ret void
}

; expect %v = {x}
; edit set %c2 0 = ptr null
; expect %v = {}
; edit set %c2 0 = %c1
; expect %v = {x}
