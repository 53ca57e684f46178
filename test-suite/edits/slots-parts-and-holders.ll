; A slot that is accessed as a whole and in parts, one whose address another slot holds, and how
; they come to be no slots.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n) {
entry:
  %p = alloca i32
  %q = alloca i32
  %z = alloca [2 x i32]
  %x = alloca i32
  %hold = alloca ptr
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %n, ptr %p
  store i32 %tid, ptr %q
  store [2 x i32] zeroinitializer, ptr %z
  store ptr %x, ptr %hold
  store i32 %n, ptr %x
  %v = load i32, ptr %p
  %c = icmp slt i32 %v, 7
  br i1 %c, label %one, label %two
one:
  store i32 %tid, ptr %p
  br label %two
two:
  ; 240 rows
  %lp = load i32, ptr %p
  %lq = load i32, ptr %q
  %lz = load [2 x i32], ptr %z
  %sum = add i32 %lp, %lq
  %held = load ptr, ptr %hold
  %lh = load i32, ptr %held
  %lx = load i32, ptr %x
  %more = add i32 %lh, %lx
  store i32 %sum, ptr %out
  store i32 %more, ptr %out
  ret void
}

; A slot that is only accessed as a whole is divided by the first scalar in it.
; try repeat %lz
; expect slots by = part
; edit insert before %lz: store i32 %tid, ptr %z
; expect slots by = part
; edit insert before %sum: %half = load i32, ptr %z
; expect slots by = part
; edit insert before %lz: %any = getelementptr i32, ptr %z, i32 %n
; edit insert before %lz: %of.any = load i32, ptr %any
; expect slots by = part

; An address gets another base, which may be private but is no known object.
; try insert before %lz: store ptr %q, ptr %hold
; edit insert before %lz: %part = getelementptr i32, ptr %z, i32 %n
; edit insert before %lz: store i32 %tid, ptr %part
; expect slots by = part
; edit move %held before %part
; expect slots by = part
; edit set %part 0 = %held
; expect slots by = part

; A slot whose address is put elsewhere too late to be held is private again when it is not put
; there any more.
; try move entry:9 before %lx
; expect slots by = part
; edit set two:246 0 = %tid
; expect slots by = part

; A split leaves all versions as they are, but for slots that it takes out of the entry.
; try split before entry:6: behind
; expect slots by = part
; edit insert before %c: %at = getelementptr i32, ptr %p, i32 %n
; edit insert before %c: %of.p = load i32, ptr %at
; expect slots by = part
; try repeat %lp
; expect slots by = part
; edit split before %lp: two.lp
; expect slots by = part
; edit insert before %lq: store i32 %tid, ptr %p
; expect slots by = part
; try split before %z: behind
; expect slots by = part

; each edit
; random edits
