; Which facts an edit of a pointer changes, with pointers of all kinds. An answer that `expect by`
; does not name is the one from before the edit.
target triple = "nvptx64-nvidia-cuda"
@near = addrspace(3) global [64 x i32] undef
@far = addrspace(1) global [64 x i32] zeroinitializer
@v = global i32 0
@w = global i32 0
@table = addrspace(4) constant [4 x i32] zeroinitializer
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare i1 @llvm.nvvm.isspacep.global(ptr)
declare i1 @llvm.nvvm.isspacep.local(ptr)
declare void @llvm.assume(i1)
declare ptr @elsewhere(ptr)

define void @writes(ptr %p, ptr %q) {
  %v = load i32, ptr %q
  store i32 %v, ptr %p
  ret void
}

define ptr @keeps(ptr %p, ptr %q) {
  store ptr %p, ptr %q
  ret ptr %q
}

define ptx_kernel void @kernel(ptr %out, ptr addrspace(1) %one, ptr %two, ptr noalias %three, i32 %n, i1 %c, ptr %four) {
entry:
  %p = alloca ptr
  %q = alloca ptr
  %r = alloca [2 x ptr]
  %s = alloca { ptr, ptr }
  %x = alloca i32
  %g = addrspacecast ptr addrspace(1) %one to ptr
  %far = addrspacecast ptr addrspace(1) @far to ptr
  %near = getelementptr i32, ptr addrspacecast (ptr addrspace(3) @near to ptr), i32 %n
  %x1 = select i1 %c, ptr %three, ptr null
  %x2 = select i1 %c, ptr %x1, ptr null
  %x3 = select i1 %c, ptr %x2, ptr null
  %y1 = select i1 %c, ptr %three, ptr null
  %z = select i1 %c, ptr %x3, ptr %y1
  store i32 %n, ptr %z
  %vw = select i1 %c, ptr @v, ptr @w
  store ptr %out, ptr %p
  store ptr %two, ptr %q
  call void @llvm.memset.p0.i64(ptr %r, i8 0, i64 16, i1 false)
  store ptr %g, ptr %s
  %above = getelementptr inbounds i32, ptr %two, i32 %n
  %test1 = call i1 @llvm.nvvm.isspacep.shared(ptr %above)
  %test2 = call i1 @llvm.nvvm.isspacep.global(ptr %three)
  %both = and i1 %test1, %test2
  br i1 %both, label %left, label %right
left:
  %r1 = getelementptr [2 x ptr], ptr %r, i32 0, i32 1
  store ptr %three, ptr %r1
  store ptr %far, ptr %p
  %beside = getelementptr i32, ptr %two, i32 %n
  %known = load i32, ptr %beside
  br label %loop
right:
  %second = getelementptr { ptr, ptr }, ptr %s, i32 0, i32 1
  store ptr %near, ptr %second
  br label %loop
loop:
  %i = phi ptr [ %out, %left ], [ %two, %right ], [ %j, %loop ]
  %j = phi ptr [ %two, %left ], [ %g, %right ], [ %i, %loop ]
  %i1 = getelementptr i32, ptr %i, i32 1
  %i2 = select i1 %c, ptr %i1, ptr %three
  store ptr %i2, ptr %q
  %li = load i32, ptr %i1
  store i32 %li, ptr %i2
  %test3 = call i1 @llvm.nvvm.isspacep.global(ptr %i1)
  %not3 = xor i1 %test3, true
  br i1 %not3, label %loop, label %inner
inner:
  %k = phi ptr [ %i2, %loop ], [ %k1, %inner ]
  %k1 = getelementptr i8, ptr %k, i64 8
  %lq = load ptr, ptr %q
  %j2 = freeze ptr %lq
  store i32 %n, ptr %lq
  %old = atomicrmw add ptr %k1, i32 %n monotonic
  %more = icmp eq ptr %k1, %out
  br i1 %more, label %inner, label %back
back:
  br i1 %c, label %out2, label %out2
out2:
  %lp = load ptr, ptr %p
  %lr = load ptr, ptr %r
  %test4 = call i1 @llvm.nvvm.isspacep.local(ptr %lp)
  call void @llvm.assume(i1 %test4)
  %ls = load ptr, ptr %s
  call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %r, i64 16, i1 false)
  %ls2 = load ptr, ptr %s
  %whole = load { ptr, ptr }, ptr %s
  %number = ptrtoint ptr %lr to i64
  %back.again = inttoptr i64 %number to ptr
  call void @writes(ptr %lp, ptr %ls)
  %kept = call ptr @keeps(ptr %ls2, ptr %x)
  %other = call ptr @elsewhere(ptr %kept)
  %vec = insertelement <2 x ptr> poison, ptr %lp, i32 0
  %wec = insertelement <2 x ptr> %vec, ptr %other, i32 1
  %t = extractelement <2 x ptr> %wec, i32 %n
  %cx = cmpxchg ptr %t, i32 %n, i32 %li monotonic monotonic
  store ptr %back.again, ptr %out
  ; 220 rows
  ret void
}

