; Slots whose versions meet at joins that are led to from other blocks, and that are written where
; other blocks dominate. Each has been edited before, so that it is kept by itself.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c, i1 %d) {
entry:
  %x = alloca i32
  %y = alloca i32
  %z = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v = alloca i32
  %w = alloca i32
  %u = alloca i32
  store i32 0, ptr %v
  store i32 %tid, ptr %w
  store i32 0, ptr %x
  store i32 0, ptr %y
  store i32 0, ptr %z
  br i1 %c, label %a, label %b
a:
  store i32 %tid, ptr %x
  br i1 %d, label %join, label %e
b:
  store i32 %n, ptr %x
  store i32 %tid, ptr %y
  br label %join
e:
  %le = load i32, ptr %y
  store i32 %n, ptr %z
  br label %f
join:
  %lx = load i32, ptr %x
  %ly = load i32, ptr %y
  store i32 %lx, ptr %y
  br i1 %d, label %f, label %g
f:
  %fx = load i32, ptr %x
  %fy = load i32, ptr %y
  %fz = load i32, ptr %z
  br label %head
g:
  %gx = load i32, ptr %x
  %gz = load i32, ptr %z
  br label %head
head:
  %hy = load i32, ptr %y
  %hz = load i32, ptr %z
  br i1 %c, label %body, label %last
body:
  store i32 %hz, ptr %y
  store i32 %n, ptr %z
  br i1 %d, label %head, label %way
way:
  %oz = load i32, ptr %z
  store i32 %oz, ptr %x
  br label %last
last:
  br label %first
first:
  store i32 0, ptr %u
  %fu = load i32, ptr %u
  br i1 %c, label %p, label %q
p:
  store i32 %tid, ptr %v
  br i1 %d, label %p1, label %p2
p1:
  br i1 %c, label %end, label %p3
p3:
  br label %end
p2:
  store i32 1, ptr %u
  %pu = load i32, ptr %u
  store i32 %pu, ptr %v
  store i32 %n, ptr %w
  br label %r
q:
  store i32 2, ptr %u
  %qu = load i32, ptr %u
  store i32 %qu, ptr %v
  store i32 %n, ptr %w
  br label %r
r:
  br label %r1
r1:
  store i32 3, ptr %u
  %ru = load i32, ptr %u
  %rv = load i32, ptr %v
  %rw = load i32, ptr %w
  br label %end
end:
  %lastx = load i32, ptr %x
  store i32 1, ptr %v
  %lasty = load i32, ptr %y
  %lastz = load i32, ptr %z
  %s1 = add i32 %lastx, %lasty
  %s2 = add i32 %s1, %lastz
  store i32 %s2, ptr %out
  ; 200 rows
  br label %tail
tail:
  ; 70 blocks
  ret void
}

; edit repeat %lx
; expect slots by = part
; edit repeat %ly
; expect slots by = part
; edit repeat %hz
; expect slots by = part
; edit repeat %rv
; expect slots by = part
; edit repeat %rw
; expect slots by = part

; The phi of a slot gets an entry, in a block that does not access it, from one that does not.
; expect %rv = {}
; edit redirect p1 0 = r
; expect %rv = {x}
; edit redirect p1 0 = end
; expect %rv = {}

; A block gets a phi, of a slot that is written in a block that has changed no more than that.
; edit redirect q 0 = end
; expect %rw = {}
; edit redirect p1 0 = r
; expect %rw = {x}

; What is accessed at the ends of edges as well.
; edit redirect e 0 = join
; expect %lasty = {x}
; edit redirect e 0 = f
; expect %fy = {x}
; edit redirect b 0 = g
; expect %gx = {x}
; edit redirect b 0 = join
; expect %gx = {x}
; edit redirect a 1 = join
; expect %lx = {x}
; edit redirect body 1 = tail
; expect %lastz = {}
; edit redirect body 1 = way
; expect %lastz = {}
; edit redirect head 1 = way
; expect %oz = {}
; edit end join: br g
; expect %hy = {x}
; edit end join: br %d f g
; expect %hy = {x}

; Which versions a store replaces is not told. Before a split all loads of this slot are behind a
; store in their block.
; try split before %ru: behind
; expect %ru = {}
; edit merge r1
; expect %ru = {}

; each edit
; random edits
