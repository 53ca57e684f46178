; Edits of accesses of stack slots in a kernel as a compiler writes it that does not optimise: its
; arguments and variables are in slots, pointers to them as well. Each edit looks at the slots that
; it concerns, and at no others.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @set(ptr %to, i32 %what) {
  store i32 %what, ptr %to
  ret void
}

define internal i32 @get(ptr %from) {
  %v = load i32, ptr %from
  ret i32 %v
}

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %out.addr = alloca ptr
  %x.addr = alloca ptr
  %x = alloca i32
  %y = alloca i32
  %z = alloca [4 x i32]
  %w = alloca [4 x i32]
  %v = alloca [4 x i32]
  %a0 = alloca i32
  %a1 = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %and = and i32 %tid, 3
  store ptr %out, ptr %out.addr
  store i32 %n, ptr %x
  store i32 %tid, ptr %y
  store ptr %x, ptr %x.addr
  %px = load ptr, ptr %x.addr
  %vx = load i32, ptr %px
  %cx = icmp slt i32 %vx, 7
  br i1 %cx, label %one, label %two
one:
  %z1 = getelementptr [4 x i32], ptr %z, i32 0, i32 1
  store i32 %vx, ptr %z1
  call void @set(ptr %x, i32 %n)
  br label %two
two:
  %walk = phi ptr [ %out, %entry ], [ %out, %one ], [ %step, %two ]
  %step = getelementptr i32, ptr %walk, i32 1
  %lw = load i32, ptr %step
  %g = call i32 @get(ptr %x)
  %cg = icmp slt i32 %g, %lw
  %zi = getelementptr [4 x i32], ptr %z, i32 0, i32 %and
  %li = load i32, ptr %zi
  %sum = add i32 %li, %g
  store i32 %sum, ptr %y
  br i1 %cg, label %two, label %three
three:
  call void @set(ptr %y, i32 %tid)
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr %z, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %step, i64 16, i1 false)
  %lv = load i32, ptr %v
  %w2 = getelementptr [4 x i32], ptr %w, i32 0, i32 2
  %lz = load i32, ptr %w2
  %cz = icmp slt i32 %lz, %n
  br label %s0
s0:
  store i32 %n, ptr %a0
  %b0 = load i32, ptr %a0
  %d0 = icmp eq i32 %b0, 3
  br i1 %d0, label %t0, label %u0
t0:
  %e0 = add i32 %b0, 1
  store i32 %e0, ptr %a0
  br label %u0
u0:
  %f0 = load i32, ptr %a0
  %h0 = icmp eq i32 %f0, %n
  br label %s1
s1:
  store i32 %n, ptr %a1
  %b1 = load i32, ptr %a1
  %h1 = icmp eq i32 %b1, %n
  ; 300 rows
  ret void
}


; An integer.
; edit set %sum 0 = %n
; expect slots by = nothing
; expect found by = repair
; edit set %sum 1 = %n
; restart

; An index of what is no slot.
; edit set %step 1 = %n
; expect slots by = nothing
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A load of what is no slot more.
; edit insert before %g: %more = load i32, ptr %step
; expect %more = {opaque.wave}
; expect slots by = nothing
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A load of a slot more.
; edit insert before %d0: %more = load i32, ptr %a0
; expect %more = {}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A load of a slot less.
; expect %h0 = {}
; edit set %h0 0 = %n
; edit erase %f0
; expect %h0 = {}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; What is stored diverges.
; expect %vx = {}
; edit set entry:12 0 = %tid
; expect %vx = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A store more.
; expect %f0 = {}
; edit insert before %f0: store i32 %tid, ptr %a0
; expect %f0 = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A store less.
; expect %f0 = {}
; edit erase t0:1
; expect %f0 = {}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A store behind a load.
; expect %b1 = {}
; edit move s1:0 before %h1
; expect %b1 = {}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A slot escapes.
; expect %b1 = {}
; edit insert before %b1: store ptr %a1, ptr %out
; expect %b1 = {opaque.thread, opaque.wave}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A pointer to a slot is another one.
; expect %vx = {}
; edit set entry:14 0 = %y
; expect %vx = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A second pointer is kept there.
; expect %vx = {}
; edit insert before %px: store ptr %y, ptr %x.addr
; expect %vx = {opaque.thread, opaque.wave}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; The pointer is kept no longer.
; expect %vx = {}
; edit erase entry:14
; expect %vx = {opaque.wave}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A constant index becomes another.
; expect %lz = {}
; edit set %z1 2 = i32 2
; expect %lz = {}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A constant index becomes variable.
; expect %lz = {}
; edit set %w2 2 = %and
; expect %lz = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; The base of an address becomes another slot.
; expect %li = {x}
; edit set %z1 0 = %w
; expect %li = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; The base of an address becomes an argument.
; expect %li = {x}
; edit set %z1 0 = %out
; expect %li = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A copy takes from elsewhere.
; expect %lv = {opaque.wave}
; edit set three:2 1 = %out
; expect %lv = {opaque.wave}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A function is given another slot.
; expect %g = {}
; edit set %g 0 = %y
; expect %g = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A call that writes a slot less.
; expect %g = {}
; edit erase one:2
; expect %g = {}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A call of which an operand is another.
; expect %g = {}
; edit set one:2 1 = %tid
; expect %g = {x}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A pointer may be private by what comes into a loop.
; expect %lw = {opaque.wave}
; edit insert before %vx: %back = load ptr, ptr %out.addr
; edit incoming %walk entry = %back
; expect %lw = {opaque.wave}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A number may be an address.
; expect %lw = {opaque.wave}
; edit insert before %vx: %made = inttoptr i32 %n to ptr
; edit incoming %walk entry = %made
; expect %lw = {opaque.thread, opaque.wave}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A slot more.
; edit insert before %b1: %new = alloca i32
; edit insert before %b1: store i32 %tid, ptr %new
; edit insert before %b1: %value = load i32, ptr %new
; expect %value = {opaque.thread, opaque.wave}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
; restart

; A slot is used no longer.
; expect %b1 = {}
; edit set s1:0 1 = %a0
; edit set %b1 0 = %a0
; expect %b1 = {}
; expect slots by = part
; expect found by = repair
; edit set %sum 1 = %n
