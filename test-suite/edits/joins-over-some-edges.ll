; Threads that a branch has parted meet over some edges of a block, and a way that they have not
; taken leads there as well. The edges have other numbers after a split of a block before it.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n, i32 %m, i32 %k, i1 %c) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = add i32 %n, 1
  %second = add i32 %n, 2
  br i1 %c, label %lead, label %aside
lead:
  %third = add i32 %n, 3
  %fourth = add i32 %n, 4
  br i1 %c, label %parts, label %meet
parts:
  %less = icmp slt i32 %x, %n
  br i1 %less, label %p, label %q
p:
  br label %meet
q:
  br label %meet
aside:
  br label %meet
meet:
  %v = phi i32 [ %n, %p ], [ %n, %q ], [ %m, %aside ], [ %k, %lead ]
  %w = phi i32 [ %n, %p ], [ %k, %q ], [ %m, %aside ], [ %n, %lead ]
  br label %head
head:
  %i = phi i32 [ 0, %meet ], [ %i1, %latch ], [ %i2, %skip ]
  %j = phi i32 [ %v, %meet ], [ %n, %latch ], [ %n, %skip ]
  %i1 = add i32 %i, 1
  %i2 = add i32 %i, 1
  %odd = icmp ult i32 %x, %m
  br i1 %odd, label %skip, label %latch
skip:
  br label %head
latch:
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %head, label %exit
exit:
  %s1 = add i32 %v, %w
  %s2 = add i32 %s1, %j
  store i32 %s2, ptr %out
  ; 240 rows
  br label %last
last:
  ; 70 blocks
  ret void
}

; expect %v = {}
; expect %w = {x}
; edit split before %second: behind.first
; expect %v = {}
; edit set %v 1 = %k
; expect %v = {x}
; edit set %w 1 = %n
; expect %w = {}
; edit split before %fourth: behind.third
; expect %w = {}
; edit set %v 1 = %n
; expect %v = {}
; edit set %w 1 = %k
; expect %w = {x}

; An edge gets a block that comes behind those from which threads meet.
; try split edge lead 1: on.edge
; expect %v = {}
; edit set %w 1 = %n
; expect %w = {}
; edit set %v 1 = %k
; expect %v = {x}
; edit set %v 1 = %n
; expect %v = {}

; The same of ways back to the head of a cycle.
; try split before %second: behind.first
; expect %i = {}
; edit set %j 2 = %m
; expect %j = {x}
; edit split before %less: parts.less
; expect %j = {x}
; edit set %j 2 = %n
; expect %j = {}

; each edit
; random edits
