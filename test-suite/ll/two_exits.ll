; A search loop with one divergent and one uniform exit, to different blocks.
;
; Expected: lanes that find their id leave by `%found` in a round of their own: `%where` is divergent. Lanes that never
; do all leave by the header when the bound is reached, in the same round: `%rounds` is uniform, since only one exit
; edge leads to `%missing` and its condition is uniform. An analysis that treats all exits of a loop alike, as LLVM 22's
; does, calls it divergent.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @two_exits(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  br label %head ; => uniform

head:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ] ; => uniform
  %in.range = icmp ult i32 %i, %n ; => uniform
  br i1 %in.range, label %body, label %missing ; => uniform

body:
  %square = mul i32 %i, %i ; => uniform
  %hit = icmp eq i32 %square, %id ; => divergent
  br i1 %hit, label %found, label %latch ; => divergent

latch:
  %next = add i32 %i, 1 ; => uniform
  br label %head ; => uniform

found:
  %where = add i32 %i, 1 ; => divergent
  store i32 %where, ptr addrspace(1) %out
  ret void

missing:
  %rounds = add i32 %i, 2 ; => uniform (LLVM 22: divergent)
  store i32 %rounds, ptr addrspace(1) %out
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
