; A divergent exit that leaves two nested loops and lands on the header of a third one.
;
; Expected: lanes find their id in different rounds of both loops and go on to `%drain`, a loop of its own that is not
; nested in the others. `%row` is uniform in the outer loop; in `%drain` lanes of different rows meet, so `%late` is
; divergent, and so is `%cell`, the copy of the inner counter. LLVM 22.1 gets `%late` wrong: it compares nesting depths,
; finds that outer loop and `%drain` have the same, and takes the exit as one from the inner loop alone.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @exit_depth(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  br label %outer ; => uniform

outer:
  %row = phi i32 [ 0, %entry ], [ %row.next, %outer.latch ] ; => uniform
  br label %inner ; => uniform

inner:
  %column = phi i32 [ 0, %outer ], [ %column.next, %inner.latch ] ; => uniform
  %position = add i32 %row, %column ; => uniform
  %found = icmp eq i32 %position, %id ; => divergent
  br i1 %found, label %drain, label %inner.latch ; => divergent

inner.latch:
  %column.next = add i32 %column, 1 ; => uniform
  %row.ends = icmp eq i32 %column.next, 8 ; => uniform
  br i1 %row.ends, label %outer.latch, label %inner ; => uniform

outer.latch:
  %row.next = add i32 %row, 8 ; => uniform
  br label %outer ; => uniform

drain:
  %k = phi i32 [ %n, %inner ], [ %k.next, %drain ] ; => uniform
  %late = shl i32 %row, 4 ; => divergent (LLVM 22: uniform)
  %cell = or i32 %column, 1 ; => divergent
  store volatile i32 %late, ptr addrspace(1) %out, align 4
  store volatile i32 %cell, ptr addrspace(1) %out, align 4
  %k.next = sub i32 %k, 1 ; => uniform
  %empty = icmp eq i32 %k.next, 0 ; => uniform
  br i1 %empty, label %exit, label %drain ; => uniform

exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