; What comes in on two ways is still there when it does not come on one of them any more.
; try set %x1 1 = ptr null
; expect by = repaired: load_classes memory_kinds pointer_flow space_conflicts written_spaces; anew: through
; edit set %y1 1 = ptr null
; expect by = repaired: load_classes memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; edit set %x1 1 = %three
; expect by = repaired: load_classes memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; edit set %y1 1 = %three
; expect by = repaired: load_classes memory_kinds pointer_flow space_conflicts written_spaces; anew: through
; edit set %x1 1 = ptr null
; expect by = repaired: load_classes memory_kinds pointer_flow space_conflicts written_spaces; anew: through

; What is the second to write through an argument may be gone before the first is.
; try insert before %x1: store i32 %n, ptr %four
; edit insert before %x1: store i32 %n, ptr %four
; edit insert before %x1: store i32 %n, ptr %four
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; edit erase entry:9
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa space_conflicts written_spaces; anew: through
; edit erase entry:8
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through
; edit erase entry:8
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa pointer_flow space_conflicts written_spaces; anew: through

; A variable that was not mentioned before.
; try insert before %x1: %new = load i32, ptr addrspace(4) @table
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds; anew: load_classes memory_ssa pointer_flow race_free_loads space_conflicts through written_spaces
; edit erase %new
; expect by = repaired: classic_memory_ssa effects memory_accesses memory_kinds; anew: load_classes memory_ssa pointer_flow race_free_loads space_conflicts through written_spaces
; edit insert before %x1: %new = load i32, ptr addrspace(1) %one
; expect by = repaired: classic_memory_ssa effects load_classes memory_accesses memory_kinds memory_ssa race_free_loads space_conflicts; anew: through

; Variables are numbered in the order in which they are mentioned.
; try set %vw 1 = ptr @w
; edit set %vw 2 = ptr @v
; expect by = repaired: space_conflicts; anew: load_classes memory_kinds pointer_flow through
; edit set %vw 1 = ptr @v
; edit set %vw 2 = ptr @w
; expect by = repaired: space_conflicts; anew: load_classes memory_kinds pointer_flow through

; What a test proves of an address holds for steps from it, where the branch has asked.
; expect space %beside = {null}
; expect space at %known = {}
; try set %test1 0 = %out
; expect space at %known = {global, null}
; expect by = repaired: callees effects memory_kinds pointer_flow; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces
; edit set %test1 0 = %above
; expect space at %known = {}
; expect by = repaired: callees effects memory_kinds pointer_flow; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces
; edit set %above 0 = %out
; expect space at %known = {global, null}
; expect by = repaired: effects memory_kinds pointer_flow; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces
; edit set %above 0 = %two
; expect space at %known = {}
; edit set %beside 0 = %out
; expect space at %known = {global, null}
; expect by = repaired: effects memory_kinds pointer_flow; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces
; edit set %beside 0 = %two
; edit set end of entry 0 = %c
; expect space at %known = {global, null}
; expect by = repaired: effects load_classes memory_kinds pointer_flow space_conflicts; anew: through
; edit set end of entry 0 = %both
; expect space at %known = {}
; expect by = repaired: effects memory_kinds; anew: load_classes memory_ssa race_free_loads space_conflicts through written_spaces

; each edit
; random edits
