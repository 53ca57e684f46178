; An unreachable instruction belongs to the component of the objects that it uses, but it has no
; effect.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %x = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %tid, ptr %x
  %p = getelementptr i8, ptr %out, i32 0
  %q = select i1 %c, ptr %p, ptr %out
  %d = load i32, ptr %q
  br label %on
dead:
  %unread = load i32, ptr %x
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

; expect %d = {opaque.wave}
; edit set %p 0 = %x
; expect %d = {opaque.thread, opaque.wave}
; expect slots by = part
; edit set %p 0 = %out
; expect %d = {opaque.wave}
