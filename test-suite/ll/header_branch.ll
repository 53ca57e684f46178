; A divergent `continue` in the very header of a loop, and a uniform `break` below it.
;
; for (i = 0;; i += 2) { if (id > i) continue; if (i >= n) break; }
;
; Expected: the break's condition is uniform, but only lanes that did not `continue` come to it, and that depends on the
; id: lanes leave in different rounds. `%i` is uniform in the loop and `%after` divergent. LLVM 22.1 calls `%after`
; uniform: the divergent branch is in the header, whose exits it does not follow. With an empty block between header and
; branch, as in `@continue_below_header`, it agrees with us.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @continue_in_header(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  br label %head ; => uniform

head:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ] ; => uniform
  %skip = icmp ugt i32 %id, %i ; => divergent
  br i1 %skip, label %latch, label %test ; => divergent

test:
  %stop = icmp uge i32 %i, %n ; => uniform
  br i1 %stop, label %exit, label %latch ; => uniform

latch:
  %i.next = add i32 %i, 2 ; => uniform
  br label %head ; => uniform

exit:
  %after = xor i32 %i, 1 ; => divergent (LLVM 22: uniform)
  store i32 %after, ptr addrspace(1) %out, align 4
  ret void
}

define amdgpu_kernel void @continue_below_header(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  br label %head ; => uniform

head:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ] ; => uniform
  br label %body ; => uniform

body:
  %skip = icmp ugt i32 %id, %i ; => divergent
  br i1 %skip, label %latch, label %test ; => divergent

test:
  %stop = icmp uge i32 %i, %n ; => uniform
  br i1 %stop, label %exit, label %latch ; => uniform

latch:
  %i.next = add i32 %i, 2 ; => uniform
  br label %head ; => uniform

exit:
  %after = xor i32 %i, 1 ; => divergent
  store i32 %after, ptr addrspace(1) %out, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
