; An unreachable store does not count: the slot holds one address, with and without it.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %x = alloca i32
  %kept = alloca ptr
  store i32 %n, ptr %x
  store ptr %x, ptr %kept
  %p = load ptr, ptr %kept
  %d = load i32, ptr %p
  br label %on
dead:
  store ptr %out, ptr %kept
  br label %on
on:
  %test = icmp slt i32 %d, 7
  br i1 %test, label %then, label %done
then:
  br label %done
done:
  ; 300 rows
  ret void
}

; expect %d = {}
; edit erase unreachable
; expect %d = {}
