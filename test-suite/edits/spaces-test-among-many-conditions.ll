; A test is combined with many conditions: those that contain no test are not visited.
target triple = "nvptx64-nvidia-cuda"
declare i1 @llvm.nvvm.isspacep.shared(ptr)

define void @kernel(ptr %p, i1 %y, i32 %n) {
entry:
  %t = call i1 @llvm.nvvm.isspacep.shared(ptr %p)
  %x20 = and i1 %y, %y
  %x19 = and i1 %y, %x20
  %x18 = and i1 %y, %x19
  %x17 = and i1 %y, %x18
  %x16 = and i1 %y, %x17
  %x15 = and i1 %y, %x16
  %x14 = and i1 %y, %x15
  %x13 = and i1 %y, %x14
  %x12 = and i1 %y, %x13
  %x11 = and i1 %y, %x12
  %x10 = and i1 %y, %x11
  %x9 = and i1 %y, %x10
  %x8 = and i1 %y, %x9
  %x7 = and i1 %y, %x8
  %x6 = and i1 %y, %x7
  %x5 = and i1 %y, %x6
  %x4 = and i1 %y, %x5
  %x3 = and i1 %y, %x4
  %x2 = and i1 %y, %x3
  %x1 = and i1 %y, %x2
  %c = and i1 %t, %x1
  ; 300 rows
  br i1 %c, label %a, label %b
a:
  %l = load i32, ptr %p
  ret void
b:
  ret void
}

; expect space at %l = {shared}
; edit set %x1 1 = %y
; expect space at %l = {shared}
; edit set %x1 1 = %x2
; expect space at %l = {shared}
