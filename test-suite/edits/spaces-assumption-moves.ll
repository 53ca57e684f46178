; An `llvm.assume` counts only for code behind it.
target triple = "nvptx64-nvidia-cuda"
declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare void @llvm.assume(i1)
declare void @may_exit()

define void @kernel(ptr %p, i32 %n) {
entry:
  %t = call i1 @llvm.nvvm.isspacep.shared(ptr %p)
  call void @llvm.assume(i1 %t)
  %l = load i32, ptr %p
  call void @may_exit()
  %m = load i32, ptr %p
  ; 300 rows
  ret void
}

; expect space at %l = {shared}
; expect space at %m = {shared}
; edit move entry:1 before %m
; expect space at %l = {global, constant, shared, cluster, private, param, null}
; expect space at %m = {shared}
; edit move entry:3 before %l
; expect space at %l = {shared}
; expect space at %m = {shared}
