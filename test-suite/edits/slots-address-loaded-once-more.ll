; The address that a slot holds is loaded once more, and the object written through it: two edits.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %x = alloca i32
  %kept = alloca ptr
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %n, ptr %x
  store ptr %x, ptr %kept
  %q = load ptr, ptr %kept
  %d = load i32, ptr %q
  %test = icmp slt i32 %d, 7
  br i1 %test, label %then, label %done
then:
  br label %done
done:
  ; 300 rows
  ret void
}

; expect %d = {}
; edit insert before %d: %p = load ptr, ptr %kept
; expect %d = {}
; edit insert before %d: store i32 %id, ptr %p
; expect %d = {x}
