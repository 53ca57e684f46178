; A call is lowered again because of a number that it is given; what it reads from a slot is stated
; again with it.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define internal i32 @pick(ptr %from, i32 %more) {
  %v = load i32, ptr %from
  %r = add i32 %v, %more
  ret i32 %r
}

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %x = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %tid, ptr %x
  %more = add i32 %n, 1
  %d = call i32 @pick(ptr %x, i32 %more)
  %test = icmp slt i32 %d, 7
  br i1 %test, label %then, label %done
then:
  br label %done
done:
  ; 300 rows
  ret void
}

; expect %d = {x}
; edit set %more 1 = i32 2
; expect %d = {x}
